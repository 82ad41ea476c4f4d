"""Shows a league's challenge as a tournament of two: the same table, the same report.

The league's games share no dice, so there are no pairs of games, and the sequential test counts single games.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType

from deadheat.cli.console import note
from deadheat.cli.local.transcripts import parsed
from deadheat.cli.tournament import records
from deadheat.cli.tournament.games import FaultRecord, GameRecord, game_line
from deadheat.cli.tournament.records import GAMES, Bot, Kind, Request, Stage
from deadheat.cli.tournament.schedule import Deal, Seated
from deadheat.cli.tournament.show import closing_lines, sprt_line, standings_table
from deadheat.cli.tournament.standings import Standings
from deadheat.engine.core import NS_PER_S
from deadheat.engine.transcript import Transcript
from deadheat.league.records.entries import AskedChallenge
from deadheat.league.records.matches import Match
from deadheat.league.states import WITH_RESULT, MatchState
from deadheat.league.words import Uncounting

if TYPE_CHECKING:
    from deadheat.league.sprt import State

TAKEN_OUT = frozenset({Uncounting.VOIDED, Uncounting.REJUDGED})
"""Results that an organiser annulled."""

TOLD_EVERY = 100
"""The number of transcripts between two progress lines of the report."""


def counting(matches: Sequence[Match]) -> list[Match]:
    """Return the matches whose results count in the challenge, in the order in which they were planned."""
    over = (match for match in matches if match.state in WITH_RESULT)
    counted = (match for match in over if match.uncounted is None or match.uncounted.cause not in TAKEN_OUT)
    return sorted(counted, key=lambda match: match.id)


def standings_of(challenge: AskedChallenge, matches: Sequence[Match]) -> Standings:
    """Count the finished games. Without transcripts, the response times are unknown."""
    found = counting(matches)
    deals = [Deal(one.commitment, b"", (Seated(number, _seated(challenge, one)),)) for number, one in enumerate(found)]
    standings = Standings(challenge.sides, deals)
    for number, match in enumerate(found):
        standings.add(_game(challenge, number, match))
    return standings


def lines(challenge: AskedChallenge, standings: Standings) -> Iterator[RenderableType]:
    """Yield the table, the state of the test, and the faults."""
    if not standings.games:
        yield "No game has been played yet."
        return
    yield standings_table(standings, standings.ratings(now=True))
    if (state := _test(challenge)) is not None:
        yield sprt_line(_request(challenge), state)
    yield from closing_lines(standings, [])


def write_report(
    challenge: AskedChallenge, matches: Sequence[Match], transcript_of: Callable[[int], bytes], output: Path
) -> Path:
    """Fetch the transcripts and write a tournament's report. Raises OSError if it cannot be written."""
    from deadheat.cli.tournament import report  # it imports the ratings' numpy

    played = [match for match in counting(matches) if match.state == MatchState.DONE]
    request, lines = _request(challenge), []
    with tempfile.TemporaryDirectory(prefix="deadheat-challenge-") as work:
        for number, match in enumerate(played):
            if number % TOLD_EVERY == TOLD_EVERY - 1:
                note(f"{number + 1} of {len(played)} transcripts", "fetched")
            file = Path(work) / f"{match.id}.jsonl"
            file.write_bytes(data := transcript_of(match.id))
            transcript = parsed(data, f"match {match.id}")
            request = replace(request, variant=transcript.variant)  # the season's variant, the same in all matches
            names = [challenge.sides[player] for player in _seated(challenge, match)]
            line = game_line(match.id, names, match.commitment, transcript, _seconds(transcript), file.name)
            lines.append(json.dumps(line).encode())
        title = f"{' against '.join(challenge.sides)}: challenge {challenge.id}"
        return report.write(Path(work), output, title, records.played(request, lines, Path(GAMES)))


def _seated(challenge: AskedChallenge, match: Match) -> tuple[int, ...]:
    """Return the number of each seat's side."""
    own = (challenge.bot_id, challenge.version)
    return tuple(int((seat.bot_id, seat.version) != own) for seat in match.seats)


def _game(challenge: AskedChallenge, number: int, match: Match) -> GameRecord:
    """Return the league's facts about a game. They lack its times, and void attempts are not this machine's."""
    failed = [(seat.seat, seat.fault) for seat in match.seats if seat.fault is not None]
    return GameRecord(
        number=number,
        players=[challenge.sides[player] for player in _seated(challenge, match)],
        ranks=[seat.rank or 0 for seat in match.seats],
        points=None,
        group=match.commitment,
        faults=[FaultRecord(seat, fault.fault.value, fault.command, fault.elapsed_ms) for seat, fault in failed],
        void_attempts=0,
        seconds=0.0,
        times=[{} for _ in match.seats],
        host_ms=[0.0 for _ in match.seats],
        transcript=None,
        rated=len(failed) < len(match.seats),
    )


def _seconds(transcript: Transcript) -> float:
    """Return how long a game's replies took. The league reports no other times, because it plays series in one go."""
    replies = (reply for exchange in transcript.exchanges for reply in exchange.replies.values())
    return sum(reply.own_ns + reply.stolen_ns for reply in replies) / NS_PER_S


def _test(challenge: AskedChallenge) -> State | None:
    from deadheat.league.sprt import State, Verdict

    if challenge.llr is None or challenge.lower is None or challenge.upper is None:
        return None
    verdict = {"passed": Verdict.ACCEPT, "failed": Verdict.REJECT}.get(challenge.state, Verdict.CONTINUE)
    games = challenge.wins + challenge.draws + challenge.losses
    score = (challenge.wins + challenge.draws / 2) / games if games else None
    return State(verdict, challenge.llr, challenge.lower, challenge.upper, games, score)


def _request(challenge: AskedChallenge) -> Request:
    """Return the request in the form that a tournament's folder stores."""
    from deadheat.engine.games import GAMES as RULES

    own = f"bot {challenge.bot_id}, version {challenge.version}"
    other = f"bot {challenge.opponent_id}, version {challenge.opponent_version}"
    tested = challenge.elo0 is not None and challenge.elo1 is not None
    return Request(
        game=challenge.game,
        rules_version=RULES[challenge.game].rules_version if challenge.game in RULES else 0,
        bots=tuple(Bot(label, given, "", "", ()) for label, given in zip(challenge.sides, (own, other), strict=True)),
        kind=Kind.GAUNTLET,
        seats=2,
        games=challenge.games_limit,
        stages=(Stage(2, challenge.games_limit),),
        sprt={"elo0": challenge.elo0, "elo1": challenge.elo1} if tested else None,  # type: ignore[dict-item]
        seed=f"challenge {challenge.id}",
        keep="all",
        sandbox="the league's",
        started=challenge.created_at.isoformat(),
    )
