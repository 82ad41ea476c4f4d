"""Tournaments on this machine: which games, who plays them, and what they show."""
