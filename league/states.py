"""The permitted transitions of versions, series, matches and seasons, as tables.

A state changes only through a compare-and-set in the database whose pair of states is in one of these tables
(`league.service.ground.steps.move`), so two workers that race for one row cannot both win, and no code path can invent
a transition.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Flag, IntEnum, StrEnum, auto
from typing import Self

from deadheat.engine.language import N_, _, gettext


class _Ladder(StrEnum):
    """Words in ascending order; each allows everything that the earlier ones allow."""

    def allows(self, wanted: Self) -> bool:
        """Return whether this word permits what requires `wanted`."""
        return self in type(self).allowing(wanted)

    @classmethod
    def allowing(cls, wanted: Self) -> tuple[Self, ...]:
        """Return the words that permit what requires `wanted`."""
        ladder = tuple(cls)
        return ladder[ladder.index(wanted) :]


class Role(_Ladder):
    """A user's rights besides playing."""

    made: str  # the audit log's phrase for giving somebody the role
    does: str  # what somebody with the role does, besides what the roles before it do

    def __new__(cls, word: str, made: str, does: str) -> Self:
        """Create a member whose value is the word."""
        role = str.__new__(cls, word)
        role._value_ = word
        role.made, role.does = made, does
        return role

    AUTHOR = "author", N_("made {} an author"), "enters bots in seasons"
    ORGANISER = "organiser", N_("made {} an organiser"), "runs seasons and rules on results"
    ADMIN = "admin", N_("made {} an administrator"), "sees how the deployment runs and bans people"

    @property
    def action(self) -> str:
        """The audit log's word for giving somebody the role."""
        return f"{self.value}-made"


class NewcomerRule(StrEnum):
    """The rules for sign-up."""

    OPEN = "open"  # everybody
    CODE = "code"  # people who have the code that the organisers give out
    CLOSED = "closed"  # nobody


class TokenKind(StrEnum):
    """The kinds of secret, by what they give access to."""

    TOKEN = "token"  # noqa: S105  # the API, for programs
    SESSION = "session"  # the site, in one browser
    AGENT = "agent"  # the interface of `api.routes.seed_agents`, as one agent


class Trust(_Ladder):
    """The trust in a machine that plays over HTTP."""

    LOW = "low"  # rated series that decide nothing alone, of programs that may be lent
    FULL = "full"  # everything


class Found(StrEnum):
    """The verdict on a machine whose matches trusted ones played again (`league.checking.duplicates`)."""

    LATE = "late"  # its time-outs are not theirs
    LIES = "lies"


class Scope(_Ladder):
    """The part of its owner's rights that a token carries."""

    READ = "read"
    SUBMIT = "submit"  # make bots, upload versions, enter seasons: what an author's CI needs
    AUTHOR = "author"  # everything that an author may do
    FULL = "full"  # organising too, if the owner may


class VersionState(StrEnum):
    """The state of an upload on its way to a program."""

    UPLOADED = "uploaded"  # waits for a builder
    BUILDING = "building"  # a worker holds the lease
    READY = "ready"  # may play
    BROKEN = "broken"  # `reason` says why


class JobState(StrEnum):
    """The state of a series or a person's match, from the plan to the result."""

    QUEUED = "queued"  # waits for a worker
    RUNNING = "running"  # a worker holds the lease
    DONE = "done"
    ABANDONED = "abandoned"  # the service failed too often, nobody took it, or it is no longer needed


class TableState(StrEnum):
    """The state of a game table: that of a job, which it is if programs sit there; a worker never holds another one."""

    OPEN = "open"  # a seat is free
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    ABANDONED = "abandoned"


class SeatKind(StrEnum):
    """The kinds of players at a game table."""

    PERSON = "person"  # answers in a browser
    AGENT = "agent"  # somebody's program elsewhere, which answers over HTTP
    PROGRAM = "program"  # a bot's version, in a room of a worker


class MatchState(StrEnum):
    """The state of a match."""

    SCHEDULED = "scheduled"
    DONE = "done"
    HELD = "held"  # the service failed to play it too often; it waits for an organiser
    DECIDED = "decided"  # by an organiser: there is a result but no transcript
    ABANDONED = "abandoned"  # it is not played: it is no longer needed, or an organiser decided so


class During(Flag):
    """Properties of a season's state."""

    ENTRIES = auto()  # bots may enter, and new versions take over
    LADDER = auto()  # the ladder is not over, nor are its panels, evaluations and unrated matches
    FINALS = auto()  # the finals are played


class SeasonState(StrEnum):
    """The state of a season. Its standings are final once they are published, which is soon after it closes."""

    during: During
    holds: str  # tells an author why nothing is planned and nothing that waits is played; empty: it is played

    def __new__(cls, word: str, during: During = During(0), holds: str = "") -> Self:  # noqa: B008
        """Create a member whose value is the word."""
        state = str.__new__(cls, word)
        state._value_ = word
        state.during, state.holds = during, holds
        return state

    SCHEDULED = "scheduled", During.ENTRIES, N_("It has no matches yet: the season has not opened.")
    OPEN = "open", During.ENTRIES | During.LADDER
    FROZEN = "frozen", During.LADDER  # the ladder plays the rest of its matches
    FINALS = "finals", During.FINALS  # only the qualified bots play
    CLOSED = "closed"  # running matches are played to the end, then the standings are published

    @property
    def words(self) -> str:
        """The state of a season in a sentence."""
        return N_("in its finals") if self is SeasonState.FINALS else self.value

    @property
    def action(self) -> str:
        """The audit log's word for a season's step into this state."""
        return f"season-{self.value}"

    @property
    def goes_on(self) -> bool:
        """Whether the season has not closed."""
        return self in GOING_ON

    @property
    def ladder_is_over(self) -> bool:
        """Whether the ladder is over, with its panels and evaluations."""
        return all(self.is_after(state) for state in SeasonState if During.LADDER in state.during)

    def is_after(self, other: "SeasonState") -> bool:
        """Return whether seasons reach this state later than the other. The states are listed in order."""
        states = tuple(SeasonState)
        return states.index(self) > states.index(other)


class Ranks(StrEnum):
    """The results that a ranking counts at tables of three or more; with two seats both are the same."""

    PLACEMENT = "placement"  # every pair of places is a comparison
    WINS = "wins"  # the winner beat everyone; the order of the others means nothing


class FinalsFormat(StrEnum):
    """How a season's finals are played."""

    NONE = "none"  # the ladder decides
    ROUND_ROBIN = "round-robin"
    SWISS = "swiss"
    STAGES = "stages"  # several in turn, each with fewer bots, according to the season's `stages`


class FinalsLog(StrEnum):
    """The matches that rank the finalists."""

    SEASON = "season"  # the whole season with its finals: the most information, because versions have not changed since
    FINALS = "finals"  # the finals alone: everyone starts anew


class TranscriptsFrom(StrEnum):
    """When everybody may read the transcripts of a season's matches, and watch them."""

    PLAYED = "played"
    CLOSED = "closed"  # once the final standings are published


class SourcesFrom(StrEnum):
    """When everybody may read the sources of the versions that played in a season."""

    NEVER = "never"
    CLOSED = "closed"  # once the final standings are published


class Admission(StrEnum):
    """The rules for entering a season."""

    EVERYONE = "everyone"
    INVITED = "invited"  # authors on the season's list
    NOBODY = "nobody"  # organisers enter bots


class Players(StrEnum):
    """The players of a season: one kind or the other, since a network's delays cannot be attributed to a player."""

    PROGRAMS = "programs"  # in our rooms, paired by the league
    AGENTS = "agents"  # elsewhere, over HTTP, at tables for which they queue


class Purpose(StrEnum):
    """The purpose of a series."""

    LADDER = "ladder"
    FINALS = "finals"
    PANEL = "panel"  # a new version against a bot of the season's panel; never rated
    CHALLENGE = "challenge"  # two versions, at a promotion gate or because an author asked; never rated
    EVALUATION = "evaluation"  # an evaluation that counts only for its own standings
    RATED_EVALUATION = "rated-evaluation"  # an evaluation whose matches are rated too


class Asked(StrEnum):
    """The visibility of a match that an author asked for. It is never rated, and appears in no statistics of a bot."""

    PUBLIC = "public"
    PRIVATE = "private"  # only the people behind the bot that asked, and organisers


class Precedence(IntEnum):
    """The ranks of series in the queue, see `league.service.series.turns`. They are stored."""

    PLACEMENT = 0  # begun for a version that is being placed, or that is not linked to the field yet
    NEW_VERSION = 1  # any other series with a version that is being placed, or at a promotion gate
    ORDINARY = 2
    ASKED = 3  # unrated: an author asked for it
    EVALUATION = 4  # part of an evaluation, which has a timetable
    PANEL = 5  # a new version against the panel


class ChallengeState(StrEnum):
    """The state of a challenge: at an entry's promotion gate, because somebody asked, or against a season's panel."""

    RUNNING = "running"
    PASSED = "passed"  # it is stronger, or has the panel's minimum; after a gate, it is the active version
    FAILED = "failed"
    ENDED = "ended"  # no verdict: out of games, the season froze, or a newer version came


class ContestKind(StrEnum):
    """The kind of a contest: what it is played for."""

    EVALUATION = "evaluation"
    STAGE = "stage"  # of the finals
    GATE = "gate"  # the place of an entry's active version
    REQUEST = "request"  # an author's question
    PANEL = "panel"  # how a new version fares against the season's sample bots


class ContestState(StrEnum):
    """The state of a contest. An evaluation is done or cancelled; the others have the states of challenges."""

    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    PASSED = "passed"
    FAILED = "failed"
    ENDED = "ended"


class EvaluationState(StrEnum):
    """The state of an evaluation, from its draw on."""

    RUNNING = "running"
    DONE = "done"  # its standings are final
    CANCELLED = "cancelled"  # by an organiser, by the season's end, or for lack of bots


class AppealState(StrEnum):
    """The state of an author's complaint about a match."""

    OPEN = "open"
    UPHELD = "upheld"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


class ChannelKind(StrEnum):
    """A way in which notices are sent to somebody."""

    WEBHOOK = "webhook"
    MAIL = "mail"


class DeliveryState(StrEnum):
    """The state of a notice on its way through a channel."""

    WAITING = "waiting"  # to be tried for the first time, or again
    SENT = "sent"
    FAILED = "failed"  # after too many tries, or because the channel was switched off


class Fitness(StrEnum):
    """A machine's fitness to judge. Any may follow any other, because each check decides again."""

    UNCHECKED = "unchecked"  # it has just started, and its check has not ended
    FIT = "fit"
    UNFIT = "unfit"  # must not judge; `reasons` say why


class Span(StrEnum):
    """The time that a row of `DeadlineCount` covers."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    SEASON = "season"


class Absence(StrEnum):
    """Why an entered bot does not (or no longer) take part."""

    WITHDRAWN = "withdrawn"  # by its author or an organiser: no new matches; those played count
    DISQUALIFIED = "disqualified"  # by an organiser: no new matches, and none of its matches counts


ENTERABLE = tuple(state for state in SeasonState if During.ENTRIES in state.during)
"""States in which bots may enter and new versions take over."""

HOLDING = tuple(state for state in SeasonState if state.holds)
"""States in which nothing is planned and no waiting series is played."""

ON_LADDER = tuple(state for state in SeasonState if During.LADDER in state.during and not state.holds)
"""States in which the ladder is played."""

IN_PLAY = tuple(state for state in SeasonState if state.during & (During.LADDER | During.FINALS))
"""States in which matches are played, rankings follow, and organisers rule on results."""

GOING_ON = tuple(state for state in SeasonState if state.during)
"""States of a season that has not closed."""

FIXED = tuple(state for state in GOING_ON if state not in ENTERABLE)
"""States in which entries and versions stay fixed until the season closes."""


@dataclass(frozen=True, slots=True)
class SeasonStep:
    """How a season reaches a state.

    `verb` is what an organiser does, `done` the audit log's phrase for it, and `meaning` the help of its command
    (closing has its own). `becomes` completes "the season was". `date` is the setting of `league.terms` with the date
    at which the step happens by itself; None: organisers take it manually. `past` labels a date that has passed, and
    `note` is shown on the season's page while the season is in the state. `announced`: people are notified before its
    date, because they can do less afterwards.
    """

    verb: str
    done: str
    becomes: str
    past: str
    date: str | None
    meaning: str = ""
    note: str = ""
    announced: bool = False

    @property
    def command(self) -> str:
        """The command of `deadheat season` that takes the step: the last word of the verb."""
        return self.verb.rpartition(" ")[2].lower()


SEASON_STEPS: Mapping[SeasonState, SeasonStep] = {
    SeasonState.OPEN: SeasonStep(
        "Open",
        N_("opened {}"),
        "opened",
        "Opened",
        "opens_at",
        "Open or reopen a season, so that its ladder is played.",
    ),
    SeasonState.FROZEN: SeasonStep(
        "Freeze",
        N_("froze {}"),
        "frozen",
        "Froze",
        "freezes_at",
        "Freeze a season: entries and versions are fixed while the ladder settles.",
        "The season is frozen: entries and versions are fixed while the ladder settles.",
        announced=True,
    ),
    SeasonState.FINALS: SeasonStep(
        "Begin the finals",
        N_("began the finals of {}"),
        "advanced to its finals",
        "Finals began",
        "finals_at",
        "Begin the finals. Running series finish; waiting ones are dropped.",
    ),
    SeasonState.CLOSED: SeasonStep(
        "Close",
        N_("closed {}"),
        "closed",
        "Closed",
        "closes_at",
        note="The season is closed. Matches in progress are played to the end, then the standings are published.",
        announced=True,
    ),
}
"""The steps to all states but the first, in their order."""


def dated_steps(season: object, after: SeasonState) -> Iterator[tuple[SeasonState, str, datetime]]:
    """Yield the later states that a season reaches by date, each with the setting and its date, in order."""
    for state, step in SEASON_STEPS.items():
        if step.date and state.is_after(after) and (date := getattr(season, step.date)):
            yield state, step.date, date


def either(states: Sequence[SeasonState]) -> str:
    """Return the states as a choice in a sentence, such as "open, frozen or in its finals"."""
    *first, last = (gettext(state.words) for state in states)
    return _("%(most)s or %(last)s", most=", ".join(first), last=last)


EVALUATIONS = (ContestKind.EVALUATION, ContestKind.STAGE)
"""The kinds of contests with rounds and standings."""

OF_EVALUATIONS = (Purpose.EVALUATION, Purpose.RATED_EVALUATION)
"""The purposes of series of evaluations."""

OF_CHALLENGES = (Purpose.PANEL, Purpose.CHALLENGE)
"""The purposes of series of challenges."""

UNRATED = (*OF_CHALLENGES, Purpose.EVALUATION)
"""The purposes whose matches are never rated, and which pairing ignores."""

WITH_RESULT = (MatchState.DONE, MatchState.DECIDED)
"""States of matches whose seats have ranks."""

UNFINISHED = (JobState.QUEUED, JobState.RUNNING)
"""States of series that have yet to bring results."""

NOT_OVER = (TableState.OPEN, TableState.QUEUED, TableState.RUNNING)
"""States of tables at which somebody sits."""

_LIVES: Mapping[type[StrEnum], Mapping[StrEnum, frozenset[StrEnum]]] = {
    VersionState: {
        VersionState.UPLOADED: frozenset({VersionState.BUILDING}),
        VersionState.BUILDING: frozenset({VersionState.READY, VersionState.BROKEN, VersionState.UPLOADED}),
    },
    JobState: {
        JobState.QUEUED: frozenset({JobState.RUNNING, JobState.ABANDONED}),
        JobState.RUNNING: frozenset({JobState.DONE, JobState.QUEUED, JobState.ABANDONED}),
    },
    TableState: {
        TableState.OPEN: frozenset({TableState.QUEUED, TableState.RUNNING, TableState.ABANDONED}),
        TableState.QUEUED: frozenset({TableState.RUNNING, TableState.ABANDONED}),
        TableState.RUNNING: frozenset({TableState.DONE, TableState.QUEUED, TableState.ABANDONED}),
    },
    MatchState: {
        MatchState.SCHEDULED: frozenset({MatchState.DONE, MatchState.HELD, MatchState.ABANDONED}),
        MatchState.HELD: frozenset({MatchState.DECIDED, MatchState.ABANDONED}),  # played again, it is a new match
    },
    SeasonState: {
        SeasonState.SCHEDULED: frozenset({SeasonState.OPEN, SeasonState.CLOSED}),
        SeasonState.OPEN: frozenset({SeasonState.FROZEN, SeasonState.FINALS, SeasonState.CLOSED}),
        SeasonState.FROZEN: frozenset({SeasonState.OPEN, SeasonState.FINALS, SeasonState.CLOSED}),
        SeasonState.FINALS: frozenset({SeasonState.CLOSED}),
    },
    ContestState: {
        ContestState.RUNNING: frozenset({*ContestState} - {ContestState.RUNNING}),
        ContestState.CANCELLED: frozenset({ContestState.RUNNING}),  # an organiser resumes it
    },
    AppealState: {
        AppealState.OPEN: frozenset({AppealState.UPHELD, AppealState.REJECTED, AppealState.WITHDRAWN}),
    },
}
LIVES = {kind: {**dict.fromkeys(kind, frozenset[StrEnum]()), **life} for kind, life in _LIVES.items()}
"""For each kind of thing, the states that may follow each state. The keys are types, because equal words of two kinds
are equal strings.
"""


def allowed(before: StrEnum, after: StrEnum) -> bool:
    """Return whether `after` may follow `before`."""
    assert type(before) is type(after), "states of different things do not follow each other"
    return after in LIVES[type(before)][before]
