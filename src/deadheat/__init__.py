"""Deadheat: a league for bots under hard deadlines, and its tools for authors."""

__version__ = "0.2.0"
