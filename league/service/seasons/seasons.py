"""Seasons: their settings, and when these may change. `league.service.course.states` changes their states."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any

from sqlalchemy import bindparam, union
from sqlmodel import Session, case, col, func, select
from sqlmodel.sql.expression import Select

from deadheat.engine.chance import commitment
from deadheat.engine.figures import span
from deadheat.engine.games import GAMES
from deadheat.engine.games.variants import BadVariant, rules
from deadheat.engine.language import _, gettext
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, NameTaken, UnknownGame, WrongState
from deadheat.league.pairing.notation import stage_faults
from deadheat.league.records.seasons import Plays, Progress
from deadheat.league.records.seasons import Season as SeasonInfo
from deadheat.league.service.duels.panels import panel_faults
from deadheat.league.service.ground.audit import record
from deadheat.league.service.ground.counting import HAS_RESULTS, SEASONS_AT_A_TIME, taken_out
from deadheat.league.service.ground.lookups import newest_first
from deadheat.league.service.ground.steps import existing, flush_unless_taken, lock_season, touch_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.teams import owned_by
from deadheat.league.service.people.users import existing_user
from deadheat.league.service.seasons.admission import take_over_list
from deadheat.league.service.seasons.divisions import NOT_FOR_AGENTS, carry_over, divisions_of, make_divisions
from deadheat.league.service.series.planning import whole_groups
from deadheat.league.service.series.privacy import PLANNED, voids_at_planned
from deadheat.league.states import (
    GOING_ON,
    WITH_RESULT,
    FinalsFormat,
    FinalsLog,
    MatchState,
    Players,
    SeasonState,
    SourcesFrom,
)
from deadheat.league.tables import Attempt, Bot, Entry, Match, RatingSnapshot, Season
from deadheat.league.terms import DATES, TERMS
from deadheat.league.timetable import timetable, timetable_faults
from deadheat.sandbox.languages import LANGUAGES


def create_season(
    session: Session,
    /,
    organiser: Person,
    *,
    name: str,
    game: str | None = None,
    previous_id: int | None = None,
    divisions: Sequence[tuple[str, int | None]] = (),
    **settings: Any,
) -> SeasonInfo:
    """Create a scheduled season. With `previous_id` it continues a published season: it takes over the settings,
    divisions and entries, and bots are promoted and relegated.

    `divisions`: names and sizes, the highest first; by default a single one of any size. `settings`: see
    `league.terms`. Raises NotAllowed, UnknownGame, NameTaken, BadSetting; NotFound, WrongState: about the previous
    season.
    """
    organiser.must_organise()
    previous = None if previous_id is None else published(session, previous_id, _("it can be continued"))
    if previous is not None:
        if divisions:
            raise BadSetting("divisions", _("a season that continues another keeps its divisions"))
        game = game or previous.game
        if game != previous.game:
            raise BadSetting("game", _("the previous season's game is %(game)s", game=previous.game))
        if settings.get("players", previous.players) is not previous.players:
            raise BadSetting("players", _("a season that continues another keeps its players"))
    if game is None or game not in GAMES:
        raise UnknownGame(game or "", tuple(sorted(GAMES)))
    settings = {**inherited(game, previous, settings.get("players")), **settings}
    assert settings.keys() <= TERMS.keys()
    row = Season(
        game=game, name=name, name_key=name.lower(), previous_id=previous_id, created_at=now(session), **settings
    )
    _raise_any(faults(row))
    _raise_any(panel_faults(session, row))
    if row.players is Players.AGENTS and len(divisions) > 1:
        raise BadSetting("divisions", gettext(NOT_FOR_AGENTS))
    session.add(row)
    _flush_named(session, row)
    make_divisions(session, row.id, divisions, previous_id)
    if previous is not None:
        take_over_list(session, previous.id, row.id)
        carry_over(session, previous, row)
    noted = _noted({"game": game, "name": name, **settings})
    record(session, organiser.name, "season-created", f"season/{row.id}", noted)
    return season_info(session, row.id)


def edit_season(
    session: Session,
    /,
    organiser: Person,
    season_id: int,
    *,
    name: str | None = None,
    **settings: Any,
) -> SeasonInfo:
    """Change the name or settings that may still change. Raises NotAllowed, NotFound, NameTaken, BadSetting."""
    organiser.must_organise()
    row = lock_season(session, season_id)
    renamed = {"name": name} if name is not None and name != row.name else {}
    was: dict[str, Any] = {"name": row.name} if renamed else {}
    if name is not None:
        row.name, row.name_key = name, name.lower()
    before = {setting: getattr(row, setting) for setting in settings}
    changed = {setting: value for setting, value in settings.items() if before[setting] != value}
    _raise_any(settled(row.state, changed))
    entered = select(Entry.bot_id).where(Entry.season_id == season_id).limit(1)
    if changed.get("sources") is SourcesFrom.CLOSED and session.exec(entered).first():
        raise BadSetting("sources", _("bots have entered, and their authors were not told that sources are published"))
    if "players" in changed and session.exec(entered).first():
        raise BadSetting("players", _("bots or agents have entered already"))
    if changed.get("players") is Players.AGENTS and len(divisions_of(session, [season_id])[season_id]) > 1:
        raise BadSetting("divisions", gettext(NOT_FOR_AGENTS))
    for setting, value in changed.items():
        setattr(row, setting, value)
    _raise_any(faults(row))
    if changed.keys() & {"panel", "panel_games", "panel_minimum", "panel_test"}:
        _raise_any(panel_faults(session, row))
    _flush_named(session, row)
    if renamed or changed:
        was |= {setting: before[setting] for setting in changed}
        noted = _noted({**renamed, **changed}) | {"was": _noted(was)}
        record(session, organiser.name, "season-edited", f"season/{season_id}", noted)
    if any(TERMS[setting].setting.ranked_by for setting in changed):
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
    """List seasons with an id below `before`, the newest first; of one game, or (None) of all. `author`: only seasons
    that this author's bots, or their teams', have entered. Raises NotFound: no such author.
    """
    statement = newest_first(select(Season), Season.id, before, limit)
    if game is not None:
        statement = statement.where(Season.game == game)
    if author is not None:
        theirs = select(Entry.season_id).join(Bot, col(Bot.id) == Entry.bot_id)
        statement = statement.where(col(Season.id).in_(theirs.where(owned_by(existing_user(session, author)))))
    if with_results:
        statement = statement.where(HAS_RESULTS)
    return _views(session, session.exec(statement).all())


def names_going_on(session: Session) -> dict[int, str]:
    """Return the names of all seasons that are not closed, the oldest first."""
    named = select(Season.id, Season.name).where(col(Season.state).in_(GOING_ON)).order_by(col(Season.id))
    return dict(session.exec(named).all())


def leading_season(session: Session, game: str) -> int | None:
    """Return the number of the game's leading season: the one with the most bots of its current seasons with results,
    so that a small new one does not replace it; if all are closed, the newest. None without results.
    """
    return session.connection().execute(LEADING, {"game": game}).scalar()


_CLOSED = col(Season.state).not_in(GOING_ON)
_BOTS = select(func.count()).select_from(Entry).where(Entry.season_id == Season.id).scalar_subquery()
_ORDER = (_CLOSED, case((_CLOSED, 0), else_=_BOTS).desc(), col(Season.id).desc())
LEADING = select(Season.id).where(Season.game == bindparam("game"), HAS_RESULTS).order_by(*_ORDER).limit(1)


def season_info(session: Session, season_id: int) -> SeasonInfo:
    return _views(session, [existing(session, Season, season_id)])[0]


def season_progress(session: Session, season_id: int, *, whole: bool = True) -> Progress:
    """Count a season's matches; the API caches the counts briefly. Unless the `whole` season is counted, the matches to
    come are counted as by `season_waiting`.
    """
    entries = session.exec(select(func.count()).select_from(Entry).where(Entry.season_id == season_id)).one()
    rows = session.exec(planned_by_state(season_id, whole=whole)).all()
    matches = Counter({str(state): count for state, count, _ in rows})
    if not whole:
        matches[MatchState.SCHEDULED], _ = season_waiting(session, season_id)
    out = union(*taken_out(season_id)).subquery()
    taken = select(func.count()).select_from(out).join(Match, col(Match.id) == out.c[0]).where(col(Match.rated))
    counting = sum(rated for *_, rated in rows) - session.exec(taken).one()
    voids = session.exec(select(func.count()).select_from(Attempt).where(*voids_at_planned(season_id))).one()
    return Progress(
        entries=entries,
        scheduled=matches[MatchState.SCHEDULED],
        done=sum(matches[state] for state in WITH_RESULT),
        counting=counting,
        held=matches[MatchState.HELD],
        abandoned=matches[MatchState.ABANDONED],
        voids=voids,
    )


_NOT_TO_COME = [state for state in MatchState if state is not MatchState.SCHEDULED]


@lru_cache(SEASONS_AT_A_TIME)
def planned_by_state(season_id: int, *, whole: bool = True) -> Select[str, int, Any]:
    """Return the statement that counts planned and rated matches by state; unless `whole`, without those to come."""
    kinds = select(Match.state, func.count(), func.sum(case((col(Match.rated), 1), else_=0)))
    kinds = kinds.where(Match.season_id == season_id, PLANNED).group_by(col(Match.state))
    return kinds if whole else kinds.where(col(Match.state).in_(_NOT_TO_COME))


def season_waiting(session: Session, season_id: int) -> tuple[int, int]:
    """Return the numbers of matches to come, at most `COUNTED` + 1, and of held matches."""
    waiting, on_hold = session.exec(WAITING, params={"id": season_id}).one()
    return waiting, on_hold


COUNTED = 10_000
"""Pages say only that there are more matches to come than these: counting a million takes 0.2 s."""

_OF_IT = select(Match.id).where(Match.season_id == bindparam("id"), PLANNED)
_SCHEDULED = _OF_IT.where(Match.state == MatchState.SCHEDULED).limit(COUNTED + 1)
_ON_HOLD = _OF_IT.where(Match.state == MatchState.HELD)
WAITING = select(
    *(select(func.count()).select_from(some.subquery()).scalar_subquery() for some in (_SCHEDULED, _ON_HOLD))
)


MOST_AGENTS = 4
"""The agents for whom a table is made, if the game has room for so many: with more, all wait longer than they play."""


def inherited(game: str, previous: Season | None, players: Players | None) -> dict[str, Any]:
    """Return the default settings of a new season of these players that differ from those of `league.terms`."""
    if previous is None:
        seats = GAMES[game].seats
        return {"seats": min(MOST_AGENTS, seats.stop - 1) if players is Players.AGENTS else seats.start}
    return {name: getattr(previous, name) for name in TERMS if name not in DATES}


def settled(state: SeasonState, changed: Iterable[str]) -> Iterator[BadSetting]:
    """Yield those of the changed settings that can no longer be changed."""
    sentence = _("it can no longer be changed because the season is %(state)s", state=gettext(state))
    yield from (BadSetting(setting, sentence) for setting in changed if not TERMS[setting].may_change(state))


def faults(row: Season) -> Iterator[BadSetting]:
    """Yield the reasons why a season cannot be run with these settings."""
    seats = GAMES[row.game].seats
    try:
        rules(row.game, row.variant)
    except BadVariant as error:
        yield BadSetting("variant", str(error))
    if row.players is Players.AGENTS:
        chosen = [name for name in OF_PROGRAMS if getattr(row, name) != TERMS[name].default]
        yield from (
            BadSetting(name, gettext(NOT_FOR_AGENTS)) for name in chosen + ["evaluations"] * bool(row.evaluations)
        )
    if row.seats not in seats:
        yield BadSetting("seats", _("%(game)s is for %(seats)s players", game=row.game, seats=span(seats)))
    unknown = sorted(set(row.languages or ()) - set(LANGUAGES))
    if unknown:
        known = ", ".join(sorted(LANGUAGES))
        yield BadSetting("languages", _("%(it)s is unknown; choose from %(all)s", it=", ".join(unknown), all=known))
    if row.languages is not None and not row.languages:
        yield BadSetting("languages", _("nobody could enter"))
    given = [(date, getattr(row, date)) for date in DATES if getattr(row, date) is not None]
    for (earlier, first), (later, then) in pairwise(given):
        if first >= then:
            yield BadSetting(later, _("it must come after %(earlier)s", earlier=earlier))
    if row.finals is FinalsFormat.ROUND_ROBIN and row.seats > 2:
        yield BadSetting("finals", _("a round robin needs tables of two; choose swiss"))
    if (row.finals is FinalsFormat.STAGES) != bool(row.stages):
        missing = _("declare them, because the finals are played in stages")
        yield BadSetting("stages", _("choose finals=stages, too") if row.stages else missing)
    elif row.stages and row.finals_log is FinalsLog.FINALS:
        yield BadSetting("finals_log", _("the stages decide the places; leave it out"))
    yield from (BadSetting("stages", fault) for fault in stage_faults(row.stages or (), row.seats))
    if row.finals_at is not None and row.finals is FinalsFormat.NONE:
        yield BadSetting("finals_at", _("this season has no finals; choose how they are played, or leave the date out"))
    yield from (BadSetting("evaluations", fault) for fault in timetable_faults(timetable(row.evaluations)))


OF_PROGRAMS = ("ladder", "games_per_pair", "rest_faults", "finals", "languages", "upload_kib", "panel")
"""Settings of what the league plans, or of programs, which a season of agents leaves as they are."""


def _raise_any(mistakes: Iterator[BadSetting]) -> None:
    for fault in mistakes:
        raise fault


def _noted(values: Mapping[str, object]) -> dict[str, object]:
    """Return the settings in the form that the audit log stores."""
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def published(session: Session, season_id: int, possible: str) -> Season:
    """Return a season with published standings; `possible`: what publication allows. Raises NotFound, WrongState."""
    row = existing(session, Season, season_id)
    if _finals(session, [season_id]).get(season_id) is None:
        sentence = _("%(possible)s once it is closed and its standings are published", possible=possible)
        raise WrongState.of_season(row.state, sentence)
    return row


def _flush_named(session: Session, row: Season) -> None:
    flush_unless_taken(session, NameTaken("season", row.name))
    session.refresh(row)  # read the dates back in UTC, as everybody sees them


def _finals(session: Session, season_ids: Sequence[int]) -> dict[int, tuple[datetime, str]]:
    """Return when each season's standings were published, and the hash of the log behind them."""
    published = session.exec(PUBLISHED, params={"ids": season_ids})
    return {season_id: (at, log_sha256) for season_id, at, log_sha256 in published}


PUBLISHED = select(RatingSnapshot.season_id, RatingSnapshot.created_at, RatingSnapshot.log_sha256).where(
    col(RatingSnapshot.final).is_(True), col(RatingSnapshot.season_id).in_(bindparam("ids", expanding=True))
)


def _views(session: Session, rows: Sequence[Season]) -> list[SeasonInfo]:
    ids = [row.id for row in rows]
    divisions, finals = divisions_of(session, ids), _finals(session, ids)
    names = SeasonInfo.model_fields.keys() & Season.model_fields.keys() - {"pairing_seed"}
    views = []
    drawn = select(Season.id, Season.secret, Season.pairing_seed).where(col(Season.id).in_(ids))
    lots = {season_id: (secret, seed) for season_id, secret, seed in session.exec(drawn)}
    for row in rows:
        published_at, log_sha256 = finals.get(row.id, (None, None))
        secret, pairing_seed = lots[row.id]
        view = SeasonInfo.model_construct(
            **{name: getattr(row, name) for name in names},
            divisions=tuple(divisions[row.id]),
            plays=_plays(row),
            rounded=rounded(row),
            published_at=published_at,
            log_sha256=log_sha256,
            dice_commitment=commitment(secret) if secret else None,
            dice_secret=secret.hex() if secret and published_at else None,
            pairing_seed=pairing_seed.hex() if pairing_seed and published_at else None,
        )
        views.append(view)
    return views


def _plays(row: Season) -> Plays:
    pair = None if row.games_per_pair is None else whole_groups(row, row.games_per_pair)
    return Plays(whole_groups(row, row.series_length), pair, whole_groups(row, row.finals_games))


def rounded(row: Season) -> str:
    """Say which of a season's numbers of matches differ from the settings; empty if none do."""
    plays = _plays(row)
    numbers = {"series_length": _("%(n)s in one go, not %(other)s")}
    numbers["games_per_pair"] = _("%(n)s of each pair, not %(other)s")
    if row.finals in (FinalsFormat.ROUND_ROBIN, FinalsFormat.SWISS):
        numbers["finals_games"] = _("%(n)s at each meeting in the finals, not %(other)s")
    phrases = [
        words % {"n": getattr(plays, name), "other": getattr(row, name)}
        for name, words in numbers.items()
        if getattr(plays, name) != getattr(row, name)
    ]
    if not phrases:
        return ""
    sentence = _("Each deal is played once from each of the %(seats)s seats, so there are %(said)s.")
    return sentence % {"seats": row.seats, "said": "; ".join(phrases)}
