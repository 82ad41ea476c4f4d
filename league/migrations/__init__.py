"""The schema's history. One file per change in `versions/`; they only go forward."""
