"""What workers take besides series (builds, people's matches), all kinds of job, and the sweep for lost work."""
