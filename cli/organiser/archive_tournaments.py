"""Recomputes the course of a season's evaluations and finals from its archive: every draw, point and place."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from deadheat.cli.organiser.archive import Archived
from deadheat.cli.organiser.archive_rounds import rounds_again
from deadheat.cli.statistics.recount import Row, rows
from deadheat.engine.figures import counted
from deadheat.engine.games import same_deals
from deadheat.league.pairing.figures import Meeting
from deadheat.league.pairing.seating import whole_turns
from deadheat.league.pairing.stages import stages
from deadheat.league.pairing.tournament import Form, next_rounds, standings
from deadheat.league.states import EvaluationFormat, EvaluationState, FinalsFormat, MatchState


@dataclass(frozen=True, slots=True)
class Checked:
    """One check: its subject, and a sentence about each error."""

    name: str
    sentence: str
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Told:
    """An evaluation according to the archive's tables: players by seed, pairings by round and board."""

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
        return Form(format_, row["rounds"], row["matches"], row["keep"], further, third_place, rules, ties)

    @property
    def seeded(self) -> list[int]:
        """The field, the best seed first."""
        return [one["version_id"] for one in self.players]

    @property
    def going_on(self) -> list[int]:
        """The versions that advance to the next stage, the best first, according to the recorded places."""
        there = [one for one in self.players if one["gone_after"] is None and one["place"] is not None]
        return [one["version_id"] for one in sorted(there, key=lambda one: one["place"])][: self.row["keep"]]

    def present(self, number: int) -> set[int]:
        """Return the versions that took part when that round was drawn."""
        gone = {one["version_id"]: one["gone_after"] for one in self.players}
        if self.row["stage"] is not None:
            return {version for version, after in gone.items() if after is None or after >= number}
        seated = [one for one in self.drawn if one["round"] == number]  # older evaluations do not record this elsewhere
        return {one[place] for one in seated for place in ("first_id", "second_id")} - {None}

    def meetings(self) -> list[Meeting]:
        """Return the played pairings in the form that the rules require."""
        names = ("round", "first_id", "second_id", "first_points", "second_points")
        drawn = ([one[name] for name in names] for one in self.drawn)
        return [Meeting(round_, one, two, ones or 0.0, twos or 0.0) for round_, one, two, ones, twos in drawn]


def evaluations(archived: Archived) -> Checked:
    """Redraw all rounds of all evaluations and stages, add up their points, and place everybody."""
    told = _told(archived)
    taken = _taken(archived)
    wrong = []
    for one in told:
        clauses = [*_of_rounds(one), *_of_points(one, taken)]
        wrong += [f"Evaluation {one.row['evaluation_id']}: {clause}." for clause in clauses]
    return Checked("evaluations", f"{counted(len(told), 'evaluation')} drawn, counted and placed again.", tuple(wrong))


def _told(archived: Archived) -> list[_Told]:
    season_id = archived.season_id
    players, pairings = defaultdict(list), defaultdict(list)
    for row in rows(archived, season_id, "evaluation_players"):
        players[row["evaluation_id"]].append(row)
    for row in rows(archived, season_id, "evaluation_pairings"):
        pairings[row["evaluation_id"]].append(row)
    return [
        _Told(
            row,
            sorted(players[row["evaluation_id"]], key=lambda one: one["seed"]),
            sorted(pairings[row["evaluation_id"]], key=lambda one: (one["round"], one["board"])),
        )
        for row in rows(archived, season_id, "evaluations")
    ]


def _of_rounds(told: _Told) -> Iterator[str]:
    """Yield a sentence for each part of the draw and the places that does not follow from earlier rounds."""
    played = told.meetings()
    drawn = {number: list(found) for number, found in groupby(played, lambda one: one.round)}
    number = 1
    while number in drawn:
        before = [one for one in played if one.round < number]
        due = next_rounds(told.form, told.seeded, told.present(number), before)
        for pairs, bye in due or [([], None)]:
            found = drawn.pop(number, [])
            pairs_found = [(one.first, one.second) for one in found if one.second is not None]
            byes = [one.first for one in found if one.second is None]
            if pairs_found != pairs or byes != ([] if bye is None else [bye]):
                yield f"round {number} is not what its rules draw"
            number += 1
    if drawn:
        yield "its rounds do not follow each other"
    if told.row["state"] != EvaluationState.DONE:
        return
    there = {one["version_id"] for one in told.players if one["gone_after"] is None}
    if told.row["stage"] is not None and next_rounds(told.form, told.seeded, there, played):
        yield "it ended before everything was played"
    placed = {one.player: one for one in standings(told.form, told.seeded, there, played)}
    if any(placed[one["version_id"]].place != one["place"] for one in told.players):
        yield "its places do not follow from its points"
    kept = {one["version_id"]: json.loads(one["figures"]) for one in told.players if one.get("figures")}
    if any(placed[version].figures != figures for version, figures in kept.items()):
        yield "its tie-breaks do not follow from its points"


def _taken(archived: Archived) -> Mapping[int, list[Mapping[int, float]]]:
    """Return, for each pairing with matches, the points of each match by version; none if one of them has a ruling."""
    season_id = archived.season_id
    series = (row for row in rows(archived, season_id, "series") if row["pairing_id"] is not None)
    pairing = {row["series_id"]: row["pairing_id"] for row in series}
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
    return found | {pairing_id: [] for pairing_id in ruled}


def _points(seats: Sequence[Row]) -> Mapping[int, float]:
    """Return the points by version: win 1, draw 1/2, loss or own fault 0."""
    one, other = seats
    ahead = other["rank"] - one["rank"]
    shares = (1.0, 0.0) if ahead > 0 else (0.0, 1.0) if ahead < 0 else (0.5, 0.5)
    if one["fault"] or other["fault"]:
        shares = (float(not one["fault"]), float(not other["fault"]))
    return {one["version_id"]: shares[0], other["version_id"]: shares[1]}


def _of_points(told: _Told, taken: Mapping[int, list[Mapping[int, float]]]) -> Iterator[str]:
    gone = {one["version_id"] for one in told.players if one["gone_after"] is not None}
    for row in told.drawn:
        unplayed = row["pairing_id"] not in taken and not gone & {row["first_id"], row["second_id"]}
        if told.row["stage"] is not None and unplayed:
            bye = told.row["matches"] if row["second_id"] is None and told.form.format is EvaluationFormat.SWISS else 0
            if (row["first_points"] or 0, row["second_points"] or 0) != (bye, 0):
                yield f"the points of pairing {row['pairing_id']} come from no match"
        for place in ("first", "second"):
            matches = taken.get(row["pairing_id"])
            if matches and row[f"{place}_points"] is not None:
                points = sum(match[row[f"{place}_id"]] for match in matches)
                if points != row[f"{place}_points"]:
                    yield f"the points of pairing {row['pairing_id']} are not those of its matches"


def finals(archived: Archived) -> Checked:
    """Follow the finals from stage to stage, or redraw their rounds."""
    season_id = archived.season_id
    (season,) = rows(archived, season_id, "season")
    entries = [row for row in rows(archived, season_id, "entries") if row["finals_seed"] is not None]
    entries.sort(key=lambda row: (row["division"], row["finals_seed"]))
    if season["finals"] == FinalsFormat.STAGES:
        everything = _told(archived)
        told = sorted((one for one in everything if one.row["stage"]), key=lambda one: int(one.row["stage"]))
        wrong = (*_of_stages(season, _first_field(entries, everything), told), *_of_places(archived, entries, told))
        return Checked("finals", f"{counted(len(told), 'stage')} followed, from the seeds to the places.", wrong)
    if season["finals"] in (FinalsFormat.ROUND_ROBIN, FinalsFormat.SWISS):
        return Checked("finals", *rounds_again(archived, season, entries))
    return Checked("finals", "there are none.", ())


def _first_field(entries: Sequence[Row], told: Sequence[_Told]) -> list[int]:
    """Return the first stage's field, the best seed first: by the last completed evaluation, then by the ladder."""
    done = [one for one in told if one.row["stage"] is None and one.row["state"] == EvaluationState.DONE]
    last = max(done, key=lambda one: int(one.row["number"]), default=None)
    places = {} if last is None else {one["bot_id"]: one["place"] for one in last.players if one["place"] is not None}
    none = 1 if last is None else len(last.players) + 1
    return [row["version_id"] for row in sorted(entries, key=lambda row: places.get(row["bot_id"], none))]


def _of_stages(season: Row, field: list[int], told: Sequence[_Told]) -> Iterator[str]:
    declared = stages(json.loads(season["stages"]))
    for number, one in enumerate(told, 1):
        if one.row["stage"] != number or number > len(declared):
            yield f"Stage {one.row['stage']} was not declared, or one before it is missing."
            return
        stage = declared[number - 1]
        whole = same_deals(season["game"])
        matches = whole_turns(stage.matches, season["seats"]) if whole else stage.matches
        if one.form != stage.form(len(one.seeded), matches, one.form.rules):
            yield f"Stage {number} was not played as it was declared."
        if one.seeded != field:
            yield f"The field of stage {number} does not follow from what came before it."
        field = one.going_on
    done = all(one.row["state"] == EvaluationState.DONE for one in told)
    if season["finals_done_at"] and done and len(told) < len(declared) and len(field) > 1:
        yield f"Stage {len(told) + 1} is missing."


def _of_places(archived: Archived, entries: Sequence[Row], told: Sequence[_Told]) -> Iterator[str]:
    """Check the places in the finals against the stages, and those in the ranking against the finals."""
    places: dict[int, int] = {}
    for one in told:
        if one.row["state"] == EvaluationState.DONE:
            going_on = one.going_on if one is not told[-1] and len(one.going_on) > 1 else []
            order = sorted(one.players, key=lambda player: (player["gone_after"] is not None, player["place"]))
            order = [player for player in order if player["version_id"] not in going_on]
            places |= {player["version_id"]: place for place, player in enumerate(order, len(going_on) + 1)}
    if told and places != {row["version_id"]: row["finals_place"] for row in entries if row["finals_place"]}:
        yield "The places in the finals do not follow from the stages."
    ranked = [row for row in rows(archived, archived.season_id, "standings") if row["active"] and row["rank"]]
    for _, found in groupby(ranked, lambda row: row["division"]):
        finalists = [row for row in found if row["finalist"]]
        told_places = [places.get(row["version_id"], 0) for row in finalists]
        if told_places != sorted(told_places):
            yield "The ranking does not follow the places in the finals."
