"""Accounts, their secrets, teams, and what people are told."""
