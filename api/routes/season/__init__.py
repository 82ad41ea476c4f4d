"""A season: its settings, its entries, its tournaments beside the ladder, and its standings."""
