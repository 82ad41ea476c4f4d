"""The history of the schema: one file per change in `versions/`. Migrations only go forward."""
