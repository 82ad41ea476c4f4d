"""A season's settings. Each is declared once, here, and everything else follows from the declaration.

`Terms` gives each setting's type and bounds, default, meaning, label in forms, and the last state in which it may
change. From that follow the columns and checks of `league.tables.Season`, the shapes of HTTP, the organisers' form,
`deadheat season settings`, its place in a season's file (`league.season_file`), what the next season inherits, and the
export. The column needs a migration.

This module is pure, so the command line can use it without the database library.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from types import NoneType
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, Field, StringConstraints
from pydantic.fields import FieldInfo

from deadheat.engine.games.variants import WORD
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.states import (
    Admission,
    FinalsFormat,
    FinalsLog,
    Players,
    Ranks,
    SeasonState,
    SourcesFrom,
    TranscriptsFrom,
)

Date = Annotated[AwareDatetime, Field(ge=datetime(2000, 1, 1, tzinfo=UTC), le=datetime(2200, 1, 1, tzinfo=UTC))]


FILLERS = "\u115f\u1160\u3164\uffa0"
"""Hangul letters that show nothing."""

_Composed = BeforeValidator(lambda name: unicodedata.normalize("NFC", name) if isinstance(name, str) else name)
"""A validator that composes names, since they are compared and measured in that form."""


def _named(marks: str, name: str) -> str:
    """Return a name. Raises ValueError at the first character that is neither a letter or digit of any language nor one
    of `marks`. The first character must be a letter or digit.
    """
    for at, char in enumerate(name):
        kind = unicodedata.category(char)[0]
        unfit = char in FILLERS or len(char.lower()) > 1  # its key would be too long for its column
        if unfit or (kind not in "LN" and (not at or (kind != "M" and char not in marks))):
            has = "It contains" if at else "It begins with"
            raise ValueError(
                f"{has} {char!r}. Use letters, digits, spaces and {marks.strip()}; begin with a letter or digit."
            )
    return name


SeasonName = Annotated[
    str, StringConstraints(min_length=1, max_length=64), _Composed, AfterValidator(partial(_named, " ,.!&_+:'()/-"))
]

DivisionName = Annotated[
    str, StringConstraints(min_length=1, max_length=32), _Composed, AfterValidator(partial(_named, " ._-"))
]

DivisionSize = Annotated[int, Field(ge=2, le=10_000)]

MAX_DIVISIONS = 20

PANEL_BOT = r"^[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9][A-Za-z0-9_-]*$"
"""A bot in a panel: the name of its author or team, and its own."""


ELO = r"^-?[0-9]{1,4}(\.[0-9]{1,3})?$"
"""A bound of a test, in normalised Elo."""

_OPTION = r"( (rounds|matches|keep|further)=[1-9][0-9]{0,4}| ties=[a-z_+]+| third-place)"
STAGE = rf"^({'|'.join(EvaluationFormat)}){_OPTION}*$"
"""A stage of the finals (`league.pairing.notation`)."""

MOST_STAGES = 20


class Group(StrEnum):
    """Groups of settings. The values are the form's headings; the names in lower case are a file's tables."""

    MATCHES = "Matches"
    DATES = "Dates, in UTC"
    FINALS = "Qualification and finals"
    ENTRY = "Who may enter"
    QUOTAS = "Quotas and gates"
    PUBLIC = "Public"


@dataclass(frozen=True, slots=True)
class Setting:
    """Everything about a setting except its type, bounds, default and meaning.

    `until` is the last state of a season in which it may change: the ladder's rules are fixed before it begins, the
    finals' before they begin. `options` are the labels of a choice, by value. A change of a setting with `ranked_by`
    requires a new ranking. `in_words`: the season's page has a sentence for it, and does not list it.
    """

    group: Group
    label: str
    until: SeasonState = SeasonState.FROZEN
    options: Mapping[str, str] = field(default_factory=dict)
    ranked_by: bool = False
    in_words: bool = False


class Terms(BaseModel, use_attribute_docstrings=True):
    """An organiser's settings. Those left out stay as they are; in a new season they have their defaults."""

    variant: Annotated[
        list[Annotated[str, StringConstraints(pattern=WORD, max_length=42)]] | None,
        Field(min_length=1, max_length=20),
        Setting(Group.MATCHES, "Variant of the game", SeasonState.SCHEDULED),
    ] = None
    """Numbers that this season sets differently from the game's rules, such as "dice=3"; null: none."""

    players: Annotated[
        Players,
        Setting(
            Group.MATCHES,
            "Who plays",
            SeasonState.SCHEDULED,
            options={
                "programs": "programs that authors upload",
                "agents": "agents, which play over HTTP when they ask for a match",
            },
        ),
    ] = Players.PROGRAMS
    """Who plays: uploaded programs, or agents that answer over HTTP at tables for which they queue."""

    move_seconds: Annotated[
        int, Field(ge=5, le=300), Setting(Group.MATCHES, "Seconds for an agent's move", SeasonState.SCHEDULED)
    ] = 30
    """Seconds for a move in a season of agents, besides one for the network."""

    ranks: Annotated[
        Ranks,
        Setting(
            Group.MATCHES,
            "What counts with three or more seats",
            SeasonState.SCHEDULED,
            options={"placement": "every place", "wins": "only the win"},
            ranked_by=True,
        ),
    ] = Ranks.PLACEMENT
    """What counts at tables of three or more."""

    seats: Annotated[int, Field(ge=2, le=64), Setting(Group.MATCHES, "Seats at a table", SeasonState.SCHEDULED)] = 2
    """Seats at a table; by default the fewest that the game allows."""

    series_length: Annotated[int, Field(ge=1, le=1000), Setting(Group.MATCHES, "Matches per series")] = 10
    """Matches played in one go. If each deal is played from every seat, only whole turns: of 10 with four seats, 8."""

    ladder: Annotated[
        bool,
        Setting(
            Group.MATCHES,
            "The ladder",
            options={"true": "is played", "false": "is not played: only evaluations and finals are"},
        ),
    ] = True
    """Whether the ladder is played, beside evaluations and finals."""

    games_per_pair: Annotated[int | None, Field(ge=1, le=1_000_000), Setting(Group.MATCHES, "Matches per pair")] = None
    """Matches per pair in the whole ladder, rounded like `series_length`; null: unlimited."""

    rest_faults: Annotated[
        int | None, Field(ge=1, le=1000), Setting(Group.MATCHES, "Faults after which a bot rests")
    ] = None
    """Faults in its last `rest_matches` matches after which a bot rests until its author lets it play; null: never."""

    rest_matches: Annotated[int, Field(ge=1, le=1000), Setting(Group.MATCHES, "Counted over its last matches")] = 20
    """How many of a bot's last matches `rest_faults` looks at."""

    ladder_during_evaluations: Annotated[
        bool,
        Setting(
            Group.MATCHES,
            "The ladder while an evaluation is played",
            SeasonState.FINALS,
            options={"true": "continues on free machines", "false": "waits"},
        ),
    ] = True
    """Whether the ladder continues on free machines while an evaluation is played."""

    opens_at: Annotated[Date | None, Setting(Group.DATES, "Opens", SeasonState.SCHEDULED)] = None
    """Opening date; null: manual."""

    freezes_at: Annotated[Date | None, Setting(Group.DATES, "Freezes")] = None
    """Freezing date, after which entries and versions are fixed; null: manual."""

    finals_at: Annotated[Date | None, Setting(Group.DATES, "Finals begin")] = None
    """Start of the finals; null: manual."""

    closes_at: Annotated[Date | None, Setting(Group.DATES, "Closes", SeasonState.FINALS)] = None
    """Closing date; null: manual, or at the end of the finals."""

    finals: Annotated[
        FinalsFormat,
        Setting(
            Group.FINALS,
            "Finals",
            options={
                "none": "none: the ladder decides",
                "round-robin": "everybody meets everybody",
                "swiss": "Swiss rounds",
                "stages": "stages, as declared below",
            },
        ),
    ] = FinalsFormat.NONE
    """How the finals are played."""

    stages: Annotated[
        list[Annotated[str, StringConstraints(pattern=STAGE, max_length=200)]] | None,
        Field(min_length=1, max_length=MOST_STAGES),
        Setting(Group.FINALS, "Stages"),
    ] = None
    """Stages of the finals, such as "swiss rounds=50 keep=100", "round-robin matches=6"; null: none."""

    finals_top: Annotated[int | None, Field(ge=2, le=10_000), Setting(Group.FINALS, "How many qualify")] = None
    """How many of each division qualify; null: all."""

    finals_games: Annotated[int, Field(ge=1, le=1000), Setting(Group.FINALS, "Matches per meeting")] = 10
    """Matches per meeting of two finalists."""

    finals_rounds: Annotated[int | None, Field(ge=1, le=100), Setting(Group.FINALS, "Swiss rounds")] = None
    """Rounds of Swiss finals; null: as many as a knockout takes."""

    finals_extra_games: Annotated[
        int, Field(ge=0, le=1_000_000), Setting(Group.FINALS, "Extra matches", SeasonState.FINALS)
    ] = 0
    """Extra matches per division, to tell neighbours apart after the rounds."""

    finals_log: Annotated[
        FinalsLog,
        Setting(
            Group.FINALS,
            "What ranks the finalists",
            options={"season": "all matches of the season", "finals": "only the finals"},
            ranked_by=True,
        ),
    ] = FinalsLog.SEASON
    """Which matches rank the finalists."""

    closes_when_done: Annotated[
        bool,
        Setting(
            Group.FINALS,
            "When the finals are over",
            SeasonState.FINALS,
            options={"true": "the season closes", "false": "it is closed by date or manually"},
        ),
    ] = True
    """Whether the season closes when its finals are over."""

    promoted: Annotated[int, Field(ge=0, le=1000), Setting(Group.FINALS, "Promoted bots", SeasonState.FINALS)] = 0
    """How many bots swap places between neighbouring divisions in the season that continues this one."""

    admission: Annotated[
        Admission,
        Setting(
            Group.ENTRY,
            "Admission",
            options={"everyone": "everyone", "invited": "invited authors", "nobody": "nobody: organisers enter bots"},
        ),
    ] = Admission.EVERYONE
    """Who may enter."""

    entries_per_author: Annotated[int | None, Field(ge=1, le=1000), Setting(Group.ENTRY, "Entries per author")] = None
    """Entries per author, alone and in teams; null: unlimited."""

    teams_only: Annotated[
        bool, Setting(Group.ENTRY, "Owners of bots", options={"false": "anybody", "true": "teams only"})
    ] = False
    """Whether only bots of teams may enter."""

    languages: Annotated[
        list[Annotated[str, StringConstraints(max_length=32)]] | None,
        Field(min_length=1, max_length=50),
        Setting(Group.ENTRY, "Languages"),
    ] = None
    """Languages that bots may use; null: all that the judge image has."""

    upload_kib: Annotated[
        int | None, Field(ge=1, le=1_000_000), Setting(Group.ENTRY, "Largest upload that may enter, in KiB")
    ] = None
    """The largest upload, in KiB, of a version that may enter; null: whatever the deployment accepts."""

    panel: Annotated[
        list[Annotated[str, StringConstraints(pattern=PANEL_BOT, max_length=65)]] | None,
        Field(min_length=1, max_length=50),
        Setting(Group.ENTRY, "Panel of sample bots", in_words=True),
    ] = None
    """Bots, as AUTHOR/BOT or TEAM/BOT, that each new version plays as soon as it is ready; null: none."""

    panel_games: Annotated[
        int, Field(ge=1, le=1000), Setting(Group.ENTRY, "Matches against each of them", in_words=True)
    ] = 2
    """Unrated matches of a version against each bot of the panel, from both sides in turn."""

    panel_minimum: Annotated[
        int | None, Field(ge=0, le=50_000), Setting(Group.ENTRY, "Points needed against the panel", in_words=True)
    ] = None
    """Points that a version needs against the panel to play for its bot (a win 1, a draw ½); null: none."""

    panel_test: Annotated[
        list[Annotated[str, StringConstraints(pattern=ELO, max_length=10)]] | None,
        Field(min_length=2, max_length=2),
        Setting(Group.ENTRY, "Test against the panel", in_words=True),
    ] = None
    """Instead of points: ELO0,ELO1 of a sequential test that a version must pass to play for its bot; null: none."""

    uploads_per_hour: Annotated[
        int | None, Field(ge=1, le=100_000), Setting(Group.QUOTAS, "Uploads per author per hour")
    ] = None
    """Uploads per author per hour, for bots that take part; null: the deployment's quota."""

    uploads_per_five_minutes: Annotated[
        int | None, Field(ge=1, le=100_000), Setting(Group.QUOTAS, "Uploads per author in five minutes")
    ] = None
    """Uploads per author in five minutes, for bots that take part; further uploads wait; null: unlimited."""

    versions_per_day: Annotated[
        int | None, Field(ge=1, le=100_000), Setting(Group.QUOTAS, "Versions per bot per day")
    ] = None
    """Versions per day of a bot that takes part; null: the deployment's quota."""

    challenge_games: Annotated[int, Field(ge=0, le=100_000), Setting(Group.QUOTAS, "Matches at a promotion gate")] = (
        1000
    )
    """The most matches of a version at a promotion gate; 0: no gates."""

    unrated_games: Annotated[
        int, Field(ge=0, le=100_000), Setting(Group.QUOTAS, "Unrated matches per author per day")
    ] = 20
    """Unrated matches that an author may ask for in a day, against any bot that plays; 0: none."""

    transcripts: Annotated[
        TranscriptsFrom,
        Setting(
            Group.PUBLIC,
            "Transcripts are public",
            SeasonState.SCHEDULED,
            options={"played": "as matches are played", "closed": "once the final standings are published"},
        ),
    ] = TranscriptsFrom.PLAYED
    """When the moves of matches are public: as they are played, or once the final standings are published."""

    sources: Annotated[
        SourcesFrom,
        Setting(
            Group.PUBLIC,
            "Sources are public",
            SeasonState.SCHEDULED,
            options={"never": "never", "closed": "once the final standings are published"},
        ),
    ] = SourcesFrom.NEVER
    """When the sources of versions that played are public: never, or once the final standings are published."""


@dataclass(frozen=True, slots=True)
class Term:
    """A setting as listed in `TERMS`.

    `kind` is `int`, `bool`, `datetime`, `list` or an enumeration; `optional`: it may be none. `least` and `most` bound
    a number. `meaning` calls that null, as JSON does.
    """

    name: str
    kind: type
    optional: bool
    default: Any
    least: int | None
    most: int | None
    meaning: str
    setting: Setting

    @property
    def path(self) -> str:
        """Its place in a season's file, such as `dates.opens_at`."""
        return f"{self.setting.group.name.lower()}.{self.name}"

    @property
    def words(self) -> str:
        """Its description in commands and files, on one line, with "none" for null and the words of a choice."""
        choices = f" One of: {', '.join(self.kind)}." if issubclass(self.kind, StrEnum) else ""
        return " ".join(self.meaning.split()).replace("null", "none") + choices

    def may_change(self, state: SeasonState) -> bool:
        """Return whether it may still change in a season of that state."""
        return not state.is_after(self.setting.until)


def _term(name: str, info: FieldInfo) -> Term:
    (setting,) = (note for note in info.metadata if isinstance(note, Setting))
    kinds = get_args(info.annotation) if NoneType in get_args(info.annotation) else (info.annotation,)
    return Term(
        name=name,
        kind=datetime if setting.group is Group.DATES else getattr(kinds[0], "__origin__", kinds[0]),
        optional=NoneType in kinds,
        default=info.default,
        least=next((note.ge for note in info.metadata if hasattr(note, "ge")), None),
        most=next((note.le for note in info.metadata if hasattr(note, "le")), None),
        meaning=info.description or "",
        setting=setting,
    )


TERMS: Mapping[str, Term] = {name: _term(name, info) for name, info in Terms.model_fields.items()}
"""All settings by name, in order."""

DATES = tuple(name for name, term in TERMS.items() if term.kind is datetime)
"""A season's dates, in their required order. If one is None, the step is manual or does not happen."""
