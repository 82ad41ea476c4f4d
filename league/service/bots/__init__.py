"""Bots and their versions, quotas of uploads, and the environment that they run in."""
