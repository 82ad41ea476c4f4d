"""Tournaments on this machine: their games, who plays them, and their results."""
