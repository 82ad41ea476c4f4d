"""The shapes of HTTP: what may be sent (nothing unknown is ignored) and what comes back."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, Self, Union, cast, get_args, get_origin

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from api.cursors import CURSOR
from engine.core import Fault
from engine.games import GAMES
from league.config import Settings
from league.service import GateTerms
from league.service.environments import EnvironmentInfo
from league.states import (
    Absence,
    Admission,
    ChallengeState,
    FinalsFormat,
    FinalsLog,
    MatchState,
    Ranks,
    Role,
    Scope,
    SeasonState,
    VersionState,
)
from league.words import Uncounting

Name = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=32),
    Field(
        description="1 to 32 letters, digits, - and _; upper and lower case do not make a difference.", examples=["ada"]
    ),
]
SeasonName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._+:'()/-]*$", max_length=64)]
Description = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=500),
    Field(description="For people, at most 500 characters.", examples=["Greedy, with a table of all endings."]),
]
DivisionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$", max_length=32)]
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._@+:-]*$", max_length=64)]
Password = Annotated[str, StringConstraints(min_length=10, max_length=256)]
Date = Annotated[AwareDatetime, Field(ge=datetime(2000, 1, 1, tzinfo=UTC), le=datetime(2200, 1, 1, tzinfo=UTC))]
TokenDays = Annotated[int, Field(ge=1, le=3650)]
Limit = Annotated[int, Field(ge=1, le=1000)]
Cursor = Annotated[str, Field(json_schema_extra={"pattern": CURSOR}, description="As `next` of the page before.")]
RowId = Annotated[int, Field(ge=1, le=2**31 - 1)]


_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
PLAIN = f"^[^{_CONTROL}]*$"
"""What every text that people send must be: without control characters, but for tabs and ends of lines. Nobody can see
them, PostgreSQL keeps no NUL, and terminals obey some of them.
"""

UNSEEN = "It has control characters, which nobody can see. Take them out."
_unseen = re.compile(f"[{_CONTROL}]")


def is_plain(text: str) -> bool:
    """Whether it has no control characters (`PLAIN`)."""
    return _unseen.search(text) is None


class Input(BaseModel):
    """What is sent: an unknown field is an error, for it is usually a typing mistake. All text is `PLAIN`.

    In JSON a number is a number: "5", 1 for true and seconds for a date are refused, as the document says. Forms and
    addresses have nothing but text, which pydantic reads as what it stands for.
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _is_of_the_type_it_says(
        cls, given: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        if isinstance(given, dict):
            unseen = [name for name in cls.model_fields if not _is_plain(given.get(name))]
            cls._refuse(unseen, PydanticCustomError("control_characters", UNSEEN))
        if isinstance(given, dict) and info.context is not TEXT:
            wrong = [name for name, field in cls.model_fields.items() if not _fits(field.annotation, given.get(name))]
            cls._refuse(wrong, PydanticCustomError("wrong_type", "This is of another type than the field."))
        return handler(given)

    @classmethod
    def _refuse(cls, names: list[str], kind: PydanticCustomError) -> None:
        if names:
            found = [InitErrorDetails(type=kind, loc=(name,), input=None) for name in names]
            raise ValidationError.from_exception_data(cls.__name__, found)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """With `PLAIN` wherever no other pattern says as much."""
        schema = handler(core)
        for field in handler.resolve_ref_schema(schema).get("properties", {}).values():
            for kind in (field, field.get("items", {}), *field.get("anyOf", ())):
                if kind.get("type") == "string" and not {"enum", "format"} & kind.keys():
                    _say_plain(kind)
        return schema


class Query(Input):
    """What is sent in an address, where all is text."""

    @model_validator(mode="wrap")
    @classmethod
    def _is_of_the_type_it_says(
        cls,
        given: Any,
        handler: ModelWrapValidatorHandler[Self],
        info: ValidationInfo,  # noqa: ARG003  as above
    ) -> Self:
        return handler(given)


def _is_plain(value: Any) -> bool:
    """Whether the texts in a field are; those of a shape in it are that shape's business."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return is_plain(value) if isinstance(value, str) else True


def _say_plain(schema: dict[str, Any]) -> None:
    if not schema.get("pattern", "").startswith("^"):
        other = schema.pop("pattern", None)
        schema["pattern"] = PLAIN
        if other is not None:
            schema["allOf"] = [{"pattern": other}]


TEXT = object()
"""The context in which a form's fields are validated."""

_NUMBERS = (int, float)
_DATES = frozenset({datetime, cast(type, AwareDatetime)})
_DATE = re.compile(r"\d{4}-\d\d-\d\dT")


def _fits(annotation: Any, value: Any) -> bool:
    """Whether a value of JSON is of a type that the annotation has; false only where pydantic would make it one."""
    kinds = _kinds(annotation)
    if isinstance(value, bool):
        return bool in kinds or not kinds & {*_NUMBERS}
    if isinstance(value, _NUMBERS):
        return bool(kinds & {*_NUMBERS}) or not kinds & {bool, *_DATES}
    if isinstance(value, str):
        if kinds & _DATES:
            return _DATE.match(value) is not None
        return str in kinds or not kinds & {bool, *_NUMBERS}
    return True


@cache
def _kinds(annotation: Any) -> frozenset[type]:
    """The plain types of an annotation, looking through `Annotated` and unions; enumerations of text are text."""
    if get_origin(annotation) is Annotated:
        return _kinds(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        return frozenset[type]().union(*map(_kinds, get_args(annotation)))
    if isinstance(annotation, type) and issubclass(annotation, str):
        return frozenset({str})
    return frozenset({annotation} if isinstance(annotation, type) else ())


class Output(BaseModel):
    """What comes back, made from the league's plain values."""

    model_config = ConfigDict(from_attributes=True)


class Problem(BaseModel):
    """RFC 9457. Further members depend on `code`."""

    type: str = Field(examples=["urn:deadheat:problem:not-found"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no season '7'."])
    instance: str = Field(examples=["/v1/seasons/7"])
    code: str = Field(examples=["not-found"])


class SignUp(Input):
    """A new author."""

    name: Name
    password: Password = Field(examples=["correct horse battery staple"])
    code: str = Field(default="", max_length=64, description="The invitation code, where signing up needs one.")


class User(Output):
    """Somebody."""

    id: int
    name: str = Field(examples=["ada"])
    role: Role


class TokenRequest(Input):
    """Asks for a token by name and password."""

    name: Name
    password: Annotated[str, StringConstraints(max_length=256)]
    label: Label = Field(default="token", description="To tell tokens apart later.", examples=["laptop"])
    scope: Scope = Field(
        default=Scope.FULL,
        description="`read`, `submit` (make bots, upload, enter seasons: for an author's CI), `author` (all of an "
        "author's own affairs), `full` (organising too, where one may).",
    )
    days: TokenDays | None = Field(
        default=None, description="Until it expires; null, or more than the deployment allows: as long as that."
    )


class NewToken(Output):
    """A token; the secret is shown this once."""

    id: int
    token: str = Field(examples=["dh_Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgdG9rZW4"])
    scope: Scope
    expires_at: datetime


class Token(Output):
    """A token without its secret."""

    id: int
    label: str
    scope: Scope
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="To the minute.")


class Tokens(Output):
    """All of one's own."""

    items: list[Token]


class BotRequest(Input):
    """A new bot."""

    game: str = Field(max_length=64, examples=["yacht-auction"], json_schema_extra={"enum": [*sorted(GAMES)]})
    name: Name = Field(examples=["greedy"])
    team_id: RowId | None = Field(default=None, description="A team one is in: the bot is then every member's.")


class BotChange(Input):
    """What is to change of a bot."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    team_id: RowId | None = Field(default=None, description="null: nobody's but its maker's.")
    name: Name = Field(default="", examples=["greedy"])
    description: Description = ""
    retired: bool = Field(default=False, description="Whether it leaves its seasons, and the lists; results stay.")
    plays_people: bool = Field(default=True, description="Whether people may play against it.")

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("nothing", "Say what is to change.")
        return self


class Bot(Output):
    """A bot. With a team it is every member's, whoever made it."""

    id: int
    game: str = Field(examples=["yacht-auction"])
    name: str = Field(examples=["greedy"])
    author: str = Field(examples=["ada"])
    team_id: int | None
    team: str | None = Field(examples=["lovelace"])
    plays_people: bool = Field(description="Whether people may play against it, with a version that plays in a season.")
    versions: int
    description: str
    retired_at: datetime | None = Field(description="Since when its author has retired it; null: it is not.")
    created_at: datetime


class Bots(Output):
    """A list of bots."""

    items: list[Bot]


class TeamRequest(Input):
    """A new team, or somebody's name."""

    name: Name = Field(examples=["lovelace"])


class TeamChange(Input):
    """Who is to lead it."""

    captain: Name = Field(examples=["ada"])


class Team(Output):
    """Authors who share bots. `invited` is told to those who are in it or invited."""

    id: int
    name: str = Field(examples=["lovelace"])
    captain: str = Field(examples=["ada"])
    members: list[str]
    invited: list[str]
    created_at: datetime


class Teams(Output):
    """Those that one is in or invited to."""

    items: list[Team]


class Version(Output):
    """One upload and what became of it; poll it until it is `ready` or `broken`."""

    id: int
    bot_id: int
    number: int
    state: VersionState
    filename: str = Field(examples=["bot.py"])
    size_bytes: int
    sha256: str
    language: str = Field(examples=["python"])
    entry: str = Field(examples=["main.py"])
    reason: str = Field(description="Why it is broken, or what we failed at before it is tried again.")
    attempt: int = Field(description="How often a worker took it; more than one means that we failed before.")
    created_at: datetime
    built_at: datetime | None


class Versions(Output):
    """The newest first."""

    items: list[Version]


class BuildTry(Output):
    """A try at building that failed by our doing."""

    at: datetime
    cause: str
    detail: str


class BuildLog(Output):
    """For the author only."""

    log: str
    tries: list[BuildTry]


class DivisionRequest(Input):
    """A part of the field."""

    name: DivisionName = Field(examples=["First"])
    size: Annotated[int, Field(ge=2, le=10_000)] | None = Field(default=None, description="Most entries; null: any.")


class SeasonTerms(Input):
    """What an organiser may set; what is left out stays as it is, or has its default."""

    ranks: Ranks = Field(default=Ranks.PLACEMENT, description="What counts of a table of three and more.")
    seats: int = Field(default=2, ge=2, le=64, description="At a table; by default the fewest that the game has.")
    series_length: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="Matches played in one go; in Liar's Dice whole turns round the table (of 10 at a table of 4: 8).",
    )
    games_per_pair: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Matches of each pair in the whole ladder, rounded like those in one go; null: no bound.",
    )
    opens_at: Date | None = Field(default=None, description="null: opened by hand.")
    freezes_at: Date | None = Field(default=None, description="From then on no entries and no other versions.")
    finals_at: Date | None = Field(default=None, description="null: begun by hand.")
    closes_at: Date | None = Field(default=None, description="null: closed by hand, or by the end of the finals.")
    finals: FinalsFormat = Field(default=FinalsFormat.NONE, description="How they are played.")
    finals_top: int | None = Field(
        default=None, ge=2, le=10_000, description="So many of each division qualify; null: all."
    )
    finals_games: int = Field(default=10, ge=1, le=1000, description="Matches each time that two finalists meet.")
    finals_rounds: int | None = Field(
        default=None, ge=1, le=100, description="Of Swiss finals; null: as many as halving the field to one takes."
    )
    finals_extra_games: int = Field(
        default=0, ge=0, le=1_000_000, description="For each division, to tell neighbours apart after the rounds."
    )
    finals_log: FinalsLog = Field(default=FinalsLog.SEASON, description="Which matches rank the finalists.")
    closes_when_done: bool = Field(default=True, description="The end of the finals closes the season.")
    promoted: int = Field(
        default=0, ge=0, le=1000, description="Bots that change places between neighbouring divisions afterwards."
    )
    admission: Admission = Field(default=Admission.EVERYONE, description="Who may enter.")
    entries_per_author: int | None = Field(
        default=None, ge=1, le=1000, description="That one person has a hand in, alone and in teams."
    )
    teams_only: bool = Field(default=False, description="Only bots of teams may enter.")
    languages: list[Annotated[str, StringConstraints(max_length=32)]] | None = Field(
        default=None, min_length=1, max_length=50, description="null: all that the judge image has."
    )
    uploads_per_hour: int | None = Field(
        default=None, ge=1, le=100_000, description="By one author for bots that take part."
    )
    versions_per_day: int | None = Field(default=None, ge=1, le=100_000, description="Of a bot that takes part.")
    challenge_games: int = Field(
        default=1000, ge=0, le=100_000, description="Most games of a version at a promotion gate; 0: no gates."
    )


class SeasonRequest(SeasonTerms):
    """A new season. With `previous_id` it continues that one: settings, divisions and entries are taken over."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"type": kind}}}
                for name, kind in (("game", "string"), ("previous_id", "integer"))
            ],
            "examples": [{"name": "Winter 2026", "game": "yacht-auction"}],
        }
    )

    name: SeasonName = Field(examples=["Winter 2026"])
    game: str | None = Field(default=None, max_length=64, examples=["yacht-auction"])
    previous_id: RowId | None = Field(default=None, description="A closed season whose standings are published.")
    divisions: list[DivisionRequest] = Field(
        default=[], max_length=20, description="The highest first; empty: a single one of any size."
    )

    @model_validator(mode="after")
    def _has_a_game(self) -> Self:
        if self.game is None and self.previous_id is None:
            raise ValueError("a season needs a game, or a season that it continues")
        return self


class SeasonChange(SeasonTerms):
    """What is to change: the state, settings, or both (settings first)."""

    name: SeasonName | None = None
    state: SeasonState | None = None
    divisions: list[DivisionRequest] | None = Field(
        default=None, max_length=20, description="Until the season opens: the highest first; empty: a single one."
    )
    force: bool = Field(default=False, description="Close it although something in it is open.")


class Progress(Output):
    """How far it is. `counting`: of the matches that are `done`, those that count, so neither voided nor played again
    nor of a bot that is disqualified; `voids`: attempts that we spoiled.
    """

    entries: int
    scheduled: int
    done: int
    counting: int
    held: int = Field(description="Matches at which we failed so often that an organiser is to decide.")
    abandoned: int
    voids: int


class Division(Output):
    """A part of the field; 1 is the highest."""

    number: int
    name: str
    size: int | None
    entries: int


class Plays(Output):
    """What is really played: in Liar's Dice, where everybody has each hand once, whole turns round the table."""

    series_length: int
    games_per_pair: int | None
    finals_games: int


class Season(Output):
    """A season. With `published_at` its standings are final; `log_sha256` names the log that they follow from."""

    id: int
    game: str = Field(examples=["yacht-auction"])
    name: str = Field(examples=["Winter 2026"])
    previous_id: int | None
    state: SeasonState
    ranks: Ranks
    seats: int
    series_length: int
    games_per_pair: int | None
    opens_at: datetime | None
    freezes_at: datetime | None
    finals_at: datetime | None
    closes_at: datetime | None
    finals: FinalsFormat
    finals_top: int | None
    finals_games: int
    finals_rounds: int | None
    finals_extra_games: int
    finals_log: FinalsLog
    closes_when_done: bool
    qualified_at: datetime | None = Field(description="When the finalists were known.")
    finals_done_at: datetime | None
    promoted: int
    admission: Admission
    entries_per_author: int | None
    teams_only: bool
    languages: list[str] | None
    uploads_per_hour: int | None
    versions_per_day: int | None
    challenge_games: int
    plays: Plays
    rounded: str = Field(description="What is played otherwise than set, as a sentence; empty: nothing.")
    created_at: datetime
    divisions: list[Division]
    published_at: datetime | None
    log_sha256: str | None
    dice_commitment: str | None = Field(
        description="SHA-256 of the secret that all dice follow from; null: not open yet, or seeds drawn one by one."
    )
    dice_secret: str | None = Field(description="That secret, hexadecimal; null until the standings are published.")


class Invited(Output):
    """Authors who may enter a season that is not for everyone."""

    items: list[str]


class Unfinished(Output):
    """What is open in a season. `matches` wait; those that run are played to their end whatever happens."""

    appeals: int
    matches: int
    rejudged: int = Field(description="Of the matches, those that an organiser has ordered to be played again.")
    finals: bool = Field(description="There are to be finals, and they are not over.")


class FinalsProgress(Output):
    """How far the finals of a division are. A series is one meeting in a round; further games follow the rounds."""

    division: int
    finalists: int
    round: int = Field(description="The last that has begun.")
    rounds: int
    finished: int = Field(description="Series of the rounds.")
    series: int
    extra_games: int
    extra_left: int


class SeasonDetail(Season):
    """A season with its progress."""

    progress: Progress
    unfinished: Unfinished = Field(description="What closing it by hand now would cut off.")
    waits_for: list[str] = Field(description="If it is due to close and does not, why, in words.")
    finals_progress: list[FinalsProgress] = Field(description="By division, from when the finalists are known.")


class Seasons(Output):
    """The newest first."""

    items: list[Season]


GATE = GateTerms()


class GateRequest(Input):
    """A promotion gate: new versions take over only if a sequential test finds them stronger (docs/authors.md)."""

    elo0: float = Field(default=GATE.elo0, ge=-1000, le=1000, description="Normalised Elo at which a version fails.")
    elo1: float = Field(default=GATE.elo1, ge=-1000, le=1000, description="Normalised Elo at which it passes.")
    alpha: float = Field(default=GATE.alpha, ge=0.001, lt=0.5, description="Share of wrong passes.")
    beta: float = Field(default=GATE.beta, ge=0.001, lt=0.5, description="Share of wrong failures.")
    games: int = Field(default=GATE.games, ge=2, le=100_000, description="Budget; without a verdict by then it fails.")


class EntryRequest(Input):
    """Which version is to play, and what a newer one must do before it does."""

    version: RowId | None = Field(
        default=None, description="null: the newest that is ready, and from then on each newer one once it is ready."
    )
    gate: GateRequest | None = Field(default=None, description="null: no gate; left out: as it is.")


class EntryChange(Input):
    """For organisers."""

    division: RowId


class Entry(Output):
    """A bot in a season."""

    bot_id: int
    bot: str
    author: str
    team: str | None
    version: int
    follows: bool = Field(description="Whether newer versions take over by themselves.")
    division: int
    finals_seed: int | None = Field(description="Its place in the frozen ladder, if it qualified for the finals.")
    gated: bool = Field(description="Whether newer versions must pass a promotion gate.")
    challenger: int | None = Field(description="The version at the gate now.")
    absence: Absence | None = Field(description="null: it takes part.")
    absence_reason: str = Field(description="An organiser's; empty where its author withdrew it.")


class Waiting(Output):
    """How long a bot waits for its next result in a season."""

    playing: int = Field(description="Its matches in series that are being played.")
    planned: int = Field(description="Its matches in series that wait.")
    before: int = Field(description="Matches of others that come before those, of any season.")
    seconds: int | None = Field(
        description="Until its next result: the matches ahead, each as long as its season's took within the last hour, "
        "divided by the series that are played now. null: nothing is being played, or too little has ended."
    )
    over: bool = Field(description="Whether nothing more comes by itself.")
    sentence: str = Field(description="All of it for people.")


class Challenge(Output):
    """A version at an entry's promotion gate; the test ends when `llr` reaches `lower` or `upper`."""

    id: int
    candidate: int
    incumbent: int
    state: ChallengeState
    elo0: float
    elo1: float
    wins: int
    draws: int
    losses: int
    games_limit: int
    llr: float
    lower: float
    upper: float
    reason: str
    created_at: datetime
    ended_at: datetime | None


class Challenges(Output):
    """The newest first."""

    items: list[Challenge]


class Entries(Output):
    """By bot; `next` continues the list."""

    items: list[Entry]
    next: str | None


class Unranked(BaseModel):
    """A version that is nobody's active one, but has games: an earlier one of its bot, or one of a bot that left."""

    bot_id: int
    bot: str
    author: str
    team: str | None
    version_id: int
    version: int
    language: str
    elo: float
    se: float = Field(description="Standard error of the distance to the field.")
    low: float = Field(description="The 95 % interval.")
    high: float
    season_elo: float | None = Field(
        description="Where `elo` follows from the finals alone: from all matches of the season, on everybody's scale."
    )
    season_se: float | None
    plackett_luce: float | None = Field(description="By the other model; null where all tables have two seats.")
    parent_id: int | None = Field(description="The version before it, around which it is thought to be.")
    prior_elo: float | None = Field(description="What the season before left of it; null: it began as a newcomer.")
    prior_sd: float | None = Field(
        description="Its deviation; with a parent, null but for a version that passed a promotion gate."
    )
    games: int
    bot_games: int = Field(description="With those of the bot's other versions.")
    wins: int = Field(description="Over the others at each table; where wins are ranked, tables won.")
    draws: int
    losses: int
    timeouts: int
    other_faults: int


class Standing(Unranked):
    """One line of the leaderboard: a bot by its active version. Ratings are on the Elo scale."""

    rank: int | None = Field(
        description="Within its division; equal for ratings that are equal in whole Elo; null: it has not played."
    )
    tied: bool
    rank_low: int | None = Field(description="The better end of the 95 % interval of its place.")
    rank_high: int | None
    gap_se: float | None = Field(description="Standard error of the distance to the next place.")
    division: int
    finalist: bool = Field(description="Finalists come before all others of their division.")


class RatingFit(BaseModel):
    """How well one number for each bot describes the results."""

    chi2_per_dof: float | None = Field(description="Near 1 if it does; well above if some bots suit others.")
    degrees: int
    dispersion: float = Field(description="Variance of results over that without draws.")
    cyclic_share: float | None = Field(description="Of the triads: rock, paper, scissors. Coins make a quarter.")
    triads: int


class SeatEffect(BaseModel):
    """Elo that each seat adds at tables of this size, by seat."""

    seats: int
    tables: int
    elo: list[float]
    se_elo: list[float]


class PairTable(BaseModel):
    """Results of the first of the ranking: of `games[i][j]` against j, i won `points[i][j]`, draws as halves."""

    version_ids: list[int]
    games: list[list[int]]
    points: list[list[float]]


class Totals(BaseModel):
    """Over the whole season, at the time of the ranking."""

    rated: int
    matches: int
    abandoned: int
    voids: int
    causes: dict[str, int] = Field(default_factory=dict, description="Why attempts at matches were void.")
    timeouts: int
    other_faults: int


class LimitUse(BaseModel):
    """`p99`: what 99 of 100 answers used of their limit at most."""

    p99: float | None
    bars: list[int] = Field(
        description="How the answers spread: up to 1/1024 of the limit, 1/512, ... 1, above; the fullest is 9."
    )


class Leaderboard(BaseModel):
    """A ranking as it was computed; `log_sha256` names the log it follows from. `final`: published for good."""

    season_id: int
    snapshot_id: int | None
    final: bool
    created_at: datetime | None
    log_sha256: str | None
    config: dict[str, Any]
    rows: list[Standing]
    unranked: list[Unranked]
    totals: Totals | None
    fit: RatingFit | None
    seats: list[SeatEffect]
    pairs: PairTable | None
    latency: dict[str, LimitUse] = Field(
        default_factory=dict, description="By version: response times as shares of their limits."
    )
    rules: list[int] = Field(default=[], description="Versions of the game's rules under which it was played.")


class FaultView(Output):
    """Where and why a seat failed; `elapsed_ms` is its own time."""

    fault: Fault
    command: str
    elapsed_ms: float | None
    why: str


class SeatView(Output):
    """Who sat where. `points` is a whole number or a fraction "p/q"; null where there are no honest ones."""

    seat: int
    bot_id: int
    bot: str
    author: str
    version: int
    player: str | None = Field(
        description="As its transcript names it: a bot may have been renamed since. Null before it is played."
    )
    rank: int | None
    points: str | None
    fault: FaultView | None


class Uncounted(Output):
    """Why a match that is done does not count."""

    cause: Uncounting
    sentence: str
    rejudged_id: int | None = Field(description="The match that is played in its place.")


class Match(Output):
    """One playing. The commitment, SHA-256(seed), is published from the start; seed and transcript once this match and
    all others with the same dice are over.
    """

    id: int
    season_id: int
    series_id: int
    game: str
    state: MatchState
    rated: bool
    commitment: str
    seed: str | None
    deal: int | None = Field(
        description="The seed's number among those that follow from the season's secret; null: it was drawn by itself."
    )
    attempt: int = Field(description="Which seed of the list that `seed` stands for it was played with, or is to be.")
    transcript_sha256: str | None
    created_at: datetime
    finished_at: datetime | None
    seats: list[SeatView]
    uncounted: Uncounted | None = Field(description="null: it is in the log of results, or not done.")
    repeats_id: int | None = Field(description="The match that was ruled out and in whose place this one is played.")


class Matches(Output):
    """The newest first; `next` continues the list."""

    items: list[Match]
    next: str | None


class AttemptView(Output):
    """One try: "played", or why it is void, with the evidence. `match_id` null: it befell the whole series."""

    match_id: int | None
    seed_number: int | None = Field(description="Which seed of the match's list; null: none, or from before 2026-11.")
    machine: int | None = Field(description="Its number, as in the export.")
    cause: str
    detail: str
    seat: int | None = Field(description="The seat that was to answer when it failed.")
    evidence: dict[str, Any]
    started_at: datetime | None
    finished_at: datetime


class LatencyView(Output):
    """Response times of one seat to one command: its own time, without what the host took."""

    seat: int
    command: str
    limit_ns: int
    prompts: int
    mean_ns: int
    worst_ns: int


class MatchDetail(Match):
    """A match with its ledger and its response times."""

    not_played: str = Field(description="Why it was abandoned; empty: it was not.")
    attempts: list[AttemptView]
    latencies: list[LatencyView]


class HeldMatches(Output):
    """Matches that wait for an organiser."""

    items: list[MatchDetail]


class EndingView(Output):
    """How one's own bot's process ended."""

    seat: int
    bot: str
    version: int
    exit_code: int | None
    signal: int | None
    lingered: bool
    stderr: str
    cpu_ns: int | None
    peak_memory_bytes: int | None


class Endings(Output):
    """One for each of one's own bots in the match."""

    items: list[EndingView]


class Game(BaseModel):
    """A game that can be played."""

    name: str = Field(examples=["yacht-auction"])
    rules_version: int
    seats_min: int
    seats_max: int


class Games(BaseModel):
    """All of them."""

    items: list[Game]


class JudgeImage(BaseModel):
    """The image that bots are built and run in."""

    name: str = Field(examples=["deadheat/judge:core"])
    id: str
    recipe: str = Field(description="Hash of what deploy/images/build made it from; equal recipes, equal packages.")
    created_at: datetime
    size_bytes: int


class Language(BaseModel):
    """One language, with the commands for a bot that starts with the usual file."""

    name: str = Field(description="For deadheat.toml.", examples=["cpp"])
    title: str = Field(examples=["C++ 20"])
    version: str = Field(description="What its tools say.", examples=["g++ (Debian 12.2.0-14) 12.2.0"])
    suffixes: list[str] = Field(description="Of a single file; none: by deadheat.toml only.", examples=[[".cpp"]])
    entries: list[str] = Field(description="One of these is at the root of a zip.", examples=[["main.cpp", "*.cpp"]])
    build: str
    run: str


class RunLimits(BaseModel):
    """What a bot has in a match. There is no network, and nothing is writable but /tmp."""

    cpus: int
    memory_bytes: int
    processes: int = Field(description="With threads.")
    tmp_bytes: int
    tmp_files: int
    open_files: int
    file_bytes: int
    line_bytes: int
    stderr_bytes: int = Field(description="Kept of one match.")


class BuildLimits(BaseModel):
    """What a build has. There is no network."""

    seconds: int
    memory_bytes: int
    processes: int
    scratch_bytes: int
    program_bytes: int
    log_bytes: int


class UploadLimits(BaseModel):
    """What may be sent."""

    upload_bytes: int
    unpacked_bytes: int
    unpacked_files: int


class Environment(BaseModel):
    """The judging environment. `described_at`: when a worker last found all of it true."""

    image: JudgeImage
    cpu: str
    languages: list[Language]
    missing: list[str] = Field(description="Languages that Deadheat knows and this image lacks.")
    running: RunLimits
    building: BuildLimits
    uploads: UploadLimits
    described_at: datetime

    @classmethod
    def of(cls, found: EnvironmentInfo, settings: Settings) -> Self:
        """A worker's description, and what the API itself bounds."""
        uploads = UploadLimits(
            upload_bytes=settings.upload_limit_bytes,
            unpacked_bytes=settings.unpacked_limit_bytes,
            unpacked_files=settings.unpacked_limit_files,
        )
        return cls.model_validate({**found.document, "uploads": uploads, "described_at": found.described_at})


class Readiness(BaseModel):
    """Whether each part can be reached; a sentence where not."""

    database: str = Field(examples=["ok"])
    blobs: str = Field(examples=["ok"])
    broker: str = Field(examples=["ok"])
