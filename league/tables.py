"""The database's tables. Rows never leave `league.service`: workers get jobs, the API gets views.

What a row may be is stated here as constraints wherever SQL can say it, so that a mistake elsewhere ends as a
refused statement and not as a wrong ranking: one seat is taken once, a version does not meet itself, work that
runs has a lease and work that does not has none, a match that is done has ranks' transcript, and only such a match
is rated.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from itertools import combinations
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    Enum,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field, SQLModel

from engine.core import Fault
from league.states import (
    Absence,
    Admission,
    AppealState,
    ChallengeState,
    ExhibitionState,
    FinalsFormat,
    FinalsLog,
    Fitness,
    MatchState,
    NewcomerRule,
    Precedence,
    Purpose,
    Ranks,
    Role,
    Scope,
    SeasonState,
    SeriesState,
    TokenKind,
    VersionState,
)

MOST_WORD = 64
"""Characters kept of one word: why we failed, or what a bot was asked."""

SQLModel.metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

SHA256_HEX = 64


class UtcDateTime(TypeDecorator[datetime]):
    """An aware instant. SQLite keeps no zone, so it is stored as UTC there and made aware again on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC; a naive date is a mistake of ours."""
        if value is None:
            return None
        assert value.tzinfo is not None, "dates are aware"
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Aware, in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _word(kind: type[StrEnum], name: str, *, nullable: bool = False) -> Column[Any]:
    """A column that holds one of an enumeration's values, checked by the database."""
    words = Enum(
        kind,
        name=name,
        native_enum=False,
        create_constraint=True,
        length=16,
        values_callable=lambda members: [member.value for member in members],
    )
    return Column(words, nullable=nullable)


def _json(*, nullable: bool = False) -> Column[Any]:
    return Column(JSON(none_as_null=nullable), nullable=nullable)


class User(SQLModel, table=True):
    """A person or program with a name. `name_key` is the name in lower case: what must be unique."""

    __tablename__ = "user_account"  # "user" is a reserved word in PostgreSQL

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=32)
    name_key: str = Field(max_length=32, unique=True)
    password_hash: str | None = Field(default=None, max_length=256)  # None: signs in with tokens only
    role: Role = Field(default=Role.AUTHOR, sa_column=_word(Role, "role"))
    created_at: datetime = Field(sa_type=UtcDateTime)
    closed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # nobody gets in by it any more
    ban_reason: str | None = Field(default=None, max_length=1000)  # None: nobody, or the owner, closed it


class Newcomers(SQLModel, table=True):
    """Who may sign up: one row, or none as long as everybody may. `code`: what organisers give out."""

    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: int = Field(default=1, primary_key=True)
    rule: NewcomerRule = Field(sa_column=_word(NewcomerRule, "newcomer_rule"))
    code: str = Field(default="", max_length=64)


class Token(SQLModel, table=True):
    """An access token, or a browser's session; of the secret only its SHA-256 is kept (256 random bits need no slow
    hash).
    """

    id: int = Field(default=None, primary_key=True)
    user_id: int = Field(foreign_key="user_account.id", index=True)
    kind: TokenKind = Field(default=TokenKind.TOKEN, sa_column=_word(TokenKind, "kind"))
    scope: Scope = Field(default=Scope.FULL, sa_column=_word(Scope, "scope"))
    label: str = Field(max_length=64)
    sha256: str = Field(max_length=SHA256_HEX, unique=True)
    created_at: datetime = Field(sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # to the minute


class Team(SQLModel, table=True):
    """Authors who work on bots together. The captain is one of the members."""

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=32)
    name_key: str = Field(max_length=32, unique=True)
    captain_id: int = Field(foreign_key="user_account.id")
    created_at: datetime = Field(sa_type=UtcDateTime)


class TeamMember(SQLModel, table=True):
    """Somebody in a team, or invited to it: `joined_at` None until the invitation is accepted."""

    __tablename__ = "team_member"

    team_id: int = Field(foreign_key="team.id", primary_key=True)
    user_id: int = Field(foreign_key="user_account.id", primary_key=True, index=True)
    invited_at: datetime = Field(sa_type=UtcDateTime)
    joined_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Bot(SQLModel, table=True):
    """An author's entry over time; what plays is one of its versions. A team's bot is every member's."""

    __table_args__ = (
        UniqueConstraint("owner_id", "game", "name_key"),
        Index(None, "team_id", "game", "name_key", unique=True),
    )

    id: int = Field(default=None, primary_key=True)
    owner_id: int = Field(foreign_key="user_account.id")  # who made it
    team_id: int | None = Field(default=None, foreign_key="team.id")
    plays_people: bool = True  # its author lets people play against it
    game: str = Field(max_length=64)
    name: str = Field(max_length=32)
    name_key: str = Field(max_length=32)
    description: str = Field(default="", sa_column=Column(Text, nullable=False))
    retired_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(sa_type=UtcDateTime)


class BotVersion(SQLModel, table=True):
    """One upload. What was uploaded never changes; only the state of its building does."""

    __tablename__ = "bot_version"
    __table_args__ = (
        UniqueConstraint("bot_id", "number"),
        UniqueConstraint("id", "bot_id"),  # lets an entry name a version together with its bot
        CheckConstraint("(state = 'building') = (lease_until IS NOT NULL)", name="lease"),
        CheckConstraint("(state = 'ready') = (program_sha256 IS NOT NULL)", name="program"),
        CheckConstraint("attempt >= 0", name="attempt"),
        Index(None, "state", "nudge_at"),
        Index(None, "state", "lease_until"),
        Index(None, "uploader_id", "created_at"),
    )

    id: int = Field(default=None, primary_key=True)
    bot_id: int = Field(foreign_key="bot.id")
    uploader_id: int | None = Field(default=None, foreign_key="user_account.id")  # None: before there were teams
    number: int
    filename: str = Field(max_length=128)
    size_bytes: int
    source_sha256: str = Field(max_length=SHA256_HEX)
    language: str = Field(max_length=32)
    entry: str = Field(default="", max_length=256)
    created_at: datetime = Field(sa_type=UtcDateTime)

    state: VersionState = Field(default=VersionState.UPLOADED, sa_column=_word(VersionState, "state"))
    attempt: int = 0
    worker: str | None = Field(default=None, max_length=128)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    queued_at: datetime = Field(sa_type=UtcDateTime)  # since when it waits
    nudge_at: datetime = Field(sa_type=UtcDateTime)  # when the sweeper enqueues it (again)
    built_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    program_sha256: str | None = Field(default=None, max_length=SHA256_HEX)
    trial_sha256: str | None = Field(default=None, max_length=SHA256_HEX)  # transcript of its qualification match
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))  # why it is broken
    log: str = Field(default="", sa_column=Column(Text, nullable=False))  # for the author only


DATES = ("opens_at", "freezes_at", "finals_at", "closes_at")
"""A season's dates, in the order in which they must come; each may be None: that happens by hand or not at all."""


class Season(SQLModel, table=True):
    """A competition in one game.

    `log_serial` counts changes of the log of results, `rated_serial` is the count that the newest ranking has
    seen: where they differ a refit is due. `games_per_pair` None: no end but the season's. `pairing_seed` decides every
    lot of who plays whom (with `series_planned`, how many series its ladder has planned); it is drawn with the first
    series and never shown. `secret` decides all dice (`league.service.dice`), of which `deals` numbers are used up; it
    is drawn at the opening, when its commitment is published, and told with the published standings. None: the season
    was opened before there were such secrets, and its seeds are drawn one by one.
    """

    __table_args__ = (
        CheckConstraint("series_length BETWEEN 1 AND 1000", name="series_length"),
        CheckConstraint("games_per_pair IS NULL OR games_per_pair >= 1", name="games_per_pair"),
        CheckConstraint("opens_at IS NULL OR closes_at IS NULL OR opens_at < closes_at", name="dates"),
        *(
            CheckConstraint(f"{one} IS NULL OR {other} IS NULL OR {one} < {other}", name=f"{one}_{other}")
            for one, other in combinations(DATES, 2)
            if (one, other) != ("opens_at", "closes_at")
        ),
        CheckConstraint("seats >= 2", name="seats"),
        CheckConstraint("finals_top IS NULL OR finals_top >= 2", name="finals_top"),
        CheckConstraint("finals_games BETWEEN 1 AND 1000", name="finals_games"),
        CheckConstraint("finals_rounds IS NULL OR finals_rounds >= 1", name="finals_rounds"),
        CheckConstraint("finals_extra_games >= 0", name="finals_extra_games"),
        CheckConstraint("promoted >= 0", name="promoted"),
        CheckConstraint("entries_per_author IS NULL OR entries_per_author >= 1", name="entries_per_author"),
        CheckConstraint("uploads_per_hour IS NULL OR uploads_per_hour >= 1", name="uploads_per_hour"),
        CheckConstraint("versions_per_day IS NULL OR versions_per_day >= 1", name="versions_per_day"),
        CheckConstraint("challenge_games >= 0", name="challenge_games"),
    )

    id: int = Field(default=None, primary_key=True)
    game: str = Field(max_length=64)
    name: str = Field(max_length=64)
    name_key: str = Field(max_length=64, unique=True)
    previous_id: int | None = Field(default=None, foreign_key="season.id")
    state: SeasonState = Field(default=SeasonState.SCHEDULED, sa_column=_word(SeasonState, "state"))
    ranks: Ranks = Field(default=Ranks.PLACEMENT, sa_column=_word(Ranks, "ranks"))
    seats: int = 2  # at a table; within the game's range
    series_length: int = 10
    games_per_pair: int | None = None
    opens_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    freezes_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finals_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    closes_at: datetime | None = Field(default=None, sa_type=UtcDateTime)

    finals: FinalsFormat = Field(default=FinalsFormat.NONE, sa_column=_word(FinalsFormat, "finals"))
    finals_top: int | None = None  # so many of each division's frozen ladder qualify; None: all
    finals_games: int = 10  # of two finalists each time they meet
    finals_rounds: int | None = None  # of Swiss finals; None: as many as halving the field down to one takes
    finals_extra_games: int = 0  # of each division, after the rounds, to part adjacent places
    finals_log: FinalsLog = Field(default=FinalsLog.SEASON, sa_column=_word(FinalsLog, "finals_log"))
    closes_when_done: bool = True  # the finals' end closes the season, whatever `closes_at` says
    qualified_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # when the finalists were known
    finals_done_at: datetime | None = Field(default=None, sa_type=UtcDateTime)

    promoted: int = 0  # bots that change places between neighbouring divisions in the season made from this one
    admission: Admission = Field(default=Admission.EVERYONE, sa_column=_word(Admission, "admission"))
    entries_per_author: int | None = None  # of a team together, for its bots
    teams_only: bool = False
    languages: list[str] | None = Field(
        default=None, sa_column=Column(JSON(none_as_null=True), nullable=True)
    )  # None: all
    uploads_per_hour: int | None = None  # by one author of bots that take part; None: the deployment's quota alone
    versions_per_day: int | None = None  # of one bot that takes part
    challenge_games: int = 1000  # most games of one version at a promotion gate; 0: there are no gates

    pairing_seed: bytes | None = Field(default=None, sa_column=Column(LargeBinary, nullable=True))
    secret: bytes | None = Field(default=None, sa_column=Column(LargeBinary, nullable=True))
    deals: int = 0
    series_planned: int = 0
    log_serial: int = 0
    rated_serial: int = 0
    created_at: datetime = Field(sa_type=UtcDateTime)


class Division(SQLModel, table=True):
    """A part of a season's field; only bots of one division meet. 1 is the highest, and every season has it."""

    __table_args__ = (
        CheckConstraint("number >= 1", name="number"),
        CheckConstraint("size IS NULL OR size >= 2", name="size"),
    )

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    number: int = Field(primary_key=True)
    name: str = Field(max_length=32)
    size: int | None = None  # most entries; None: any number


class SeasonRules(SQLModel, table=True):
    """A version of its game's rules under which matches of a season were played (`Game.rules_version`), since when."""

    __tablename__ = "season_rules"
    __table_args__ = (CheckConstraint("rules_version >= 1", name="rules_version"),)

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    rules_version: int = Field(primary_key=True)
    first_at: datetime = Field(sa_type=UtcDateTime)


class SeasonInvitation(SQLModel, table=True):
    """An author on the list of a season that admits only those."""

    __tablename__ = "season_invitation"

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    user_id: int = Field(foreign_key="user_account.id", primary_key=True)


class Entry(SQLModel, table=True):
    """A bot in a season, with the version that plays. `follows`: each new version takes over once it is ready.

    `gate`: the terms on which a new version takes over instead (see `league.service.challenges`); None: none.
    `finals_seed`: its place in its division's frozen ladder if it qualified for the finals, 1 for the first.
    `waiting_since`: how many series the ladder had planned when the bot was last planned, or came; None: it just came.
    `chosen_at`: when its author last chose another version; None: never.
    """

    __table_args__ = (
        UniqueConstraint("season_id", "bot_id"),
        UniqueConstraint("season_id", "division", "finals_seed"),
        ForeignKeyConstraint(["version_id", "bot_id"], ["bot_version.id", "bot_version.bot_id"]),
        ForeignKeyConstraint(["season_id", "division"], ["division.season_id", "division.number"]),
        CheckConstraint("finals_seed >= 1", name="finals_seed"),
        Index(None, "bot_id"),
    )

    id: int = Field(default=None, primary_key=True)
    season_id: int = Field(foreign_key="season.id")
    bot_id: int = Field(foreign_key="bot.id")
    version_id: int
    follows: bool = True
    division: int = 1
    finals_seed: int | None = None
    gate: dict[str, Any] | None = Field(default=None, sa_column=_json(nullable=True))
    waiting_since: int | None = None
    chosen_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(sa_type=UtcDateTime)


class Challenge(SQLModel, table=True):
    """A new version at an entry's promotion gate: it plays the one that is active until the SPRT decides.

    The counts are of the candidate's finished games; `llr` is the log-likelihood ratio that they give.
    """

    __table_args__ = (
        CheckConstraint("candidate_id <> incumbent_id", name="versions"),
        CheckConstraint("(state = 'running') = (ended_at IS NULL)", name="ended"),
        CheckConstraint("elo0 < elo1", name="elo"),
        CheckConstraint("games_limit >= 1", name="games_limit"),
        Index(None, "entry_id", "state"),
        Index(None, "state"),
    )

    id: int = Field(default=None, primary_key=True)
    season_id: int = Field(foreign_key="season.id")
    entry_id: int = Field(foreign_key="entry.id")
    candidate_id: int = Field(foreign_key="bot_version.id")
    incumbent_id: int = Field(foreign_key="bot_version.id")
    state: ChallengeState = Field(default=ChallengeState.RUNNING, sa_column=_word(ChallengeState, "state"))
    elo0: float
    elo1: float
    alpha: float
    beta: float
    games_limit: int
    games_planned: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    llr: float = 0.0
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))  # of its end, for the author
    created_at: datetime = Field(sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Pair(SQLModel, table=True):
    """How many games of two versions a season has planned so far (abandoned ones too): what pairing looks at.

    `lead`: with two seats, in how many more of them the one with the lower number sits first than second.
    """

    __table_args__ = (
        CheckConstraint("low_id < high_id", name="order"),
        Index(None, "season_id", "high_id"),
    )

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    low_id: int = Field(foreign_key="bot_version.id", primary_key=True)
    high_id: int = Field(foreign_key="bot_version.id", primary_key=True)
    games: int
    lead: int = 0


class Series(SQLModel, table=True):
    """Matches between the same versions, carried out in one go. `attempt` fences off workers that come late.

    `avoid_host`: the machine on which an attempt failed; another one is to play what is left, if one is there.
    `precedence`: whether others are played first (`league.service.turns`).
    """

    __table_args__ = (
        CheckConstraint("(purpose = 'challenge') = (challenge_id IS NOT NULL)", name="challenge"),
        CheckConstraint("(state = 'running') = (lease_until IS NOT NULL)", name="lease"),
        CheckConstraint("attempt >= 0", name="attempt"),
        Index(None, "state", "nudge_at"),
        Index(None, "state", "lease_until"),
        Index(None, "state", "precedence", "queued_at"),
        Index(None, "season_id", "state"),
        Index(None, "season_id", "finished_at"),
        Index(None, "challenge_id"),
    )

    id: int = Field(default=None, primary_key=True)
    season_id: int = Field(foreign_key="season.id")
    purpose: Purpose = Field(default=Purpose.LADDER, sa_column=_word(Purpose, "purpose"))
    round: int | None = None  # of the finals, from 1; None: ladder, challenge, or games after the rounds
    challenge_id: int | None = Field(default=None, foreign_key="challenge.id")
    state: SeriesState = Field(default=SeriesState.QUEUED, sa_column=_word(SeriesState, "state"))
    precedence: int = Field(default=Precedence.ORDINARY, sa_column_kwargs={"server_default": "2"})
    attempt: int = 0
    worker: str | None = Field(default=None, max_length=128)
    avoid_host: str | None = Field(default=None, max_length=128)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    queued_at: datetime = Field(sa_type=UtcDateTime)
    nudge_at: datetime = Field(sa_type=UtcDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(sa_type=UtcDateTime)


class Match(SQLModel, table=True):
    """One playing. The seed is secret until the match is done; its commitment is public from the start.

    The seed stands for a list of them, one for each attempt: `attempt` says which one it was played with, or is to be
    (`engine.chance.attempt_seed`). `deal`: its number among those that follow from the season's secret
    (`engine.chance.season_seed`); None: it was drawn by itself.

    Matches that share their dice (the rotations of one deal) have one seed, hence one commitment: that is what ratings
    take for one cluster. They lie in different series, and nothing of their dice is told before all of them are over
    (`league.service.deals`). `repeats_id`: the match in whose place this one is played by a ruling, with other dice.
    """

    __table_args__ = (
        UniqueConstraint("series_id", "number"),
        CheckConstraint("(state = 'done') = (transcript_sha256 IS NOT NULL)", name="transcript"),
        CheckConstraint("(state IN ('scheduled', 'held')) = (finished_at IS NULL)", name="finished"),
        CheckConstraint("NOT rated OR state IN ('done', 'decided')", name="rated"),
        CheckConstraint("attempt >= 1", name="attempt"),
        Index(None, "season_id", "state", "id"),
        Index(None, "season_id", "id"),
        Index(None, "finished_at", "id"),
        Index(None, "season_id", "finished_at", "id"),
        Index(  # few, and asked for all the time
            "ix_match_held",
            "season_id",
            sqlite_where=text("state = 'held'"),
            postgresql_where=text("state = 'held'"),
        ),
        Index(  # dice that are still to be played with
            "ix_match_commitment_scheduled",
            "commitment",
            sqlite_where=text("state = 'scheduled'"),
            postgresql_where=text("state = 'scheduled'"),
        ),
        Index(
            "ix_match_repeats_id",
            "repeats_id",
            sqlite_where=text("repeats_id IS NOT NULL"),
            postgresql_where=text("repeats_id IS NOT NULL"),
        ),
    )

    id: int = Field(default=None, primary_key=True)
    series_id: int = Field(foreign_key="series.id")
    season_id: int = Field(foreign_key="season.id")
    number: int  # 0-based place in its series
    seed: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    commitment: str = Field(max_length=SHA256_HEX)
    deal: int | None = None
    attempt: int = 1
    repeats_id: int | None = Field(default=None, foreign_key="match.id")
    state: MatchState = Field(default=MatchState.SCHEDULED, sa_column=_word(MatchState, "state"))
    rated: bool = False
    transcript_sha256: str | None = Field(default=None, max_length=SHA256_HEX)
    created_at: datetime = Field(sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Participant(SQLModel, table=True):
    """A version in a seat of a match, and how it fared. `points`: an integer or "p/q", None after a forfeit.

    `finished_at` is that of a match that is done, once more: a bot's matches by their end are a walk along an index.
    Sorting them took 0.6 s for a bot of 100,000 matches.
    """

    __table_args__ = (
        UniqueConstraint("match_id", "version_id"),  # nobody plays against itself
        ForeignKeyConstraint(["version_id", "bot_id"], ["bot_version.id", "bot_version.bot_id"]),
        CheckConstraint("seat >= 0", name="seat"),
        CheckConstraint("rank >= 1", name="rank"),
        Index(None, "bot_id", "match_id"),
        Index(None, "bot_id", "finished_at", "match_id"),
        Index(  # a bot's failures, and nothing of the many matches without one
            "ix_participant_faults",
            "bot_id",
            "match_id",
            sqlite_where=text("fault IS NOT NULL"),
            postgresql_where=text("fault IS NOT NULL"),
        ),
        Index(None, "version_id", "match_id"),
    )

    match_id: int = Field(foreign_key="match.id", primary_key=True)
    seat: int = Field(primary_key=True)
    version_id: int
    bot_id: int
    player: str | None = Field(default=None, max_length=80)  # as its transcript names it; its bot may be renamed
    rank: int | None = None
    points: str | None = Field(default=None, max_length=64)
    fault: Fault | None = Field(default=None, sa_column=_word(Fault, "fault", nullable=True))
    fault_command: str | None = Field(default=None, max_length=MOST_WORD)
    fault_elapsed_ms: float | None = None
    fault_why: str | None = Field(default=None, sa_column=Column(Text))
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class Ending(SQLModel, table=True):
    """What became of a seat's process; apart from `Participant`, for only the bot's author may see it."""

    __table_args__ = (ForeignKeyConstraint(["match_id", "seat"], ["participant.match_id", "participant.seat"]),)

    match_id: int = Field(primary_key=True)
    seat: int = Field(primary_key=True)
    exit_code: int | None = None
    signal: int | None = None
    lingered: bool
    stderr: str = Field(sa_column=Column(Text, nullable=False))
    cpu_ns: int | None = Field(default=None, sa_type=BigInteger)
    peak_memory_bytes: int | None = Field(default=None, sa_type=BigInteger)


class LatencySummary(SQLModel, table=True):
    """One seat's response times to one command in one match, in nanoseconds."""

    __tablename__ = "latency_summary"
    __table_args__ = (ForeignKeyConstraint(["match_id", "seat"], ["participant.match_id", "participant.seat"]),)

    match_id: int = Field(primary_key=True)
    seat: int = Field(primary_key=True)
    command: str = Field(max_length=MOST_WORD, primary_key=True)
    limit_ns: int = Field(sa_type=BigInteger)
    prompts: int
    total_ns: int = Field(sa_type=BigInteger)
    worst_ns: int = Field(sa_type=BigInteger)


class ResponseTimes(SQLModel, table=True):
    """All of a version's response times to one command in a season: `LatencySummary` added up as matches end, with
    `counts`, how many by bucket (see `league.response_times`; JSON has its keys as text).
    """

    __tablename__ = "response_times"

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    version_id: int = Field(foreign_key="bot_version.id", primary_key=True)
    command: str = Field(max_length=MOST_WORD, primary_key=True)
    limit_ns: int = Field(default=0, sa_type=BigInteger)  # the longest given
    prompts: int = Field(default=0, sa_type=BigInteger)
    total_ns: int = Field(default=0, sa_type=BigInteger)
    worst_ns: int = Field(default=0, sa_type=BigInteger)
    counts: dict[str, int] = Field(default_factory=dict, sa_column=_json())


class Attempt(SQLModel, table=True):
    """The ledger: every try at a match, a series or a build, with its cause and evidence. Rows are only added.

    `cause` is "played" for the try that became the result, else one stable word for why it is void. `match_id`
    is None for what befell a series as a whole.
    """

    __table_args__ = (
        CheckConstraint("(series_id IS NULL) <> (version_id IS NULL)", name="subject"),
        CheckConstraint("match_id IS NULL OR series_id IS NOT NULL", name="match"),
        Index(None, "series_id"),
        Index(None, "match_id"),
        Index(None, "version_id"),
        Index(None, "season_id", "cause"),
    )

    id: int = Field(default=None, primary_key=True)
    season_id: int | None = Field(default=None, foreign_key="season.id")
    series_id: int | None = Field(default=None, foreign_key="series.id")
    match_id: int | None = Field(default=None, foreign_key="match.id")
    version_id: int | None = Field(default=None, foreign_key="bot_version.id")
    attempt: int  # of the series or the build
    seed_number: int | None = None  # which seed of the match's list; None: no match, or from before there were lists
    worker: str | None = Field(default=None, max_length=128)
    cause: str = Field(max_length=MOST_WORD)
    detail: str = Field(default="", sa_column=Column(Text, nullable=False))
    evidence: dict[str, Any] = Field(default_factory=dict, sa_column=_json())
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime = Field(sa_type=UtcDateTime)


class RatingSnapshot(SQLModel, table=True):
    """A ranking as it was computed: from which log (by hash), with which configuration. Never changed, but for one
    thing: of old ones that are not `whole` any more, `standings` are empty (see `league.service.snapshots`).

    `final`: the published standings of a closed season; there is one, and triggers refuse to change or remove it.
    """

    __tablename__ = "rating_snapshot"
    __table_args__ = (
        CheckConstraint("whole OR NOT final", name="whole"),
        Index(None, "season_id", "id"),
        Index(
            "ix_rating_snapshot_whole",
            "season_id",
            "id",
            sqlite_where=text("whole"),
            postgresql_where=text("whole"),
        ),
        Index(
            "uq_rating_snapshot_final",
            "season_id",
            unique=True,
            sqlite_where=text("final"),
            postgresql_where=text("final"),
        ),
    )

    id: int = Field(default=None, primary_key=True)
    season_id: int = Field(foreign_key="season.id")
    log_sha256: str = Field(max_length=SHA256_HEX)
    config: dict[str, Any] = Field(sa_column=_json())
    standings: dict[str, Any] = Field(sa_column=_json())
    final: bool = False
    whole: bool = True
    created_at: datetime = Field(sa_type=UtcDateTime)


class RatingPoint(SQLModel, table=True):
    """A bot's rating at one time of a season, for its history; thinned as it ages (see `league.service.history`)."""

    __tablename__ = "rating_point"
    __table_args__ = (Index(None, "bot_id", "season_id"),)

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    second: int = Field(primary_key=True)  # of the season's age
    bot_id: int = Field(foreign_key="bot.id", primary_key=True)
    version_id: int = Field(foreign_key="bot_version.id")
    elo: float
    low: float
    high: float
    rank: int


class JudgingEnvironment(SQLModel, table=True):
    """What a judge image offers, as a worker's host described it; the newest of the image in use is shown."""

    __tablename__ = "judging_environment"
    __table_args__ = (Index(None, "image", "described_at"),)

    fingerprint: str = Field(primary_key=True, max_length=SHA256_HEX)  # equal descriptions are one row
    image: str = Field(max_length=256)
    document: dict[str, Any] = Field(sa_column=_json())
    worker: str = Field(max_length=128)
    described_at: datetime = Field(sa_type=UtcDateTime)


class Machine(SQLModel, table=True):
    """The number by which everybody may know a machine that plays; its name is the business of whoever runs the league.
    Never removed, so that a number means one machine for ever.
    """

    id: int = Field(default=None, primary_key=True)
    name: str = Field(max_length=128, unique=True)


class WorkerHost(SQLModel, table=True):
    """A machine that plays, and whether it may judge (see `league.service.workers`). A fit one has no `reasons`."""

    __tablename__ = "worker_host"
    __table_args__ = (
        CheckConstraint("fitness = 'unchecked' OR checked_at IS NOT NULL", name="checked"),
        CheckConstraint("steal_share BETWEEN 0 AND 1", name="steal_share"),
    )

    name: str = Field(primary_key=True, max_length=128)
    boot: str = Field(max_length=64)  # which start of the machine all this is true of
    image: str = Field(default="", max_length=256)  # what it opens boxes with
    fitness: Fitness = Field(default=Fitness.UNCHECKED, sa_column=_word(Fitness, "fitness"))
    since_at: datetime = Field(sa_type=UtcDateTime)  # since when it has that fitness
    reasons: list[str] = Field(default_factory=list, sa_column=_json())
    report: dict[str, Any] = Field(default_factory=dict, sa_column=_json())  # of the newest check
    evidence: dict[str, Any] = Field(default_factory=dict, sa_column=_json())  # of the newest canary that went wrong
    first_seen_at: datetime = Field(sa_type=UtcDateTime)
    last_seen_at: datetime = Field(sa_type=UtcDateTime)
    unfit_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # when it was last found unfit
    checked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    check_due_at: datetime | None = Field(default=None, sa_type=UtcDateTime)  # None: no further check is wanted
    canary_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    steal_share: float = 0.0  # of its CPUs' time, taken by the hypervisor lately
    series: int = 0  # finished there
    series_since_canary: int = 0
    voids: int = 0  # attempts at those series' matches
    canaries: int = 0
    canary_voids: int = 0
    canary_failures: int = 0


class LiveMatch(SQLModel, table=True):
    """How far the match has come that a running series plays now (see `league.service.live`); gone with the series."""

    __tablename__ = "live_match"

    series_id: int = Field(foreign_key="series.id", primary_key=True)
    match_id: int = Field(foreign_key="match.id", index=True)
    attempt: int  # of the series
    replies: str = Field(sa_column=Column(Text, nullable=False))  # see engine.unfinished.write_replies
    at: datetime = Field(sa_type=UtcDateTime)


SEATED = "(state IN ('queued', 'running') AND NOT resigned)"
"""Of an exhibition: its person sits there."""


class Exhibition(SQLModel, table=True):
    """A person's match against a bot, which has the other seats (see `league.service.exhibitions`). It is in no season.

    `open_user_id` and `open_place` are set while its person sits there: one of a person, and no two in one of the
    deployment's places. Who resigns is free at once, while a worker may still write the record. `turn` counts what the
    person was asked; `answer` is that to the newest.
    """

    __table_args__ = (
        CheckConstraint("(state = 'running') = (lease_until IS NOT NULL)", name="lease"),
        CheckConstraint(f"{SEATED} = (open_user_id IS NOT NULL)", name="open_user"),
        CheckConstraint(f"{SEATED} = (open_place IS NOT NULL)", name="open_place"),
        CheckConstraint("(state = 'done') = (transcript_sha256 IS NOT NULL)", name="transcript"),
        CheckConstraint("seats >= 2", name="seats"),
        CheckConstraint("seat >= 0 AND seat < seats", name="seat"),
        Index(None, "user_id", "id"),
        Index(None, "state", "nudge_at"),
        Index(None, "finished_at"),
    )

    id: int = Field(default=None, primary_key=True)
    user_id: int = Field(foreign_key="user_account.id")
    version_id: int = Field(foreign_key="bot_version.id", index=True)
    game: str = Field(max_length=64)
    seats: int
    seat: int  # the person's
    seed: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    commitment: str = Field(max_length=SHA256_HEX)
    state: ExhibitionState = Field(default=ExhibitionState.QUEUED, sa_column=_word(ExhibitionState, "state"))
    open_user_id: int | None = Field(default=None, unique=True)
    open_place: int | None = Field(default=None, unique=True)

    attempt: int = 0
    failures: int = 0  # attempts of which we made nothing; not those that were handed back in order
    worker: str | None = Field(default=None, max_length=128)
    lease_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    queued_at: datetime = Field(sa_type=UtcDateTime)
    nudge_at: datetime = Field(sa_type=UtcDateTime)

    replies: str = Field(default="[]", sa_column=Column(Text, nullable=False))  # see engine.unfinished.write_replies
    turn: int = 0
    asked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    answer: str | None = Field(default=None, sa_column=Column(Text))
    resigned: bool = False
    voids: int = 0  # times that it began again by our failure
    cause: str = Field(default="", max_length=MOST_WORD)  # of the last of them

    ranks: list[int] | None = Field(default=None, sa_column=_json(nullable=True))
    points: list[str] | None = Field(default=None, sa_column=_json(nullable=True))
    fault: Fault | None = Field(default=None, sa_column=_word(Fault, "fault", nullable=True))  # the person's
    transcript_sha256: str | None = Field(default=None, max_length=SHA256_HEX)
    created_at: datetime = Field(sa_type=UtcDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class VoidedMatch(SQLModel, table=True):
    """A finished match that an organiser took out of the log of results. Restoring it removes the row.

    `rejudged_id`: the match with the same versions and seats that is played in its place, if one is; that may also be
    in the place of an abandoned match, which never counted.
    """

    __tablename__ = "voided_match"

    match_id: int = Field(foreign_key="match.id", primary_key=True)
    season_id: int = Field(foreign_key="season.id", index=True)
    rejudged_id: int | None = Field(default=None, foreign_key="match.id", unique=True)
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime = Field(sa_type=UtcDateTime)


class AbsentEntry(SQLModel, table=True):
    """An entry that gets no new matches (see `league.states.Absence`). Coming back removes the row."""

    __tablename__ = "absent_entry"

    season_id: int = Field(foreign_key="season.id", primary_key=True)
    bot_id: int = Field(foreign_key="bot.id", primary_key=True)
    absence: Absence = Field(sa_column=_word(Absence, "absence"))
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime = Field(sa_type=UtcDateTime)


class Appeal(SQLModel, table=True):
    """An author's complaint about a match, what re-simulating the match found, and the organiser's ruling.

    `open_key` is the match's and bot's number while the appeal is open, so that there is at most one.
    """

    __table_args__ = (
        CheckConstraint("(state = 'open') = (ruled_at IS NULL)", name="ruled"),
        CheckConstraint("(state = 'open') = (open_key IS NOT NULL)", name="open"),
        Index(None, "season_id", "state"),
    )

    id: int = Field(default=None, primary_key=True)
    match_id: int = Field(foreign_key="match.id", index=True)
    season_id: int = Field(foreign_key="season.id")
    bot_id: int = Field(foreign_key="bot.id", index=True)
    state: AppealState = Field(default=AppealState.OPEN, sa_column=_word(AppealState, "state"))
    open_key: str | None = Field(default=None, max_length=32, unique=True)
    text: str = Field(sa_column=Column(Text, nullable=False))
    findings: dict[str, Any] = Field(sa_column=_json())
    opened_at: datetime = Field(sa_type=UtcDateTime)
    ruled_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ruled_by: str = Field(default="", max_length=32)
    ruling: str = Field(default="", sa_column=Column(Text, nullable=False))


class Announcement(SQLModel, table=True):
    """What an organiser tells everyone; `season_id` None: about the whole league."""

    id: int = Field(default=None, primary_key=True)
    season_id: int | None = Field(default=None, foreign_key="season.id", index=True)
    title: str = Field(max_length=120)
    text: str = Field(sa_column=Column(Text, nullable=False))
    author: str = Field(max_length=32)
    at: datetime = Field(sa_type=UtcDateTime)


class AuditRecord(SQLModel, table=True):
    """One decision that somebody may later ask about, chained to the record before (see `league.service.audit`).

    The unique `prev_sha256` makes a fork of the chain impossible; triggers refuse UPDATE and DELETE.
    """

    __tablename__ = "audit_log"

    id: int = Field(default=None, primary_key=True)
    at: str = Field(max_length=40)  # ISO 8601 as it was hashed
    actor: str = Field(max_length=32)
    action: str = Field(max_length=64)
    subject: str = Field(max_length=128, index=True)
    data: str = Field(sa_column=Column(Text, nullable=False))  # canonical JSON as it was hashed
    prev_sha256: str = Field(max_length=SHA256_HEX, unique=True)
    sha256: str = Field(max_length=SHA256_HEX, unique=True)
