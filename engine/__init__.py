"""The core of a match: games, referee loop, transcripts and their verification.

It needs the standard library only, and no clock, file, socket or process, so anyone can re-simulate any match from its
transcript, on any machine, with nothing installed.
"""
