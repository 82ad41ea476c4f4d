"""Tournaments on this machine."""
