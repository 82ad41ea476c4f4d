"""A season: its settings, who is in it, what it plays beside its ladder, and where everybody stands."""
