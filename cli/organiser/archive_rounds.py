"""Finals with a round robin or a Swiss, redrawn from an archive.

A bot that leaves changes all later draws, so the field of each draw follows from the public log, which has the instant
of every withdrawal. A Swiss is drawn from the points of its matches at that time. If somebody ruled on a match, or the
service failed to play one, those points are unknown, and later rounds are not checked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby

from deadheat.cli.organiser.archive import Archived
from deadheat.cli.statistics.recount import Row, rows
from deadheat.engine.figures import counted
from deadheat.engine.games import same_deals
from deadheat.league.pairing.finals import Played, due_tables
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.rounds import match_points
from deadheat.league.pairing.seating import whole_turns
from deadheat.league.pairing.tournament import Form
from deadheat.league.states import Absence, MatchState, Purpose, Ranks

OUT = {f"entry-{absence.value}" for absence in Absence}
BACK = {"entry-rejoined", "entry-reinstated"}
"""Actions of the public log that take a bot out or bring it back."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the finals: one series, with the versions in the seats of its first match, and their points. `spoilt`:
    one of its matches was not played as planned, or has a ruling.
    """

    round: int
    drawn_at: datetime
    seated: tuple[int, ...]
    points: Counter[int]
    spoilt: bool


@dataclass(frozen=True, slots=True)
class _Division:
    """A division's finals according to the archive's tables and the public log. `entries`: its finalists, the best seed
    first; `left`: when a bot left (true) or came back; `lots`: who sits first can be drawn again.
    """

    form: Form
    seed: bytes
    entries: Sequence[Row]
    tables: Sequence[_Table]
    left: Sequence[tuple[datetime, int, bool]]
    is_over: bool
    lots: bool

    def field(self, at: datetime | None) -> list[int]:
        """Return the finalists who took part at that instant (None: at the end), the best seed first."""
        out = {bot_id: gone for when, bot_id, gone in self.left if at is None or when <= at}
        return [row["version_id"] for row in self.entries if not out.get(row["bot_id"])]

    def due(self, at: datetime | None, before: Sequence[_Table] = ()) -> set[tuple[int, Collection[int]]]:
        """Return the tables that the rules draw at that instant after those, each with the number of its round."""
        points = sum((table.points for table in before), Counter[int]())
        played = [Played(table.round, frozenset(table.seated)) for table in before]
        found = due_tables(self.form, self.seed, self.field(at), played, partial(dict, points))
        return {self.drawn(number, seated) for number, seated in found}

    def drawn(self, number: int, seated: tuple[int, ...]) -> tuple[int, Collection[int]]:
        """Return a table as two draws of it are compared."""
        return number, seated if self.lots else frozenset(seated)


def whole(season: Row, matches: int) -> int:
    """Round the matches of a table down to whole turns where everyone plays each deal in every seat."""
    return whole_turns(matches, season["seats"]) if same_deals(season["game"]) else matches


def rounds_again(archived: Archived, season: Row, entries: Sequence[Row]) -> tuple[str, tuple[str, ...]]:
    """Redraw the rounds of the finals. Return what was checked, and a sentence about each error. `entries`: finalists,
    by division and seed.
    """
    left = list(_left(archived))
    absent = {row["bot_id"] for row in entries if row["absence"]}
    gone = {bot_id: out for _, bot_id, out in left}
    if absent != {row["bot_id"] for row in entries if gone.get(row["bot_id"])}:
        unknown = "So nobody can tell which bots were still there in which round."
        return "the finalists that left are not those in the public log.", (unknown,)
    tables = list(_tables(archived, Ranks(season["ranks"])))
    seed, format_, seats = (
        archived.season(archived.season_id).pairing_seed,
        EvaluationFormat(season["finals"]),
        season["seats"],
    )
    is_swiss = format_ is EvaluationFormat.SWISS
    lots = is_swiss and seats == 2 and seed is not None and not same_deals(season["game"])
    said, wrong = [], []
    for number, found in groupby(entries, lambda row: row["division"]):
        finalists = {row["version_id"]: row for row in found}
        rounds = format_.rules.rounds_in(len(finalists), season["finals_rounds"], 2) if len(finalists) >= seats else 0
        form = Form(format_, rounds, whole(season, season["finals_games"]), seats=seats)
        theirs = [table for table in tables if finalists.keys() >= {*table.seated}]
        known, is_over = bytes.fromhex(seed or ""), bool(season["finals_done_at"])
        division = _Division(form, known, list(finalists.values()), theirs, left, is_over, lots)
        sentence, faults = _swiss(division) if is_swiss else _round_robin(division)
        said.append(sentence)
        wrong += [f"Division {number}: {fault}." for fault in faults]
    return f"{'; '.join(said) or 'nobody qualified'}.", tuple(wrong)


def _left(archived: Archived) -> Iterator[tuple[datetime, int, bool]]:
    for record in archived.audit(f"season/{archived.season_id}", oldest_first=True):
        if record.action in OUT | BACK:
            data = json.loads(record.data)
            if data.get("was") != "rested":
                yield datetime.fromisoformat(record.at), data["bot"], record.action in OUT


def _tables(archived: Archived, what: Ranks) -> Iterator[_Table]:
    """Yield the tables in the order of their draw, without those that replace others after a ruling."""
    season_id = archived.season_id
    series = [row for row in rows(archived, season_id, "series") if row["purpose"] == Purpose.FINALS and row["round"]]
    matches: dict[int, list[Row]] = {row["series_id"]: [] for row in series}
    again = set()
    for row in rows(archived, season_id, "matches"):
        if row["series_id"] in matches:
            matches[row["series_id"]].append(row)
            again.add(row["rejudged_as"])
    seats: dict[int, dict[int, Row]] = {row["match_id"]: {} for found in matches.values() for row in found}
    for row in rows(archived, season_id, "participants"):
        if row["match_id"] in seats:
            seats[row["match_id"]][row["seat"]] = row
    for row in series:
        played = sorted(matches[row["series_id"]], key=lambda one: one["number"])
        if played[0]["match_id"] in again:
            continue
        spoilt = any(one["state"] != MatchState.DONE or one["voided"] for one in played)
        points: Counter[int] = Counter()
        for one in played if not spoilt else ():
            ranks = {seat["version_id"]: seat["rank"] for seat in seats[one["match_id"]].values()}
            points += Counter(match_points(ranks, what))
        seated = tuple(seat["version_id"] for _, seat in sorted(seats[played[0]["match_id"]].items()))
        yield _Table(row["round"], datetime.fromisoformat(row["created_at"]), seated, points, spoilt)


def _round_robin(told: _Division) -> tuple[str, list[str]]:
    """Return what was checked, and what is wrong: pairs that never met, or met in another round than they should."""
    wrong = []
    for at, drawn in groupby(told.tables, lambda table: table.drawn_at):
        due = told.due(at)
        for table in drawn:
            if told.drawn(table.round, table.seated) not in due:
                meeting = f"{table.seated[0]} met {table.seated[1]}"
                wrong.append(f"{meeting} in round {table.round}, which its tables do not have")
    if told.is_over and told.due(None, told.tables):
        wrong.append("somebody did not meet everybody")
    met = {frozenset(table.seated) for table in told.tables}
    return f"{counted(len(met), 'meeting')} of a round robin drawn again", wrong


def _swiss(told: _Division) -> tuple[str, list[str]]:
    """Return what was checked, and what is wrong with rounds that do not follow from earlier ones."""
    rounds = told.form.rounds
    wrong: list[str] = []
    number = 1
    while number <= rounds:
        before = [table for table in told.tables if table.round < number]
        found = [table for table in told.tables if table.round == number]
        if any(table.spoilt for table in before) or (not found and not told.is_over):
            break
        at = found[0].drawn_at if found else None
        if len(told.field(at)) < len(told.entries):
            break
        if {told.drawn(number, table.seated) for table in found} != told.due(at, before):
            wrong.append(f"round {number} is not what its rules draw")
        number += 1
    if any(table.round > rounds for table in told.tables):
        wrong.append("there are more rounds than planned")
    said = f"{counted(number - 1, 'round')} of {rounds} of a Swiss drawn again"
    return said + ("" if number > rounds else "; the others follow a ruling, a failure or a withdrawal"), wrong
