"""Enumerations that the API, the command line and the services share."""

from enum import StrEnum
from typing import Self

from deadheat.engine.language import N_


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

    @property
    def by_purpose(self) -> bool:
        """Whether it was known before the match that it would not be rated."""
        return self in {Uncounting.GATE, Uncounting.PANEL, Uncounting.ASKED, Uncounting.EVALUATION}


class Outcome(StrEnum):
    """Why a duel is over (`league.pairing.duel`)."""

    STRONGER = "stronger"  # the test accepts
    NOT_STRONGER = "not-stronger"  # it rejects
    SPENT = "spent"  # all games are played; if there is a test, it has no verdict
    UNPLAYABLE = "unplayable"  # we failed to play as many games as there may be
    LEFT = "left"  # the opponent no longer takes part, and the contest has others


class NoticeKind(StrEnum):
    """The kinds of notice."""

    # Both have placeholders for facts. Stored notices of recent months are shown in these words too, so use only facts
    # that they contain.
    sentence: str
    path: str

    def __new__(cls, word: str, sentence: str, path: str) -> Self:
        """Create a member whose value is the word."""
        kind = str.__new__(cls, word)
        kind._value_ = word
        kind.sentence, kind.path = sentence, path
        return kind

    VERSION_READY = "version-ready", N_("Version {version} of {bot} is ready."), "/bots/{bot_id}/versions/{version}"
    VERSION_BROKEN = (
        "version-broken",
        N_("Version {version} of {bot} is broken: {reason}"),
        "/bots/{bot_id}/versions/{version}",
    )
    GATE_PASSED = (
        "gate-passed",
        N_("Version {version} of {bot} passed its gate in {season} and plays from now on."),
        "/bots/{bot_id}/upload",
    )
    GATE_FAILED = (
        "gate-failed",
        N_("Version {version} of {bot} did not pass its gate in {season}: {reason}"),
        "/bots/{bot_id}/upload",
    )
    PANEL_PLAYED = (
        "panel-played",
        N_("Version {version} of {bot} has {points} of {most} points against the panel of {season}{verdict}."),
        "/bots/{bot_id}/versions/{version}",
    )
    CHALLENGE_OVER = (  # the unrated matches that the author asked for
        "challenge-over",
        N_(
            "Your challenge of {opponent} by {bot} in {season} is over, with {wins} wins, {draws} draws and {losses} "
            "losses: {reason}"
        ),
        "/challenges/{challenge_id}",
    )
    FAULT = (  # the first match that a version lost by a fault in a season
        "fault",
        N_("Version {version} of {bot} failed in a match for the first time in {season}: {fault}."),
        "/matches/{match_id}/mine",
    )
    MANY_FAULTS = (  # in a season where no bot rests
        "many-faults",
        N_("Version {version} of {bot} failed in {faults} of its last {matches} matches in {season}."),
        "/bots/{bot_id}/matches",
    )
    RESTED = (
        "rested",
        N_(
            "{bot} is resting in {season}: {reason} It plays again when you bring it back, after a pause, or when you "
            "choose another version."
        ),
        "/bots/{bot_id}/upload",
    )
    EVALUATION_DONE = (
        "evaluation-done",
        N_("{bot} finished in place {place} of {players} in evaluation {number} of {season}; it was seed {seed}."),
        "/contests/{evaluation_id}",
    )
    APPEAL_OPENED = (  # for organisers
        "appeal-opened",
        N_("{author} appeals for {bot} against match {match_id} of {season}."),
        "/desk#appeals",
    )
    APPEAL_DECIDED = (
        "appeal-decided",
        N_("The appeal of {bot} against match {match_id} is {state}: {ruling}"),
        "/matches/{match_id}/appeal",
    )
    STANDINGS = "standings", N_("{season} is over. {bot}: {result}."), "/seasons/{season_id}"  # the final ones
    DEADLINE = "deadline", N_("{season} will be {becomes} on {date}."), "/seasons/{season_id}"
    BEHIND = (  # for organisers: an evaluation will not be done before its successor
        "behind",
        N_(
            "{season} is falling behind its timetable: {evaluation}, due at {due}, will not be done until {done}, but "
            "the timetable continues at {successor}."
        ),
        "/desk/seasons/{season_id}#forecast",
    )
    UNFIT = "unfit", N_("{machine} is unfit to judge: {reason}"), "/operator#workers"  # for administrators
    PLAYED_AGAIN = (  # because of the machine that played them
        "played-again",
        N_("Matches of {bot} in {season} are played again: the machine that played them is not to be trusted."),
        "/bots/{bot_id}/matches",
    )
    SEASON_INVITED = "season-invited", N_("You are invited to {season}."), "/seasons/{season_id}"
    ENTERED = "entered", N_("An organiser entered {bot} in {season}."), "/bots/{bot_id}/upload"
    TEAM_INVITED = "team-invited", N_("{captain} invites you to the team {team}."), "/account#teams"
    SECURITY = "security", N_("{event} If it was not you, choose a new password."), "/account#password"


class Exported(StrEnum):
    """The tables of a season that can be exported (docs/reference/data-export.md)."""

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
