"""The league: the database, its use cases, ratings and pairing."""
