"""Accounts, their secrets, teams and notices."""
