"""The course of a season: from state to state, new series for its ladder, and its finals."""
