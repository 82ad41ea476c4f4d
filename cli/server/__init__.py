"""How commands speak to a server."""
