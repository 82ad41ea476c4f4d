"""Rankings: from the log of results to published standings."""
