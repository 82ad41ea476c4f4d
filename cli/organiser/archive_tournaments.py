"""Recomputes a season's evaluations and finals from its archive: every draw, point and place.

A bot that leaves changes all later draws, so the field of each draw follows from the public log, which has the instant
of every withdrawal. A Swiss is drawn from the points of its matches at that time. If somebody ruled on a match, or the
service failed to play one, those points are unknown, and later rounds are not checked.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any

from deadheat.cli.organiser.archive import Archived, grouped
from deadheat.cli.rate import Row
from deadheat.engine.figures import counted
from deadheat.engine.games import same_deals
from deadheat.league.pairing.figures import DIGITS, Meeting
from deadheat.league.pairing.finals import Played, due_tables
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.pairing.notation import stages
from deadheat.league.pairing.rounds import match_points, points_taken
from deadheat.league.pairing.seating import whole_turns
from deadheat.league.pairing.tournament import Form, next_rounds, standings
from deadheat.league.states import Absence, EvaluationState, FinalsFormat, MatchState, Purpose, Ranks

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
        tables = due_tables(self.form, self.seed, self.field(at), played, partial(dict, points))
        return {self.drawn(number, seated) for number, seated in tables}

    def drawn(self, number: int, seated: tuple[int, ...]) -> tuple[int, Collection[int]]:
        """Return a table as two draws of it are compared."""
        return number, seated if self.lots else frozenset(seated)


def _whole(season: Row, matches: int) -> int:
    """Round the matches of a table down to whole turns where everyone plays each deal in every seat."""
    return whole_turns(matches, season["seats"]) if same_deals(season["game"]) else matches


def _rounds_again(archived: Archived, season: Row, entries: Sequence[Row]) -> tuple[str, tuple[str, ...]]:
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
    seed = archived.record.pairing_seed
    format_, seats = EvaluationFormat(season["finals"]), season["seats"]
    is_swiss = format_ is EvaluationFormat.SWISS
    lots = is_swiss and seats == 2 and seed is not None and not same_deals(season["game"])
    sentences, wrong = [], []
    for number, group in groupby(entries, lambda row: row["division"]):
        finalists = {row["version_id"]: row for row in group}
        rounds = format_.rules.rounds_in(len(finalists), season["finals_rounds"], 2) if len(finalists) >= seats else 0
        form = Form(format_, rounds, _whole(season, season["finals_games"]), seats=seats)
        theirs = [table for table in tables if finalists.keys() >= {*table.seated}]
        known, is_over = bytes.fromhex(seed or ""), bool(season["finals_done_at"])
        division = _Division(form, known, list(finalists.values()), theirs, left, is_over, lots)
        sentence, faults = _swiss(division) if is_swiss else _round_robin(division)
        sentences.append(sentence)
        wrong += [f"Division {number}: {fault}." for fault in faults]
    return f"{'; '.join(sentences) or 'nobody qualified'}.", tuple(wrong)


def _left(archived: Archived) -> Iterator[tuple[datetime, int, bool]]:
    for record in archived.audit(f"season/{archived.season_id}", oldest_first=True):
        if record.action in OUT | BACK:
            data = json.loads(record.data)
            if data.get("was") != "rested":
                yield datetime.fromisoformat(record.at), data["bot"], record.action in OUT


def _tables(archived: Archived, what: Ranks) -> Iterator[_Table]:
    """Yield the tables in the order of their draw, without those that replace others after a ruling."""
    every = list(_played(archived, lambda row: row["purpose"] == Purpose.FINALS and row["round"]))
    again = {match["rejudged_as"] for _, played in every for match, _ in played}
    for row, played in every:
        if played[0][0]["match_id"] not in again:
            spoilt, points = _is_ruled(played), Counter[int]()
            for _, seats in played if not spoilt else ():
                points += Counter(match_points({seat["version_id"]: seat["rank"] for seat in seats}, what))
            seated = tuple(seat["version_id"] for seat in played[0][1])
            yield _Table(row["round"], datetime.fromisoformat(row["created_at"]), seated, points, spoilt)


_Matches = list[tuple[Row, list[Row]]]
"""Matches with the rows of their seats."""


def _played(archived: Archived, wanted: Callable[[Row], Any]) -> Iterator[tuple[Row, _Matches]]:
    """Yield the wanted series with their matches in order."""
    series = [row for row in archived.rows("series") if wanted(row)]
    ids = {row["series_id"] for row in series}
    matches = grouped((row for row in archived.rows("matches") if row["series_id"] in ids), "series_id")
    ids = {row["match_id"] for played in matches.values() for row in played}
    seats = grouped((row for row in archived.rows("participants") if row["match_id"] in ids), "match_id")
    for row in series:
        played = sorted(matches[row["series_id"]], key=lambda match: match["number"])
        yield row, [(match, sorted(seats[match["match_id"]], key=lambda seat: seat["seat"])) for match in played]


def _is_ruled(played: _Matches) -> bool:
    return any(match["state"] != MatchState.DONE or match["voided"] for match, _ in played)


def _round_robin(division: _Division) -> tuple[str, list[str]]:
    """Return what was checked, and what is wrong: pairs that never met, or met in another round than they should."""
    wrong = []
    for at, drawn in groupby(division.tables, lambda table: table.drawn_at):
        due = division.due(at)
        for table in drawn:
            if division.drawn(table.round, table.seated) not in due:
                meeting = f"{table.seated[0]} met {table.seated[1]}"
                wrong.append(f"{meeting} in round {table.round}, which its tables do not have")
    if division.is_over and division.due(None, division.tables):
        wrong.append("somebody did not meet everybody")
    met = {frozenset(table.seated) for table in division.tables}
    return f"{counted(len(met), 'meeting')} of a round robin drawn again", wrong


def _swiss(division: _Division) -> tuple[str, list[str]]:
    """Return what was checked, and what is wrong with rounds that do not follow from earlier ones."""
    rounds = division.form.rounds
    wrong: list[str] = []
    number = 1
    while number <= rounds:
        before = [table for table in division.tables if table.round < number]
        tables = [table for table in division.tables if table.round == number]
        if any(table.spoilt for table in before) or (not tables and not division.is_over):
            break
        at = tables[0].drawn_at if tables else None
        if len(division.field(at)) < len(division.entries):
            break
        if {division.drawn(number, table.seated) for table in tables} != division.due(at, before):
            wrong.append(f"round {number} is not what its rules draw")
        number += 1
    if any(table.round > rounds for table in division.tables):
        wrong.append("there are more rounds than planned")
    sentence = f"{counted(number - 1, 'round')} of {rounds} of a Swiss drawn again"
    return sentence + ("" if number > rounds else "; the others follow a ruling, a failure or a withdrawal"), wrong


@dataclass(frozen=True, slots=True)
class Checked:
    """One check: its subject, and a sentence about each error."""

    name: str
    sentence: str
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """An evaluation according to the archive's tables: players by seed, pairings by round and board."""

    season: Row
    row: Row
    players: Sequence[Row]
    drawn: Sequence[Row]

    @property
    def form(self) -> Form:
        row = self.row
        format_ = EvaluationFormat(row["format"])
        rules, chosen = row.get("rules", 1), row.get("tie_breaks")
        ties = tuple(json.loads(chosen)) if chosen else None
        further, third_place = row["further"], row["third_place"]
        terms = (row["rounds"], row["matches"], row["keep"], further, third_place, rules, ties)
        return Form(format_, *terms, self.season["seats"])

    @property
    def seeded(self) -> list[int]:
        return [player["version_id"] for player in self.players]

    @property
    def going_on(self) -> list[int]:
        """The versions that advance to the next stage, the best first, according to the recorded places."""
        stay = [player for player in self.players if player["gone_after"] is None and player["place"] is not None]
        return [player["version_id"] for player in sorted(stay, key=lambda player: player["place"])][: self.row["keep"]]

    def present(self, number: int) -> set[int]:
        """Return the versions that took part when that round was drawn."""
        gone = {player["version_id"]: player["gone_after"] for player in self.players}
        if self.row["stage"] is not None:
            return {version for version, after in gone.items() if after is None or after >= number}
        seated = [row for row in self.drawn if row["round"] == number]  # older evaluations do not record this elsewhere
        return {player for row in seated for player in _seated(row)}

    def meetings(self) -> list[Meeting]:
        return [Meeting(row["round"], _seated(row), _points(row) or (0.0,) * len(_seated(row))) for row in self.drawn]


def _seated(drawn: Row) -> tuple[int, ...]:
    """Return the players of a pairing. Tables of two have two columns for them."""
    if drawn.get("players"):
        return tuple(json.loads(drawn["players"]))
    return (drawn["first_id"],) if drawn["second_id"] is None else (drawn["first_id"], drawn["second_id"])


def _points(drawn: Row) -> tuple[float, ...] | None:
    """Return their points, or None if they were not final."""
    if drawn["first_points"] is None:
        return None
    if drawn.get("points"):
        return tuple(json.loads(drawn["points"]))
    return (drawn["first_points"], drawn["second_points"])[: len(_seated(drawn))]


def evaluations(archived: Archived) -> Checked:
    recorded = _recorded(archived)
    taken = _taken(archived)
    wrong = []
    for evaluation in recorded:
        clauses = [*_of_rounds(evaluation), *_of_points(evaluation, taken)]
        wrong += [f"Evaluation {evaluation.row['evaluation_id']}: {clause}." for clause in clauses]
    return Checked(
        "evaluations", f"{counted(len(recorded), 'evaluation')} drawn, counted and placed again.", tuple(wrong)
    )


def _recorded(archived: Archived) -> list[_Evaluation]:
    players = grouped(archived.rows("evaluation_players"), "evaluation_id")
    pairings = grouped(archived.rows("evaluation_pairings"), "evaluation_id")
    return [
        _Evaluation(
            archived.settings,
            row,
            sorted(players[row["evaluation_id"]], key=lambda player: player["seed"]),
            sorted(pairings[row["evaluation_id"]], key=lambda pairing: (pairing["round"], pairing["board"])),
        )
        for row in archived.rows("evaluations")
    ]


def _of_rounds(recorded: _Evaluation) -> Iterator[str]:
    """Yield a sentence for each part of the draw and the places that does not follow from earlier rounds."""
    played = recorded.meetings()
    drawn = {number: list(group) for number, group in groupby(played, lambda meeting: meeting.round)}
    number = 1
    while number in drawn:
        before = [meeting for meeting in played if meeting.round < number]
        due = next_rounds(recorded.form, recorded.seeded, recorded.present(number), before)
        for tables, byes in due or [([], ())]:
            met = [meeting.players for meeting in drawn.pop(number, [])]
            if met != [*tables, *((bye,) for bye in byes)]:
                yield f"round {number} is not what its rules draw"
            number += 1
    if drawn:
        yield "its rounds do not follow each other"
    if recorded.row["state"] != EvaluationState.DONE:
        return
    there = {row["version_id"] for row in recorded.players if row["gone_after"] is None}
    if recorded.row["stage"] is not None and next_rounds(recorded.form, recorded.seeded, there, played):
        yield "it ended before everything was played"
    placed = {standing.player: standing for standing in standings(recorded.form, recorded.seeded, there, played)}
    if any(placed[row["version_id"]].place != row["place"] for row in recorded.players):
        yield "its places do not follow from its points"
    kept = {row["version_id"]: json.loads(row["figures"]) for row in recorded.players if row.get("figures")}
    if any(placed[version].figures != figures for version, figures in kept.items()):
        yield "its tie-breaks do not follow from its points"


def _taken(archived: Archived) -> Mapping[int, list[Mapping[int, float]]]:
    """Return, for each pairing with matches, the points of each match by version; none if one of them has a ruling."""
    what = Ranks(archived.settings["ranks"])
    taken, ruled = defaultdict(list), set()
    for row, played in _played(archived, lambda row: row["pairing_id"] is not None):
        if _is_ruled(played):
            ruled.add(row["pairing_id"])
        for _, seats in played:
            failed = [seat["version_id"] for seat in seats if seat["fault"]]
            ranks = {seat["version_id"]: seat["rank"] for seat in seats}
            if row["pairing_id"] not in ruled:
                taken[row["pairing_id"]].append(points_taken(ranks, failed, what))
    return taken | {pairing_id: [] for pairing_id in ruled}


def _of_points(recorded: _Evaluation, taken: Mapping[int, list[Mapping[int, float]]]) -> Iterator[str]:
    gone = {row["version_id"] for row in recorded.players if row["gone_after"] is not None}
    for row in recorded.drawn:
        players, points = _seated(row), _points(row)
        if recorded.row["stage"] is not None and row["pairing_id"] not in taken and gone.isdisjoint(players):
            is_bye = len(players) == 1 and recorded.form.format.rules.bye_wins
            if sum(points or ()) != (recorded.row["matches"] if is_bye else 0):
                yield f"the points of pairing {row['pairing_id']} come from no match"
        matches = taken.get(row["pairing_id"])
        if matches and points is not None:
            for player, its in zip(players, points, strict=True):
                if round(sum(match[player] for match in matches) - its, DIGITS):
                    yield f"the points of pairing {row['pairing_id']} are not those of its matches"


def finals(archived: Archived) -> Checked:
    """Follow the finals from stage to stage, or redraw their rounds."""
    season = archived.settings
    entries = [row for row in archived.rows("entries") if row["finals_seed"] is not None]
    entries.sort(key=lambda row: (row["division"], row["finals_seed"]))
    if season["finals"] == FinalsFormat.STAGES:
        every = _recorded(archived)
        recorded = sorted((stage for stage in every if stage.row["stage"]), key=lambda stage: int(stage.row["stage"]))
        # The first stage's field, the best seed first: by the last completed evaluation, then by the ladder.
        done = [event for event in every if event.row["stage"] is None and event.row["state"] == EvaluationState.DONE]
        last = max(done, key=lambda event: int(event.row["number"]), default=None)
        players = [] if last is None else last.players
        places = {player["bot_id"]: player["place"] for player in players if player["place"] is not None}
        entries.sort(key=lambda row: (row["finals_seed"], row["division"]))
        entries.sort(key=lambda row: places.get(row["bot_id"], len(players) + 1))
        field = [row["version_id"] for row in entries]
        wrong = (*_of_stages(season, field, recorded), *_of_places(archived, entries, recorded))
        return Checked("finals", f"{counted(len(recorded), 'stage')} followed, from the seeds to the places.", wrong)
    if season["finals"] in (FinalsFormat.ROUND_ROBIN, FinalsFormat.SWISS):
        return Checked("finals", *_rounds_again(archived, season, entries))
    return Checked("finals", "there are none.", ())


def _of_stages(season: Row, field: list[int], recorded: Sequence[_Evaluation]) -> Iterator[str]:
    declared = stages(json.loads(season["stages"]))
    for number, played in enumerate(recorded, 1):
        if played.row["stage"] != number or number > len(declared):
            yield f"Stage {played.row['stage']} was not declared, or one before it is missing."
            return
        stage, form = declared[number - 1], played.form
        if form != stage.form(len(played.seeded), _whole(season, stage.matches), form.rules, season["seats"]):
            yield f"Stage {number} was not played as it was declared."
        if played.seeded != field:
            yield f"The field of stage {number} does not follow from what came before it."
        field = played.going_on
    done = all(played.row["state"] == EvaluationState.DONE for played in recorded)
    if season["finals_done_at"] and done and len(recorded) < len(declared) and len(field) > 1:
        yield f"Stage {len(recorded) + 1} is missing."


def _of_places(archived: Archived, entries: Sequence[Row], recorded: Sequence[_Evaluation]) -> Iterator[str]:
    """Check the places in the finals against the stages, and those in the ranking against the finals."""
    places: dict[int, int] = {}
    for stage in recorded:
        if stage.row["state"] == EvaluationState.DONE:
            going_on = stage.going_on if stage is not recorded[-1] and len(stage.going_on) > 1 else []
            order = sorted(stage.players, key=lambda player: (player["gone_after"] is not None, player["place"]))
            order = [player for player in order if player["version_id"] not in going_on]
            places |= {player["version_id"]: place for place, player in enumerate(order, len(going_on) + 1)}
    if recorded and places != {row["version_id"]: row["finals_place"] for row in entries if row["finals_place"]}:
        yield "The places in the finals do not follow from the stages."
    ranked = [row for row in archived.rows("standings") if row["active"] and row["rank"]]
    for _, group in groupby(ranked, lambda row: row["division"]):
        finalists = [row for row in group if row["finalist"]]
        ranked_places = [places.get(row["version_id"], 0) for row in finalists]
        if ranked_places != sorted(ranked_places):
            yield "The ranking does not follow the places in the finals."
