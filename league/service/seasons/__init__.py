"""Seasons: their settings, who enters and who is absent, divisions, and promotion gates."""
