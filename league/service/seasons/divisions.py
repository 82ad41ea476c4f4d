"""Divisions of a season's field, and promotion and relegation from one season to the next.

Only bots of one division meet. Newcomers begin in the lowest; an organiser may move a bot until its season is
frozen. In a season that continues a published one, the first `promoted` of each division swap places with the last
`promoted` of the division above, so every division keeps its size.
"""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Any

from sqlalchemy import bindparam
from sqlalchemy import select as columns
from sqlmodel import Session, col, delete, func, select

from deadheat.engine.language import N_, _, gettext
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, NotFound, TooMany, WrongState
from deadheat.league.records.seasons import Division as DivisionView
from deadheat.league.service.bots.bots import active
from deadheat.league.service.duels.counting import matchups
from deadheat.league.service.duels.panels import admits, without_points
from deadheat.league.service.ground.audit import SYSTEM, record
from deadheat.league.service.ground.counting import may_be_drawn
from deadheat.league.service.ground.lookups import existing_entry, final_ranking
from deadheat.league.service.ground.steps import lock_season, touch_log
from deadheat.league.service.people.person import Person
from deadheat.league.service.seasons.admission import newest_ready, objection
from deadheat.league.states import ENTERABLE, ContestKind, ContestState, Players, SeasonState, SourcesFrom
from deadheat.league.tables import Bot, BotVersion, Contest, Division, Entry, Season
from deadheat.league.terms import MAX_DIVISIONS

SINGLE: Sequence[tuple[str, int | None]] = (("Division 1", None),)
"""The divisions of a season for which none were declared."""


def make_divisions(
    session: Session, season_id: int, wanted: Sequence[tuple[str, int | None]], previous_id: int | None
) -> None:
    """Make the divisions of a new season: the given ones, the previous season's, or a single one. Raises BadSetting."""
    if previous_id is not None:
        before = select(Division.name, Division.size).where(Division.season_id == previous_id)
        wanted = [(name, size) for name, size in session.exec(before.order_by(col(Division.number)))]
    for fault in division_faults(wanted):
        raise fault
    for number, (name, size) in enumerate(wanted or SINGLE, 1):
        session.add(Division(season_id=season_id, number=number, name=name, size=size))
    session.flush()


NOT_FOR_AGENTS = N_("agents play when they ask for a match, so a season of agents has none of this; leave it out")


def change_divisions(
    session: Session, organiser: Person, season_id: int, wanted: Sequence[tuple[str, int | None]]
) -> None:
    """Replace the divisions of a season that has not opened, the highest first; without any, it has one of any size.
    Entries stay in the division of their number, or join the lowest. Raises NotAllowed, NotFound; BadSetting: the
    season has been opened, or a division holds more entries than its new size.
    """
    organiser.must_organise()
    season = lock_season(session, season_id)
    new = list(wanted or SINGLE)
    if new == [(division.name, division.size) for division in divisions_of(session, [season_id])[season_id]]:
        return
    for fault in change_faults(session, season, new):
        raise fault
    entries = session.exec(select(Entry).where(Entry.season_id == season_id)).all()
    for number, (name, size) in enumerate(new, 1):
        session.merge(Division(season_id=season_id, number=number, name=name, size=size))
    session.flush()
    for entry in entries:
        entry.division = min(entry.division, len(new))
    session.flush()
    session.exec(delete(Division).where(col(Division.season_id) == season_id, col(Division.number) > len(new)))
    session.expire_all()
    data = {str(number): {"name": name, "size": size} for number, (name, size) in enumerate(new, 1)}
    record(session, organiser.name, "divisions-changed", f"season/{season_id}", {"divisions": data})
    touch_log(session, season_id)


def change_faults(session: Session, season: Season, wanted: Sequence[tuple[str, int | None]]) -> Iterator[BadSetting]:
    """Yield the reasons why a season cannot have these divisions instead of its own."""
    if season.state is not SeasonState.SCHEDULED:
        sentence = _("they can no longer be changed because the season is %(state)s", state=gettext(season.state))
        yield BadSetting("divisions", sentence)
    if season.players is Players.AGENTS and len(wanted) > 1:
        yield BadSetting("divisions", gettext(NOT_FOR_AGENTS))
    yield from division_faults(wanted)
    entries = Counter[int]()
    for division in divisions_of(session, [season.id])[season.id]:
        entries[min(division.number, len(wanted))] += division.entries
    for number, (name, size) in enumerate(wanted, 1):
        if size is not None and entries[number] > size:
            yield BadSetting("divisions", _("%(name)s would hold %(n)s entries", name=name, n=entries[number]))


def divisions_of(session: Session, season_ids: Sequence[int]) -> dict[int, list[DivisionView]]:
    """Return the divisions of each season, the highest first."""
    by_season: dict[int, list[DivisionView]] = {season_id: [] for season_id in season_ids}
    for season_id, *about in session.exec(DIVISIONS, params={"ids": season_ids}) if season_ids else ():
        by_season[season_id].append(DivisionView(*about))
    return by_season


_HERE = (Entry.season_id == Division.season_id, Entry.division == Division.number)
_ENTRIES = select(func.count()).select_from(Entry).where(*_HERE).scalar_subquery()
DIVISIONS: Any = (
    columns(*(getattr(Division, name) for name in ("season_id", "number", "name", "size")), _ENTRIES)
    .where(col(Division.season_id).in_(bindparam("ids", expanding=True)))
    .order_by(col(Division.season_id), col(Division.number))
)


def lowest_division(session: Session, season_id: int) -> int:
    """Return the division in which a newcomer begins. Raises TooMany if it is full."""
    number = session.exec(select(func.max(Division.number)).where(Division.season_id == season_id)).one()
    assert number is not None, "every season has a division"
    _make_room(session, season_id, number)
    return number


def _make_room(session: Session, season_id: int, number: int) -> None:
    """Check that the division has room for one more entry. Raises TooMany; NotFound: there is no such division."""
    row = session.get(Division, (season_id, number))
    if row is None:
        raise NotFound("division", number)
    here = select(func.count()).select_from(Entry).where(Entry.season_id == season_id, Entry.division == number)
    if row.size is not None and session.exec(here).one() >= row.size:
        raise TooMany(_("entries in %(division)s", division=row.name), row.size)


def assign_division(session: Session, organiser: Person, season_id: int, bot_id: int, number: int) -> None:
    """Put an entry into another division. Its played matches stay in the log. Raises NotAllowed, NotFound, TooMany;
    WrongState: the season is frozen.
    """
    organiser.must_organise()
    season = lock_season(session, season_id)
    if season.state not in ENTERABLE:
        raise WrongState.of_season(season.state, _("bots can change divisions only while it is %(states)s"), ENTERABLE)
    entry = existing_entry(session, season_id, bot_id)
    if entry.division == number:
        return
    _make_room(session, season_id, number)
    data = {"bot": bot_id, "before": entry.division, "division": number}
    entry.division = number
    session.flush()
    record(session, organiser.name, "division-assigned", f"season/{season_id}", data)
    touch_log(session, season_id)


def division_faults(wanted: Sequence[tuple[str, int | None]]) -> Iterator[BadSetting]:
    """Yield the reasons why no season can have these divisions."""
    if len(wanted) > MAX_DIVISIONS:
        yield BadSetting("divisions", _("there may be at most %(most)s", most=MAX_DIVISIONS))
    if len({name.lower() for name, _ in wanted}) < len(wanted):
        yield BadSetting("divisions", _("each needs its own name"))


def moved(orders: Sequence[Sequence[int]], promoted: int, placed: Container[int]) -> list[list[int]]:
    """Return the divisions after promotion and relegation. `orders`: the final orders, highest division and best bot
    first.

    At most half of a division goes up and at most half goes down, so nobody does both. A bot without games, which is
    not `placed`, does not go up.
    """
    after = [list(order) for order in orders]
    for above, below in pairwise(range(len(orders))):
        risen = sum(bot in placed for bot in orders[below])
        count = min(promoted, risen, len(orders[above]) // 2, len(orders[below]) // 2)
        down, up = orders[above][len(orders[above]) - count :], orders[below][:count]
        after[above] = [bot for bot in after[above] if bot not in down] + list(up)
        after[below] = [bot for bot in after[below] if bot not in up] + list(down)
    return after


def carry_over(session: Session, previous: Season, season: Season) -> None:
    """Enter every bot that still plays in the previous season, is active and has a version to play, each in the
    division that its final place leads to. If the season publishes sources and the previous one did not, nobody is
    entered: each author must decide.
    """
    if season.sources is SourcesFrom.CLOSED and previous.sources is SourcesFrom.NEVER:
        return
    still_in = select(Entry, BotVersion, active()).join(BotVersion, col(BotVersion.id) == Entry.version_id)
    still_in = still_in.join(Bot, col(Bot.id) == Entry.bot_id)
    still_in = still_in.where(may_be_drawn(previous.id)).order_by(col(Entry.bot_id))
    entries: dict[int, Entry] = {}
    begins: dict[int, int] = {}
    left_out: list[int] = []
    for entry, playing, is_active in session.exec(still_in).all():
        version = _begins_with(session, previous, season, entry, playing) if is_active else None
        if version is None:
            left_out.append(entry.bot_id)
        else:
            entries[entry.bot_id], begins[entry.bot_id] = entry, version.id
    final = final_ranking(session, previous.id)
    assert final is not None, "only published seasons are continued"
    rows = final.standings["rows"]
    places = {row["bot_id"]: place for place, row in enumerate(rows, 1)}
    placed = {row["bot_id"] for row in rows if row["rank"] is not None}
    numbers = range(1, len(divisions_of(session, [season.id])[season.id]) + 1)
    orders = [
        sorted(
            (bot_id for bot_id, entry in entries.items() if entry.division == number),
            key=lambda bot_id: (places.get(bot_id, len(places) + 1), bot_id),
        )
        for number in numbers
    ]
    after = moved(orders, previous.promoted, placed)
    for number, bot_ids in enumerate(after, 1):
        for bot_id in bot_ids:
            before = entries[bot_id]
            session.add(
                Entry(
                    season_id=season.id,
                    bot_id=bot_id,
                    version_id=begins[bot_id],
                    follows=before.follows,
                    division=number,
                    gate=before.gate,
                    created_at=now(session),
                )
            )
    session.flush()
    orders_after = {str(number): order for number, order in enumerate(after, 1)}
    data = {"from": previous.id, "divisions": orders_after, "left_out": left_out}
    record(session, SYSTEM, "entries-carried-over", f"season/{season.id}", data)


def _begins_with(
    session: Session, previous: Season, season: Season, before: Entry, playing: BotVersion
) -> BotVersion | None:
    """Return the version with which an entry of the previous season begins, or None if the season accepts none. One
    that follows its bot begins with the newest. With a gate, or a panel that decides, the active version stays, and
    newer ones are tested when the season opens; if it is not acceptable, the newest acceptable one that has not failed
    there plays.
    """
    gated = before.gate is not None and season.challenge_games > 0
    needs_points = admits(season)
    if not objection(season, playing) and (gated or needs_points or not before.follows):
        return playing
    failed = without_points(session, previous, before.bot_id) if needs_points else set()
    if gated:
        at_gate = (Contest.entry_id == before.id, Contest.kind == ContestKind.GATE)
        failed_there = matchups(session, *at_gate, Contest.state == ContestState.FAILED)
        failed.update(duel.candidate_id for duel in failed_there)
    return newest_ready(session, before.bot_id, season, failed)
