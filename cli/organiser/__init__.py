"""Commands for organisers of a server."""
