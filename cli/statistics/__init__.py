"""Statistics of exported results: ratings, recounts, sequential tests."""
