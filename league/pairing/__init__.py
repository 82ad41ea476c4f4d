"""Who plays whom: pure functions, the same for the same seed.

`ladder` says what is played next, `seating` who sits where, `rounds` and `separation` make finals.
"""
