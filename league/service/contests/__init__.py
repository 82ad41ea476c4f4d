"""Contests: what is played beside the ladder, whatever its kind."""
