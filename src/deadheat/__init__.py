"""Deadheat: a league for bots under hard deadlines, and its tools for authors."""
