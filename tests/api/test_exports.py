"""A season as files: every row and cell is what the database holds, every column is explained, no cell is a formula."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session, SQLModel, col, select, update

from deadheat.league import tables
from deadheat.league.causes import NOT_CHECKED, Cause
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.service import exports
from deadheat.league.service.bots.bots import bot_info
from deadheat.league.service.course.planning import plan
from deadheat.league.service.evaluations.beginning import begin_now
from deadheat.league.service.ground.steps import lock_season
from deadheat.league.service.people.teams import create_team
from deadheat.league.service.rankings.standings import leaderboard, refit
from deadheat.league.service.rulings.rulings import rejudge_match, void_match
from deadheat.league.service.seasons.absence import disqualify
from deadheat.league.service.seasons.divisions import assign_division
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.seasons.participation import change_bot
from deadheat.league.service.seasons.seasons import edit_season
from deadheat.league.service.series.hosts import hosts
from deadheat.league.service.views import matches as league_matches
from deadheat.league.states import EVALUATIONS, ContestKind, FinalsFormat
from deadheat.league.timetable import DeclaredEvaluation
from deadheat.league.words import Exported
from tests.api.site import Site
from tests.league.outcomes import abandoned, forfeited, won
from tests.league.seasons import at_gate

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "data-export.md"
FORMULA = "=1+1"
WIDE = "＝＋－＠"  # noqa: RUF001  these are meant


class Furnished:
    """A season with all that can be exported: two divisions, a team, a gate, rulings, faults, attempts, a ranking."""

    def __init__(self, site: Site) -> None:
        self.site, self.world = site, site.world
        world = self.world
        self.season = world.season(
            0, divisions=[("A", None), ("B", None)], finals=FinalsFormat.ROUND_ROBIN, games_per_pair=2
        )
        self.bots, owners = [], [world.author(f"author{number}x") for number in range(4)]
        for number, owner in enumerate(owners):
            _, bot_id = world.bot(owner=owner)
            self.bots.append(bot_id)
            with world.db.transaction() as session:
                if number == 0:
                    change_bot(session, owner, bot_id, team_id=create_team(session, owner, "us").id)
                enter(session, owner, self.season, bot_id, None, at_gate(elo0=0, elo1=50, games=50))
                assign_division(session, world.boss, self.season, bot_id, 1 + number // 2)
        self.play(first=True)
        world.build(world.upload(owners[0], self.bots[0]))  # at a gate
        self.play()
        with world.db.transaction() as session:
            played = league_matches.matches(session, bot_id=self.bots[1], limit=2)
            self.rejudged, self.voided = (match.id for match in played)
            void_match(session, world.boss, self.voided, FORMULA)
            rejudge_match(session, world.boss, self.rejudged, "again")
            disqualify(session, world.boss, self.season, self.bots[3], f" {FORMULA}")
            refit(session, self.season)
            for number, name in ((1, "=cmd|'/c calc'!A1"), (3, WIDE)):
                named = update(tables.Bot).where(col(tables.Bot.id) == self.bots[number])
                session.execute(named.values(name=name))
            swiss = DeclaredEvaluation(name="Now", format=EvaluationFormat.SWISS, rounds=1)
            begin_now(session, world.boss, self.season, swiss)
            plan(session, lock_season(session, self.season), ContestKind.EVALUATION)
            first, third = (bot_info(session, self.bots[number]).name for number in (0, 2))
            names = [f"us/{first}", f"{owners[2].name}/{third}"]
            edit_season(session, world.boss, self.season, panel=names, panel_minimum=1)
        world.build(world.upload(owners[1], self.bots[1]))  # plays the panel
        with world.db.transaction() as session:
            plan(session, lock_season(session, self.season), ContestKind.PANEL)
            why = update(tables.Participant).where(col(tables.Participant.fault).is_not(None))
            session.execute(why.values(fault_why='+1\n=2, "3";4'))

    def play(self, *, first: bool = False) -> None:
        for series_id in self.world.tick():
            job = self.world.claimed(series_id, f"{self.world.host.name}:{series_id}")
            outcomes = [won(match) for match in job.matches]
            if first:
                outcomes[0], outcomes[1] = forfeited(job.matches[0], 0), won(job.matches[1])
                first = False
            elif job.matches[-1].match_id % 2:
                outcomes[-1] = abandoned(job.matches[-1])
            assert self.world.finish(job, outcomes, f"{self.world.host.name}:{series_id}")

    def lines(self, table: Exported, query: str = "") -> list[dict[str, Any]]:
        text = self.site.client.get(f"/v1/seasons/{self.season}/export/{table}.jsonl{query}").text
        return [json.loads(line) for line in text.splitlines()]

    def cells(self, table: Exported) -> list[dict[str, str]]:
        text = self.site.client.get(f"/v1/seasons/{self.season}/export/{table}.csv").text
        return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Furnished]:
    site = Site(tmp_path_factory.mktemp("exports"))
    yield Furnished(site)
    site.close()


KEPT: dict[Exported, tuple[type[SQLModel], dict[str, str]]] = {
    Exported.DIVISIONS: (tables.Division, {"division": "number"}),
    Exported.ENTRIES: (tables.Entry, {"entered_at": "created_at"}),
    Exported.GATES: (tables.Contest, {"gate_id": "id"}),
    Exported.PANELS: (tables.Contest, {"panel_id": "id"}),
    Exported.EVALUATIONS: (tables.Contest, {"evaluation_id": "id"}),
    Exported.SERIES: (tables.Series, {"series_id": "id", "attempts": "attempt"}),
    Exported.MATCHES: (tables.Match, {"match_id": "id"}),
    Exported.PARTICIPANTS: (tables.Participant, {}),
    Exported.LATENCIES: (tables.LatencySummary, {}),
    Exported.ATTEMPTS: (tables.Attempt, {"attempt_id": "id", "series_attempt": "attempt"}),
}
"""Exported tables that are rows of the database, and their columns that have other names there."""

FURNISHED = [table for table in Exported if table is not Exported.SOURCES]
"""All tables except SOURCES, which is empty until the season is over (tests/league/test_public.py)."""

KINDS = {
    Exported.GATES: (ContestKind.GATE,),
    Exported.PANELS: (ContestKind.PANEL,),
    Exported.EVALUATIONS: EVALUATIONS,
}


def stored(session: Session, table: Exported, season_id: int) -> list[dict[str, Any]]:
    row_type, _ = KEPT[table]
    statement: Any = select(row_type)
    if row_type is tables.Contest:
        statement = statement.where(col(tables.Contest.kind).in_(KINDS[table]))
    if "season_id" in row_type.model_fields:
        statement = statement.where(row_type.season_id == season_id)  # type: ignore[attr-defined]
    else:
        of_season = select(tables.Match.id).where(tables.Match.season_id == season_id)
        statement = statement.where(row_type.match_id.in_(of_season))  # type: ignore[attr-defined]
    rows: Any = session.exec(statement.order_by(*row_type.__table__.primary_key))  # type: ignore[attr-defined]
    return [row.model_dump(mode="json", exclude={"seed"}) for row in rows]


def plain(value: Any) -> Any:
    """Return a stored value as exports write it."""
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    return value.replace("Z", "+00:00") if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value) else value


@pytest.mark.parametrize("table", KEPT)
def test_an_export_is_what_the_database_holds(furnished: Furnished, table: Exported) -> None:
    names = KEPT[table][1]
    rows = furnished.world.read(stored, table, furnished.season)
    lines = furnished.lines(table)
    assert len(lines) == len(rows) >= 1
    for line, row in zip(lines, rows, strict=True):
        for name, value in line.items():
            kept = names.get(name, name)
            if kept in row:
                assert value == plain(row[kept]), name


@pytest.mark.parametrize("table", list(Exported))
def test_an_export_is_the_same_page_by_page(furnished: Furnished, monkeypatch, table: Exported) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        after: int | None = 0
        while after is not None:
            page, after = furnished.world.read(exports.export_page, exports.Scope(furnished.season), table, after)
            yield from page

    whole = list(rows())
    monkeypatch.setattr(exports, "ROWS", 1)
    assert sorted(map(repr, rows())) == sorted(map(repr, whole))


@pytest.mark.parametrize("table", [Exported.SERIES, Exported.ATTEMPTS])
def test_a_machine_is_known_by_its_number_alone(furnished: Furnished, table: Exported) -> None:
    name = furnished.world.host.name
    with furnished.world.db.reading() as session:
        number = next(host.number for host in hosts(session) if host.name == name)
        workers = set(session.exec(select(tables.Attempt.worker).where(col(tables.Attempt.worker).is_not(None))))
    assert {str(worker).partition(":")[0] for worker in workers} == {name}
    played = [line for line in furnished.lines(table) if line.get("attempts", 1)]
    assert played
    assert {line["machine"] for line in played} == {number}
    assert not any(name in str(value) for line in played for value in line.values())


def test_reasons_of_an_unfit_machine_are_exported_without_an_engines_words(furnished: Furnished) -> None:
    db, inner = furnished.world.db, f"{NOT_CHECKED}: http://10.20.30.40 does not answer"
    attempt = col(tables.Attempt.id) == furnished.lines(Exported.ATTEMPTS)[0]["attempt_id"]
    with db.reading() as session:
        before = session.exec(select(tables.Attempt.evidence).where(attempt)).one()
    for kept, shown in (
        ({Cause.HOST_UNFIT: [inner], "n": 1}, {Cause.HOST_UNFIT: [f"{NOT_CHECKED}."], "n": 1}),
        (before, before),
    ):
        with db.transaction() as session:
            session.execute(update(tables.Attempt).where(attempt).values(evidence=kept))
        assert json.loads(furnished.lines(Exported.ATTEMPTS)[0]["evidence"]) == shown


def test_standings_are_the_newest_ranking_with_its_intervals(furnished: Furnished) -> None:
    board = furnished.world.read(leaderboard, furnished.season)
    lines = furnished.lines(Exported.STANDINGS)
    every = board.standings["rows"] + board.standings["unranked"]
    assert len(lines) == len(every) >= 4
    for line, row in zip(lines, every, strict=True):
        assert all(line[name] == row[name] for name in line.keys() & row.keys())
        assert line["log_sha256"] == board.log_sha256
    assert {"elo", "se", "low", "high", "rank_low", "rank_high"} <= lines[0].keys()
    assert {line["active"] for line in lines[: len(board.standings["rows"])]} == {True}


def test_what_an_export_says_beside_its_rows(furnished: Furnished) -> None:
    (season,) = furnished.lines(Exported.SEASON)
    assert (season["id"], season["finals"], season["state"]) == (furnished.season, "round-robin", "open")
    assert [row["name"] for row in furnished.lines(Exported.DIVISIONS)] == ["A", "B"]
    (member,) = furnished.lines(Exported.TEAMS)
    assert (member["team"], member["captain"]) == ("us", True)
    entries = furnished.lines(Exported.ENTRIES)
    assert [(entry["team"], entry["division"], entry["absence"]) for entry in entries] == [
        ("us", 1, None), (None, 1, None), (None, 2, None), (None, 2, "disqualified"),
    ]  # fmt: skip
    series = furnished.lines(Exported.SERIES)
    assert {row["purpose"] for row in series} == {"ladder", "panel", "challenge", "evaluation"}
    assert all((row["gate_id"] is not None) == (row["purpose"] == "challenge") for row in series)
    (panel,) = furnished.lines(Exported.PANELS)
    assert {row["panel_id"] for row in series if row["purpose"] == "panel"} == {panel["panel_id"]}
    matches = {row["match_id"]: row for row in furnished.lines(Exported.MATCHES)}
    assert matches[furnished.voided]["uncounted"] == "voided" and matches[furnished.rejudged]["uncounted"] == "rejudged"
    assert matches[matches[furnished.rejudged]["rejudged_as"]]["state"] == "scheduled"
    assert all((row["seed"] is not None) == (row["state"] == "done") for row in matches.values())
    assert {"gate", "disqualified", None} <= {row["uncounted"] for row in matches.values()}


@pytest.mark.parametrize("table", FURNISHED)
def test_the_spreadsheet_has_the_same_cells_and_no_formula(furnished: Furnished, table: Exported) -> None:
    lines, cells = furnished.lines(table), furnished.cells(table)
    assert len(lines) == len(cells) >= 1
    for line, row in zip(lines, cells, strict=True):
        assert line.keys() == row.keys()
        for name, value in line.items():
            guarded = isinstance(value, str) and value.lstrip(" ").startswith((*"=+-@\t\r\n", *WIDE))
            guarded &= name != "points"
            assert row[name] == ("" if value is None else f"'{value}" if guarded else str(value))


def test_a_name_like_a_formula_a_quote_and_a_line_break_stay_text(furnished: Furnished) -> None:
    text = furnished.site.client.get(f"/v1/seasons/{furnished.season}/export/participants.csv").text
    assert "\"'=cmd|'/c calc'!A1\"" in text
    assert f'"\'{WIDE}"' in text
    assert '"\'+1\n=2, ""3"";4"' in text, "one cell, whichever sign parts the columns"
    reasons = {row["absence_reason"] for row in furnished.cells(Exported.ENTRIES)}
    assert f"' {FORMULA}" in reasons


def test_points_below_zero_are_numbers(furnished: Furnished) -> None:
    with furnished.site.world.db.transaction() as session:
        scored = select(tables.Participant).where(col(tables.Participant.points).is_not(None))
        one, other = session.exec(scored.limit(2)).all()
        one.points, other.points = "-12419", "-7/2"
    assert {"-12419", "-7/2"} <= {row["points"] for row in furnished.cells(Exported.PARTICIPANTS)}


def test_a_bots_export_is_its_part_of_the_seasons(furnished: Furnished) -> None:
    bot = furnished.bots[0]
    for table in Exported:
        own, every = furnished.lines(table, f"?bot={bot}"), furnished.lines(table)
        assert all(row in every for row in own)
        assert own or table not in {Exported.ENTRIES, Exported.MATCHES, Exported.PARTICIPANTS, Exported.ATTEMPTS}
    assert {row["bot_id"] for row in furnished.lines(Exported.STANDINGS, f"?bot={bot}")} == {bot}
    assert len(furnished.lines(Exported.SERIES, f"?bot={bot}")) < len(furnished.lines(Exported.SERIES))


@pytest.mark.parametrize("table", FURNISHED)
def test_every_column_is_explained(furnished: Furnished, table: Exported) -> None:
    section = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (found,) = [part for part in section if part.startswith(f"`{table}`")]
    explained = re.findall(r"`([a-z0-9_]+)`", "".join(re.findall(r"^\| (`.*?) \|", found, re.MULTILINE)))
    assert explained == list(furnished.lines(table)[0])
