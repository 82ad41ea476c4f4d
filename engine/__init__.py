"""The core of a match: games, referee loop, transcripts and their verification.

Standard library only and free of clocks, files, sockets and processes, so that anyone can re-simulate any
match from its transcript, on any machine, with nothing installed.
"""
