"""What an organiser does on a server."""
