"""Communication of commands with a server."""
