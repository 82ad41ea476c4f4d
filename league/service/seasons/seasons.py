"""Seasons: what an organiser sets, and as long as it may change. How they go from state to state is in
`league.service.course.states`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import TypedDict, Unpack

from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, func, select

from engine.chance import commitment
from engine.games import GAMES
from league.database import now
from league.errors import BadSetting, NameTaken, NotFound, UnknownGame, WrongState
from league.service.ground.audit import record
from league.service.ground.counting import HAS_RESULTS, counts
from league.service.ground.steps import lock_season, touch_log
from league.service.people.person import Person
from league.service.people.teams import owned_by
from league.service.people.users import existing_user
from league.service.seasons.admission import take_over_list
from league.service.seasons.divisions import DivisionInfo, carry_over, divisions_of, make_divisions
from league.service.series.planning import whole_groups
from league.states import WITH_RESULT, Admission, FinalsFormat, FinalsLog, MatchState, Ranks, SeasonState
from league.tables import DATES, Attempt, Bot, Entry, Match, RatingSnapshot, Season
from sandbox.languages import LANGUAGES


class SeasonSettings(TypedDict, total=False):
    """What an organiser sets, beside game and name; what is left out has the default of `league.tables.Season`."""

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
    promoted: int
    admission: Admission
    entries_per_author: int | None
    teams_only: bool
    languages: list[str] | None
    uploads_per_hour: int | None
    versions_per_day: int | None
    challenge_games: int


_ORDER = tuple(SeasonState)
"""States in the order in which a season comes through them."""

CHANGEABLE_UNTIL: Mapping[str, SeasonState] = {
    **dict.fromkeys(("ranks", "seats", "opens_at"), SeasonState.SCHEDULED),
    **dict.fromkeys(("series_length", "games_per_pair", "freezes_at", "finals_at"), SeasonState.FROZEN),
    **dict.fromkeys(("finals", "finals_top", "finals_games", "finals_rounds", "finals_log"), SeasonState.FROZEN),
    **dict.fromkeys(("finals_extra_games", "closes_when_done", "closes_at", "promoted"), SeasonState.FINALS),
    **dict.fromkeys(("admission", "entries_per_author", "teams_only", "languages"), SeasonState.FROZEN),
    **dict.fromkeys(("uploads_per_hour", "versions_per_day", "challenge_games"), SeasonState.FROZEN),
}
"""The last state in which each setting may still change. How a ladder is ranked is settled before it begins, how the
finals are played before they begin."""

RANKED_BY = frozenset(("ranks", "finals_log"))
"""Settings that a ranking depends on: once one has changed, another ranking is due."""

INHERITED = frozenset(SeasonSettings.__annotations__) - frozenset(DATES)
"""Settings that a season takes from the one before it, unless they are given."""


@dataclass(frozen=True, slots=True)
class SeasonInfo:
    """A season as everyone sees it. `log_sha256`: of the published standings' log; None: there are none yet.

    `dice_commitment`: SHA-256 of the secret that all its dice follow from; None: it is yet to open, or its seeds are
    drawn one by one. `dice_secret` (hexadecimal): the secret itself; None until the standings are published.
    """

    id: int
    game: str
    name: str
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
    qualified_at: datetime | None
    finals_done_at: datetime | None
    promoted: int
    admission: Admission
    entries_per_author: int | None
    teams_only: bool
    languages: list[str] | None
    uploads_per_hour: int | None
    versions_per_day: int | None
    challenge_games: int
    created_at: datetime
    divisions: tuple[DivisionInfo, ...]
    published_at: datetime | None
    log_sha256: str | None
    dice_commitment: str | None
    dice_secret: str | None

    @property
    def plays(self) -> Plays:
        """What is really played."""
        whole = partial(whole_groups, self.game, self.seats)
        pair = None if self.games_per_pair is None else whole(self.games_per_pair)
        return Plays(whole(self.series_length), pair, whole(self.finals_games))

    @property
    def rounded(self) -> str:
        """What of these numbers is played otherwise than it is set, as a sentence; empty: nothing is."""
        numbers = {"series_length": "in one go", "games_per_pair": "of each pair"}
        if self.finals is not FinalsFormat.NONE:
            numbers["finals_games"] = "at each meeting in the finals"
        told = [
            f"{getattr(self.plays, name)} {words}, not {getattr(self, name)}"
            for name, words in numbers.items()
            if getattr(self.plays, name) != getattr(self, name)
        ]
        if not told:
            return ""
        return f"Each deal is played once from each of the {self.seats} seats, so there are {'; '.join(told)}."


@dataclass(frozen=True, slots=True)
class Plays:
    """Numbers of matches as they are played: where everybody has each hand once, whole turns round the table."""

    series_length: int
    games_per_pair: int | None
    finals_games: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a season is. `counting`: of the matches that are `done`, those that count
    (`league.service.ground.counting`); `held`: those that wait for an organiser; `voids`: attempts at matches that we
    spoiled.
    """

    entries: int
    scheduled: int
    done: int
    counting: int
    held: int
    abandoned: int
    voids: int


def create_season(
    session: Session,
    organiser: Person,
    *,
    name: str,
    game: str | None = None,
    previous_id: int | None = None,
    divisions: Sequence[tuple[str, int | None]] = (),
    **settings: Unpack[SeasonSettings],
) -> SeasonInfo:
    """A scheduled season. With `previous_id` it continues one whose standings are published: its settings, divisions
    and entries are taken over, and bots change divisions.

    `divisions`: names and sizes, the highest first; none: a single one of any size.

    Raises:
        NotAllowed, UnknownGame, NameTaken, BadSetting.
        NotFound, WrongState: about the previous season.
    """
    organiser.must_organise()
    previous = None if previous_id is None else _published(session, previous_id)
    if previous is not None:
        if divisions:
            raise BadSetting("divisions", "a season that continues another has that one's")
        game = game or previous.game
        if game != previous.game:
            raise BadSetting("game", f"the previous season is of {previous.game}")
        settings = {**_settings_of(previous), **settings}
    if game is None or game not in GAMES:
        raise UnknownGame(game or "", tuple(sorted(GAMES)))
    settings.setdefault("seats", GAMES[game].seats.start)
    row = Season(
        game=game, name=name, name_key=name.lower(), previous_id=previous_id, created_at=now(session), **settings
    )
    _check(row)
    session.add(row)
    _flush_named(session, row)
    make_divisions(session, row.id, divisions, previous_id)
    if previous is not None:
        take_over_list(session, previous.id, row.id)
        carry_over(session, previous, row)
    record(
        session, organiser.name, "season-created", f"season/{row.id}", _noted({"game": game, "name": name, **settings})
    )
    return season_info(session, row.id)


def edit_season(
    session: Session,
    organiser: Person,
    season_id: int,
    *,
    name: str | None = None,
    **settings: Unpack[SeasonSettings],
) -> SeasonInfo:
    """Change what may still be changed.

    Raises:
        NotAllowed, NotFound, NameTaken, BadSetting.
    """
    organiser.must_organise()
    row = lock_season(session, season_id)
    renamed = {"name": name} if name is not None and name != row.name else {}
    if name is not None:
        row.name, row.name_key = name, name.lower()
    before = {setting: getattr(row, setting) for setting in settings}
    changed = {setting: value for setting, value in settings.items() if before[setting] != value}
    for setting, value in changed.items():
        last = CHANGEABLE_UNTIL[setting]
        if _ORDER.index(row.state) > _ORDER.index(last):
            raise BadSetting(setting, f"it cannot be changed any more, for the season is {row.state.value}")
        setattr(row, setting, value)
    _check(row)
    _flush_named(session, row)
    if renamed or changed:
        record(session, organiser.name, "season-edited", f"season/{season_id}", _noted({**renamed, **changed}))
    if not RANKED_BY.isdisjoint(changed):
        touch_log(session, season_id)
    return season_info(session, season_id)


def seasons(
    session: Session,
    limit: int = 200,
    *,
    game: str | None = None,
    before: int | None = None,
    author: str | None = None,
    with_results: bool = False,
) -> list[SeasonInfo]:
    """The newest seasons first, those with an id below `before`; of one game, or (None) of all. `author`: those that a
    bot of theirs, or of a team of theirs, has entered. Raises NotFound: there is no such author.
    """
    statement = select(Season).order_by(col(Season.id).desc()).limit(limit)
    if game is not None:
        statement = statement.where(Season.game == game)
    if before is not None:
        statement = statement.where(Season.id < before)
    if author is not None:
        theirs = select(Entry.season_id).join(Bot, col(Bot.id) == Entry.bot_id)
        statement = statement.where(col(Season.id).in_(theirs.where(owned_by(existing_user(session, author)))))
    if with_results:
        statement = statement.where(HAS_RESULTS)
    return _views(session, session.exec(statement).all())


def season_info(session: Session, season_id: int) -> SeasonInfo:
    """Raises NotFound."""
    return _views(session, [_season(session, season_id)])[0]


def season_progress(session: Session, season_id: int) -> Progress:
    """Counts over the whole season; the API keeps them for a moment."""
    entries = session.exec(select(func.count()).select_from(Entry).where(Entry.season_id == season_id)).one()
    by_state = select(Match.state, func.count()).where(Match.season_id == season_id).group_by(col(Match.state))
    matches = {str(state): count for state, count in session.exec(by_state)}
    counting = session.exec(select(func.count()).select_from(Match).where(*counts(season_id))).one()
    void = (Attempt.season_id == season_id, Attempt.cause != "played", col(Attempt.match_id).is_not(None))
    voids = session.exec(select(func.count()).select_from(Attempt).where(*void)).one()
    return Progress(
        entries=entries,
        scheduled=matches.get("scheduled", 0),
        done=sum(matches.get(state, 0) for state in WITH_RESULT),
        counting=counting,
        held=matches.get("held", 0),
        abandoned=matches.get("abandoned", 0),
        voids=voids,
    )


def season_waiting(session: Session, season_id: int) -> tuple[int, int, int]:
    """How many entries there are, how many matches to come and how many are held; what has been played is counted with
    each ranking.
    """
    entries = select(func.count()).select_from(Entry).where(Entry.season_id == season_id)
    of_it = select(func.count()).select_from(Match).where(Match.season_id == season_id)
    waiting, held = (of_it.where(Match.state == state) for state in (MatchState.SCHEDULED, MatchState.HELD))
    return session.exec(entries).one(), session.exec(waiting).one(), session.exec(held).one()


def _check(row: Season) -> None:
    """Whether a season can be run like this. Raises BadSetting."""
    seats = GAMES[row.game].seats
    if row.seats not in seats:
        raise BadSetting("seats", f"{row.game} is played by {seats.start} to {seats.stop - 1}")
    unknown = sorted(set(row.languages or ()) - set(LANGUAGES))
    if unknown:
        raise BadSetting("languages", f"{', '.join(unknown)} is none; there is {', '.join(sorted(LANGUAGES))}")
    if row.languages is not None and not row.languages:
        raise BadSetting("languages", "nobody could enter")
    given = [(date, getattr(row, date)) for date in DATES if getattr(row, date) is not None]
    for (earlier, first), (later, then) in pairwise(given):
        if first >= then:
            raise BadSetting(later, f"it must come after {earlier}")
    if row.finals is FinalsFormat.ROUND_ROBIN and row.seats > 2:
        raise BadSetting("finals", "a round robin is for two at a table; choose swiss")
    if row.finals_at is not None and row.finals is FinalsFormat.NONE:
        raise BadSetting("finals_at", "this season has no finals; choose how they are played")


def _settings_of(row: Season) -> SeasonSettings:
    kept: SeasonSettings = {}
    for setting in INHERITED:
        kept[setting] = getattr(row, setting)  # type: ignore[literal-required]  # they are the names of its keys
    return kept


def _noted(values: Mapping[str, object]) -> dict[str, object]:
    """Settings as the audit log keeps them."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def _published(session: Session, season_id: int) -> Season:
    row = _season(session, season_id)
    if _finals(session, [season_id]).get(season_id) is None:
        raise WrongState.of_season(row.state, "another can follow it once it is closed and its standings are published")
    return row


def _flush_named(session: Session, row: Season) -> None:
    name = row.name  # which a refused statement leaves unreadable
    try:
        session.flush()
    except IntegrityError as error:
        raise NameTaken("season", name) from error
    session.refresh(row)  # dates as everyone will read them, in UTC


def _season(session: Session, season_id: int) -> Season:
    row = session.get(Season, season_id)
    if row is None:
        raise NotFound("season", season_id)
    return row


def _finals(session: Session, season_ids: Sequence[int]) -> dict[int, tuple[datetime, str]]:
    """When each of the seasons' standings were published, and from which log."""
    published = select(RatingSnapshot.season_id, RatingSnapshot.created_at, RatingSnapshot.log_sha256)
    published = published.where(col(RatingSnapshot.final).is_(True), col(RatingSnapshot.season_id).in_(season_ids))
    return {season_id: (at, log_sha256) for season_id, at, log_sha256 in session.exec(published)}


def _views(session: Session, rows: Sequence[Season]) -> list[SeasonInfo]:
    ids = [row.id for row in rows]
    divisions, finals = divisions_of(session, ids), _finals(session, ids)
    columns = frozenset(SeasonInfo.__slots__) & frozenset(Season.model_fields)
    views = []
    for row in rows:
        published_at, log_sha256 = finals.get(row.id, (None, None))
        values = {name: getattr(row, name) for name in columns}
        views.append(
            SeasonInfo(
                **values,
                divisions=tuple(divisions[row.id]),
                published_at=published_at,
                log_sha256=log_sha256,
                dice_commitment=commitment(row.secret) if row.secret else None,
                dice_secret=row.secret.hex() if row.secret and published_at else None,
            )
        )
    return views
