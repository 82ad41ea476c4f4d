"""Jobs besides series (builds, people's matches), the table of all kinds of job, and the sweep for lost work."""
