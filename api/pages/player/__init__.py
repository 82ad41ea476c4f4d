"""Pages for people who play against bots."""
