"""Commands for authors of bots on a server."""
