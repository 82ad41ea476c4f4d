"""A contest in simulated time: how it is played, what its steps cost."""
