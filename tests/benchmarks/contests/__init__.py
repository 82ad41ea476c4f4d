"""A contest in simulated time: how it is played, what its steps cost, and its draws and standings computed again."""
