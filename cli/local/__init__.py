"""Commands that need no server, only this machine."""
