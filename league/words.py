"""Words of requests that API, command and services share."""

from __future__ import annotations

from enum import StrEnum


class Remedy(StrEnum):
    """The remedy for a match whose appeal is upheld."""

    NONE = "none"
    VOID = "void"
    REJUDGE = "rejudge"


class Uncounting(StrEnum):
    """Why a match that was played to its end is not in the log of results."""

    VOIDED = "voided"
    REJUDGED = "rejudged"  # voided and replayed
    GATE = "gate"  # it decides about a version, not about a rank
    PANEL = "panel"  # it decides about a version, not about a rank
    ASKED = "asked"  # an author asked for it
    EVALUATION = "evaluation"  # it was played in an evaluation that counts for nothing else
    NO_WINNER = "no-winner"
    DISQUALIFIED = "disqualified"


class NoticeKind(StrEnum):
    """The kinds of notice; `league.service.people.notices` has the sentence of each."""

    VERSION_READY = "version-ready"
    VERSION_BROKEN = "version-broken"
    GATE_PASSED = "gate-passed"
    GATE_FAILED = "gate-failed"
    PANEL_PLAYED = "panel-played"
    CHALLENGE_OVER = "challenge-over"  # the unrated matches that the author asked for
    FAULT = "fault"  # the first match that a version lost by a fault in a season
    MANY_FAULTS = "many-faults"  # in a season where no bot rests
    RESTED = "rested"
    EVALUATION_DONE = "evaluation-done"
    APPEAL_DECIDED = "appeal-decided"
    STANDINGS = "standings"  # the final ones
    DEADLINE = "deadline"
    BEHIND = "behind"  # for organisers: an evaluation will not be done before its successor
    SEASON_INVITED = "season-invited"
    TEAM_INVITED = "team-invited"


class Exported(StrEnum):
    """The tables of a season that can be exported (docs/export.md)."""

    SEASON = "season"
    DIVISIONS = "divisions"
    ENTRIES = "entries"
    TEAMS = "teams"
    GATES = "gates"
    PANELS = "panels"
    STANDINGS = "standings"
    EVALUATIONS = "evaluations"
    EVALUATION_PLAYERS = "evaluation_players"
    EVALUATION_PAIRINGS = "evaluation_pairings"
    SERIES = "series"
    MATCHES = "matches"
    PARTICIPANTS = "participants"
    LATENCIES = "latencies"
    ATTEMPTS = "attempts"
    SOURCES = "sources"
