"""Figures from exported results: ratings, recounts, sequential tests."""
