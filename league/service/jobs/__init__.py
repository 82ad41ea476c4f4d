"""What workers take besides series: builds and people's matches; and the sweep, which finds lost work."""
