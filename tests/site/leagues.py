"""A small league to look at: for each of some real transcripts, a season with its finished match."""

import dataclasses
from pathlib import Path

from sqlmodel import col, select, update

from deadheat.engine.chance import commitment
from deadheat.engine.core import Fault
from deadheat.engine.transcript import decode, encode
from deadheat.league.jobs import FaultRecord
from deadheat.league.outcomes import latencies
from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.service.course.planning import plan
from deadheat.league.service.course.states import set_season_state
from deadheat.league.service.evaluations.beginning import begin_now
from deadheat.league.service.ground.steps import lock_season
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.seasons.seasons import create_season
from deadheat.league.states import ContestKind, SeasonState
from deadheat.league.tables import Match, Series
from deadheat.league.timetable import DeclaredEvaluation
from tests.api.site import Site
from tests.league.outcomes import won

TRANSCRIPTS = Path(__file__).parent.parent / "transcripts"
BOTS = ("expert", "counter", "greedy", "random", "teller", "solid")

SHOWN = {
    "yacht-auction": "yacht-auction",
    "yacht-auction-busy": "yacht-auction",
    "yacht-auction-forfeit": "yacht-auction",
    "betris-large": "betris-large",
    "betris-large-bank": "betris-large",
    "liars-dice": "liars-dice",
    "liars-dice-six": "liars-dice",
}
"""Transcripts and their games."""


def furnish(site: Site) -> dict[str, int]:
    """Fill the league, and return the match of each transcript."""
    shown = {name: play(site, name, game) for name, game in SHOWN.items()}
    _evaluate(site, shown["yacht-auction"])
    return shown


def play(site: Site, name: str, game: str) -> int:
    """Play a season whose first match has that transcript: all its series, as nothing of a deal is shown before."""
    world = site.world
    transcript = decode((TRANSCRIPTS / f"{name}.jsonl").read_bytes())
    with world.db.transaction() as session:
        season = create_season(
            session, world.boss, game=game, name=name, seats=transcript.seats, series_length=transcript.seats
        )
        set_season_state(session, world.boss, season.id, SeasonState.OPEN)
    for seat in range(transcript.seats):
        owner, bot_id = world.bot(BOTS[seat], game)
        world.write(enter, owner, season.id, bot_id)
    world.tick()
    with world.db.reading() as session:
        series_id, *later = session.exec(
            select(Series.id).where(Series.season_id == season.id).order_by(col(Series.id))
        )
    assert series_id is not None
    job = world.claimed(series_id)
    first, *others = (won(match) for match in job.matches)
    players = [job.programs[version].label for version in job.matches[0].seats]
    content = encode(dataclasses.replace(transcript, about={"match": first.match_id, "players": players}))
    first = dataclasses.replace(
        first,
        transcript_sha256=site.blobs.put(content),
        result=transcript.result,
        latencies=latencies(transcript),
        faults=tuple(_fault(seat, fault) for seat, fault in transcript.result.faults.items()),
    )
    with world.db.transaction() as session:
        of_it = col(Match.id) == first.match_id
        its_own = {"seed": transcript.seed, "commitment": commitment(transcript.seed)}
        session.exec(update(Match).where(of_it).values(its_own))
    assert world.finish(job, [first, *others])
    for other_id in later:
        other = world.claim(other_id or 0)
        assert other is not None and world.finish(other, [won(match) for match in other.matches])
    world.write(refit, season.id)
    return first.match_id


def _evaluate(site: Site, match_id: int) -> None:
    """Give the match's season an evaluation whose only round is over."""
    world = site.world
    season_id = world.row(Match, match_id).season_id
    swiss = DeclaredEvaluation(name="Interim", format=EvaluationFormat.SWISS, rounds=1)
    with world.db.transaction() as session:
        begin_now(session, world.boss, season_id, swiss)
        made = plan(session, lock_season(session, season_id), ContestKind.EVALUATION)
    for series_id in made:
        assert world.finish(world.claimed(series_id))
    with world.db.transaction() as session:
        plan(session, lock_season(session, season_id), ContestKind.EVALUATION)


def _fault(seat: int, fault: Fault) -> FaultRecord:
    return FaultRecord(seat, fault, "ROLL", 500.2, "no line in time")
