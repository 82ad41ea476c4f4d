"""What an author does on a server."""
