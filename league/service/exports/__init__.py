"""Exports: the tables of a season or of the league, page by page."""
