"""The file from which an organiser starts a new season: complete, commented, and valid as it is."""

from __future__ import annotations

from datetime import datetime, timedelta

FILE = """\
# Keys are explained by `deadheat season settings`. What is left out gets its default; "none" stands for no value.

[season]
name = "My contest"
game = "{game}"

[matches]
series_length = 10                   # matches that two bots play in one go
games_per_pair = 20                  # on the whole ladder; "none": as many as there is time for
rest_faults = 10                     # a bot with ten faults in its last 20 matches rests until its author wakes it

[dates]
timezone = "UTC"                     # of the dates below, such as "Asia/Seoul"
opens_at = {opens}
freezes_at = {freezes}     # from here on, entries and versions are fixed
finals_at = {finals}
# Left out: closes_at. The season closes when its finals are over.

[finals]
finals = "stages"                    # or "swiss", "round-robin", "none"
stages = [                           # each keeps fewer bots; the last one has a winner
    "swiss rounds=9 matches=2 keep=8",
    "round-robin matches=10 keep=2 further=200",
    "round-robin matches=50 further=1000",
]

[entry]
admission = "everyone"               # or "invited", with a list: invited = ["ada", "barbara"]
entries_per_author = 1
# panel = ["house/greedy"]           # bots that every version meets first
# panel_games = 2                    # against each of them
# panel_minimum = 1                  # points that a version needs to play

[quotas]
versions_per_day = 24

[public]
transcripts = "played"               # or "closed": once the final standings are published
sources = "never"                    # or "closed"

[[evaluations]]                      # tournaments beside the ladder, which count for nothing else
name = "Interim"
format = "swiss"                     # or "round-robin", without rounds
rounds = 7
matches = 2                          # per pair in a round: one from each side
every_minutes = 1440
from = {first}
until = {last}           # the last time that one may begin
"""

DAY = timedelta(days=1)


def new_season(game: str, now: datetime) -> str:
    """Return the file, with a timetable that begins next week."""
    noon = now.replace(hour=12, minute=0, second=0, microsecond=0, tzinfo=None)
    days = {"opens": 7, "first": 8, "last": 20, "freezes": 21, "finals": 22}
    return FILE.format(game=game, **{name: (noon + count * DAY).isoformat() for name, count in days.items()})
