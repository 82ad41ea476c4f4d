"""Finals with a round robin or a Swiss, redrawn from an archive.

A bot that leaves changes all later draws, so the field of each draw follows from the public log, which has the instant
of every withdrawal. A Swiss is drawn from the points of its matches at that time. If somebody ruled on a match, or the
service failed to play one, those points are unknown, and later rounds are not checked.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from itertools import groupby

from deadheat.cli.organiser.archive import Archived
from deadheat.cli.statistics.recount import Row, rows
from deadheat.engine.figures import counted
from deadheat.engine.games import same_deals
from deadheat.league.pairing.pairs import pair_key
from deadheat.league.pairing.rounds import NoRound, berger, match_points, swiss, swiss_rounds, tables
from deadheat.league.pairing.seating import whole_turns
from deadheat.league.states import Absence, FinalsFormat, MatchState, Purpose, Ranks

OUT = {f"entry-{absence.value}" for absence in Absence}
BACK = {"entry-rejoined", "entry-reinstated"}
"""Actions of the public log that take a bot out or bring it back."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the finals: one series, with the versions in the seats of its first match and the places in each
    match. `spoilt`: one of its matches was not played as planned, or has a ruling.
    """

    round: int
    drawn_at: datetime
    seated: tuple[int, ...]
    places: Sequence[Mapping[int, int]]
    spoilt: bool


@dataclass(frozen=True, slots=True)
class _Finals:
    """The finals according to the archive's tables and the public log. `left`: when a bot left (true) or came back."""

    season: Row
    tables: Sequence[_Table]
    left: Sequence[tuple[datetime, int, bool]]
    seed: bytes | None

    def field(self, entries: Sequence[Row], at: datetime | None) -> list[int]:
        """Return a division's finalists who took part at that instant (None: at the end), the best seed first."""
        out = {bot_id: gone for when, bot_id, gone in self.left if at is None or when <= at}
        return [row["version_id"] for row in entries if not out.get(row["bot_id"])]

    @property
    def is_over(self) -> bool:
        return bool(self.season["finals_done_at"])


def rounds_again(archived: Archived, season: Row, entries: Sequence[Row]) -> tuple[str, tuple[str, ...]]:
    """Redraw the rounds of the finals. Return what was checked, and a sentence about each error. `entries`: finalists,
    by division and seed.
    """
    left = list(_left(archived))
    seed = archived.season(archived.season_id).pairing_seed
    told = _Finals(season, list(_tables(archived)), left, None if seed is None else bytes.fromhex(seed))
    absent = {row["bot_id"] for row in entries if row["absence"]}
    gone = {bot_id: out for _, bot_id, out in left}
    if absent != {row["bot_id"] for row in entries if gone.get(row["bot_id"])}:
        unknown = "So nobody can tell which bots were still there in which round."
        return "the finalists that left are not those in the public log.", (unknown,)
    again = _round_robin if season["finals"] == FinalsFormat.ROUND_ROBIN else _swiss
    said, wrong = [], []
    for division, found in groupby(entries, lambda row: row["division"]):
        sentence, faults = again(told, list(found))
        said.append(sentence)
        wrong += [f"Division {division}: {fault}." for fault in faults]
    return f"{'; '.join(said) or 'nobody qualified'}.", tuple(wrong)


def _left(archived: Archived) -> Iterator[tuple[datetime, int, bool]]:
    for record in archived.audit(f"season/{archived.season_id}", oldest_first=True):
        if record.action in OUT | BACK:
            data = json.loads(record.data)
            if data.get("was") != "rested":
                yield datetime.fromisoformat(record.at), data["bot"], record.action in OUT


def _tables(archived: Archived) -> Iterator[_Table]:
    """Yield the tables in the order of their draw, without those that replace others after a ruling."""
    season_id = archived.season_id
    seats: dict[int, dict[int, int]] = defaultdict(dict)
    ranks: dict[int, dict[int, int]] = defaultdict(dict)
    for row in rows(archived, season_id, "participants"):
        seats[row["match_id"]][row["seat"]] = row["version_id"]
        ranks[row["match_id"]][row["version_id"]] = row["rank"]
    matches: dict[int, list[Row]] = defaultdict(list)
    for row in rows(archived, season_id, "matches"):
        matches[row["series_id"]].append(row)
    again = {row["rejudged_as"] for found in matches.values() for row in found}
    for row in rows(archived, season_id, "series"):
        played = sorted(matches[row["series_id"]], key=lambda one: one["number"])
        if row["purpose"] != Purpose.FINALS or not row["round"] or played[0]["match_id"] in again:
            continue
        seated = seats[played[0]["match_id"]]
        spoilt = any(one["state"] != MatchState.DONE or one["voided"] for one in played)
        places = [] if spoilt else [ranks[one["match_id"]] for one in played]
        at = datetime.fromisoformat(row["created_at"])
        yield _Table(row["round"], at, tuple(seated[seat] for seat in sorted(seated)), places, spoilt)


def _round_robin(told: _Finals, entries: Sequence[Row]) -> tuple[str, list[str]]:
    """Return what was checked, and what is wrong: pairs that never met, or met in another round than they should."""
    finalists = {row["version_id"] for row in entries}
    of_it = [table for table in told.tables if finalists.issuperset(table.seated)]
    wrong = []
    for table in of_it:
        due = berger(told.field(entries, table.drawn_at))
        pairs = due[table.round - 1].pairs if table.round <= len(due) else ()
        if frozenset(table.seated) not in map(frozenset, pairs):
            meeting = f"{table.seated[0]} met {table.seated[1]}"
            wrong.append(f"{meeting} in round {table.round}, which its tables do not have")
    met = {frozenset(table.seated) for table in of_it}
    everything = berger(told.field(entries, None)) if told.is_over else ()
    if any(frozenset(pair) not in met for one in everything for pair in one.pairs):
        wrong.append("somebody did not meet everybody")
    return f"{counted(len(met), 'meeting')} of a round robin drawn again", wrong


def _swiss(told: _Finals, entries: Sequence[Row]) -> tuple[str, list[str]]:
    """Return what was checked, and what is wrong with rounds that do not follow from earlier ones."""
    finalists = {row["version_id"] for row in entries}
    of_it = [table for table in told.tables if finalists.issuperset(table.seated)]
    rounds = swiss_rounds(told.season["finals_rounds"], len(finalists)) if len(finalists) >= told.season["seats"] else 0
    wrong: list[str] = []
    number = 1
    while number <= rounds:
        before = [table for table in of_it if table.round < number]
        found = [table for table in of_it if table.round == number]
        if any(table.spoilt for table in before) or (not found and not told.is_over):
            break
        field = told.field(entries, found[0].drawn_at if found else None)
        if len(field) < len(finalists):
            break
        seated = sorted({table.seated for table in found})
        if not _fits(seated, _drawn(told, field, before, number - 1), told):
            wrong.append(f"round {number} is not what its rules draw")
        number += 1
    if any(table.round > rounds for table in of_it):
        wrong.append("there are more rounds than planned")
    said = f"{counted(number - 1, 'round')} of {rounds} of a Swiss drawn again"
    return said + ("" if number > rounds else "; the others follow a ruling, a failure or a withdrawal"), wrong


def _drawn(told: _Finals, field: Sequence[int], before: Sequence[_Table], rounds: int) -> list[tuple[int, ...]]:
    season = told.season
    matches = season["finals_games"]
    whole = whole_turns(matches, season["seats"]) if same_deals(season["game"]) else matches
    sat = Counter(version for version, _ in {(one, table.round) for table in before for one in table.seated})
    byes = Counter({version: rounds - sat[version] for version in field})
    points = {version: Fraction(byes[version] * whole) for version in field}
    for table in before:
        for places in table.places:
            for version, taken in match_points(places, Ranks(season["ranks"])).items():
                points[version] += taken
    if season["seats"] > 2:
        return tables(field, points, byes, season["seats"])
    met = {pair_key(*sorted(table.seated)) for table in before}
    try:
        return list(swiss(field, points, met, list(byes.elements()), told.seed or b"").pairs)
    except NoRound:
        return []


def _fits(seated: Sequence[tuple[int, ...]], due: Sequence[tuple[int, ...]], told: _Finals) -> bool:
    """Return whether the same tables were drawn. With a known seed, lots decide who sits first at a table of two."""
    if told.season["seats"] == 2 and told.seed is not None and not same_deals(told.season["game"]):
        return sorted(seated) == sorted(due)
    return {frozenset(one) for one in seated} == {frozenset(one) for one in due}
