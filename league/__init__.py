"""Who plays whom and what it means: the database, its use cases, ratings and pairing."""
