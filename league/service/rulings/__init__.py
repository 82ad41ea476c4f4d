"""Decisions of organisers and operators on matches, appeals and accounts."""
