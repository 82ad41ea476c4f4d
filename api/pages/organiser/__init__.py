"""Pages for organisers and operators."""
