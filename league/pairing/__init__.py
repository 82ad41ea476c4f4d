"""Pairing: pure functions that decide who plays whom, with the same result for the same seed.

`ladder` chooses the next series, `seating` assigns seats, and `rounds` and `separation` make finals.
"""
