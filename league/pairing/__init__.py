"""Pairing: pure functions that decide who plays whom, with the same result for the same seed.

`ladder` chooses the next series, `tournament` draws every format of contests, `finals` the rounds of finals that
ratings rank, `duel` says when two have played enough, and `seating` assigns seats.
"""
