"""Checks machines that nobody has to trust, without the database."""
