"""The commands' communication with a server."""
