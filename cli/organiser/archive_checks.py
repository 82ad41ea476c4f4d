"""What `deadheat season verify` checks: each member, transcript, figure of the ranking, seed and evaluation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import track

from deadheat.cli.console import err, fail
from deadheat.cli.organiser.archive import Archived, opened
from deadheat.cli.output import Output
from deadheat.cli.server.wire import Refused
from deadheat.cli.statistics.recount import dice_of, recount_of, rows
from deadheat.engine.chance import commitment
from deadheat.engine.figures import counted
from deadheat.engine.transcript import decode
from deadheat.league.pairing.contest import Meeting, draw, round_robin_standings, swiss_standings
from deadheat.league.pairing.rounds import berger
from deadheat.league.states import EvaluationFormat, EvaluationState, MatchState
from deadheat.league.verification.agreement import verdict

Row = Mapping[str, Any]

MOST_SHOWN = 20
"""Sentences of one check that people are shown."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One check: what was looked at, and a sentence about everything that is wrong."""

    name: str
    sentence: str
    wrong: tuple[str, ...]


def verify(
    file: Annotated[Path, typer.Argument(help="An archive of `season archive`.")],
) -> Iterator[Output]:
    """Check an archive by itself: every transcript by the rules, the ranking, the dice and all evaluations.

    Exit code 1 if anything is wrong.
    """
    failed = 0
    with opened(file) as archived:
        for check in checks(archived):
            failed += bool(check.wrong)
            answer = {"check": check.name, "verified": not check.wrong, "wrong": list(check.wrong)}
            yield Output(answer | {"detail": check.sentence}, _lines(check))
    if failed:
        fail(f"{file}: {counted(failed, 'check')} failed")


def _lines(check: Checked) -> Iterator[str]:
    yield f"{'WRONG' if check.wrong else 'right'}  {check.name}: {check.sentence}"
    yield from (f"       {sentence}" for sentence in check.wrong[:MOST_SHOWN])
    if len(check.wrong) > MOST_SHOWN:
        yield f"       and {len(check.wrong) - MOST_SHOWN} more"


def checks(archived: Archived) -> Iterator[Checked]:
    """Check everything. What is missing is wrong, too."""
    wrong = tuple(archived.wrong_members())
    yield Checked("members", f"the manifest names {counted(archived.member_count, 'member')}.", wrong)
    for check in (transcripts, ranking, dice, evaluations):
        try:
            yield check(archived)
        except (Refused, ValueError, KeyError, TypeError, IndexError) as error:
            yield Checked(check.__name__, "they cannot be read.", (f"{type(error).__name__}: {error}",))


def transcripts(archived: Archived) -> Checked:
    """Re-simulate every transcript, and compare it with the tables."""
    seats = groupby(rows(archived, archived.season_id, "participants"), lambda row: row["match_id"])
    by_match = {match_id: list(found) for match_id, found in seats}
    played = [row for row in rows(archived, archived.season_id, "matches") if row["state"] == MatchState.DONE]
    wrong = []
    for row in track(played, "transcripts", console=err, transient=True, disable=not err.is_terminal):
        clauses = _of_transcript(archived.transcript(row["match_id"]), row, by_match.get(row["match_id"], []))
        wrong += [f"Match {row['match_id']}: {clause}." for clause in clauses]
    return Checked("transcripts", f"{counted(len(played), 'match', 'matches')} played again.", tuple(wrong))


def _of_transcript(data: bytes, row: Row, seats: Sequence[Row]) -> Iterator[str]:
    if sha256(data).hexdigest() != row["transcript_sha256"]:
        yield "the transcript is not the one of the table"
        return
    transcript = decode(data)
    if commitment(transcript.seed) != row["commitment"]:
        yield "its seed does not match the commitment"
    if row["seed"] and transcript.seed.hex() != row["seed"]:
        yield "its seed is not the table's"
    if transcript.about.get("match") != row["match_id"] or transcript.attempt != row["attempt"]:
        yield "its number or attempt is not the table's"
    result = transcript.result
    told = {seat["seat"]: (seat["rank"], seat["fault"] or None) for seat in seats}
    if told != {seat: (rank, result.faults.get(seat)) for seat, rank in enumerate(result.ranks)}:
        yield "its places or faults are not those of the table"
    right, why = verdict(transcript, ())
    if right is not True:
        yield f"{why}"


def ranking(archived: Archived) -> Checked:
    """Compute the newest ranking again from the tables; before it is published, it may lag behind them."""
    found = recount_of(archived, archived.season_id)
    lags = archived.season(archived.season_id).published_at is None and len(found.differences) == 1
    if lags and "log_sha256" in found.differences[0]:
        return Checked("ranking", "not compared: results have come since it was made, and it is not final.", ())
    told = f"computed again from {counted(found.games, 'game')}." if found.snapshot_id else "nothing is ranked."
    return Checked("ranking", told, found.differences)


def dice(archived: Archived) -> Checked:
    """Check all seeds against the season's commitment."""
    found = dice_of(archived, archived.season_id)
    return Checked("dice", found.sentence, found.differences)


def evaluations(archived: Archived) -> Checked:
    """Draw all rounds of all evaluations again, add up their points, and place everybody."""
    season_id = archived.season_id
    players, pairings = defaultdict(list), defaultdict(list)
    for row in rows(archived, season_id, "evaluation_players"):
        players[row["evaluation_id"]].append(row)
    for row in rows(archived, season_id, "evaluation_pairings"):
        pairings[row["evaluation_id"]].append(row)
    taken = _taken(archived)
    wrong, count = [], 0
    for row in rows(archived, season_id, "evaluations"):
        number = row["evaluation_id"]
        seeded = [one["version_id"] for one in sorted(players[number], key=lambda one: one["seed"])]
        drawn = sorted(pairings[number], key=lambda one: (one["round"], one["board"]))
        count += 1
        wrong += [f"Evaluation {number}: {clause}." for clause in _of_evaluation(row, seeded, players[number], drawn)]
        wrong += [f"Evaluation {number}: {clause}." for clause in _of_points(drawn, taken)]
    return Checked("evaluations", f"{counted(count, 'evaluation')} drawn, counted and placed again.", tuple(wrong))


def _of_evaluation(row: Row, seeded: Sequence[int], players: Sequence[Row], drawn: Sequence[Row]) -> Iterator[str]:
    swiss = row["format"] == EvaluationFormat.SWISS
    played = [
        Meeting(
            one["round"], one["first_id"], one["second_id"], one["first_points"] or 0.0, one["second_points"] or 0.0
        )
        for one in drawn
    ]
    again = berger(list(seeded)) if not swiss and drawn else []
    for number, found in groupby(played, lambda one: one.round):
        meetings = list(found)
        pairs = [(one.first, one.second) for one in meetings if one.second is not None]
        bye = next((one.first for one in meetings if one.second is None), None)
        if swiss:
            present = {version for pair in pairs for version in pair} | ({bye} if bye is not None else set())
            expected = draw(seeded, present, [one for one in played if one.round < number])
        else:
            expected = (list(again[number - 1].pairs), again[number - 1].bye)
        if (pairs, bye) != expected:
            yield f"round {number} is not what its rules draw"
    if row["state"] == EvaluationState.DONE:
        places = (swiss_standings if swiss else round_robin_standings)(seeded, played)
        told = {one["version_id"]: one["place"] for one in players}
        if {one.player: one.place for one in places} != told:
            yield "its places do not follow from its points"


def _taken(archived: Archived) -> Mapping[int, list[Mapping[int, float]]]:
    """For each pairing the points of each of its matches by version; of pairings that nobody ruled on."""
    season_id = archived.season_id
    pairing = {
        row["series_id"]: row["pairing_id"]
        for row in rows(archived, season_id, "series")
        if row["pairing_id"] is not None
    }
    matches = {}
    ruled = set()
    for row in rows(archived, season_id, "matches"):
        if row["series_id"] in pairing:
            matches[row["match_id"]] = pairing[row["series_id"]]
            if row["state"] != MatchState.DONE or row["voided"]:
                ruled.add(pairing[row["series_id"]])
    found = defaultdict(list)
    for match_id, seats in groupby(rows(archived, season_id, "participants"), lambda row: row["match_id"]):
        if match_id in matches and matches[match_id] not in ruled:
            found[matches[match_id]].append(_points(list(seats)))
    return found


def _points(seats: Sequence[Row]) -> Mapping[int, float]:
    """Win 1, draw 1/2, loss and own failure 0."""
    one, other = seats
    ahead = other["rank"] - one["rank"]
    shares = (1.0, 0.0) if ahead > 0 else (0.0, 1.0) if ahead < 0 else (0.5, 0.5)
    if one["fault"] or other["fault"]:
        shares = (float(not one["fault"]), float(not other["fault"]))
    return {one["version_id"]: shares[0], other["version_id"]: shares[1]}


def _of_points(drawn: Sequence[Row], taken: Mapping[int, list[Mapping[int, float]]]) -> Iterator[str]:
    for row in drawn:
        for place in ("first", "second"):
            matches = taken.get(row["pairing_id"])
            if matches and row[f"{place}_points"] is not None:
                points = sum(match[row[f"{place}_id"]] for match in matches)
                if points != row[f"{place}_points"]:
                    yield f"the points of pairing {row['pairing_id']} are not those of its matches"
