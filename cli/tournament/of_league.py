"""Writes the report of a duel on a league's machines: that of a gauntlet at home.

The league's games share dice only where a test counts pairs of them; otherwise there are no pairs in the report.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from deadheat.cli.console import note
from deadheat.cli.local.transcripts import parsed
from deadheat.cli.tournament.records import Bot, Kind, Request, Stage, record_of
from deadheat.cli.tournament.standings import standings_of
from deadheat.engine.core import NS_PER_S
from deadheat.engine.transcript import Transcript
from deadheat.league.records.contests import ContestDetail
from deadheat.league.records.matches import Match
from deadheat.league.states import MatchState
from deadheat.league.words import Uncounting

TAKEN_OUT = frozenset({Uncounting.VOIDED, Uncounting.REJUDGED})
"""Results that an organiser annulled."""

TOLD_EVERY = 100
"""The number of transcripts between two progress lines of the report."""


def write_report(
    contest: ContestDetail, matches: Sequence[Match], transcript_of: Callable[[int], bytes], output: Path
) -> Path:
    """Fetch the transcripts and write a tournament's report. Raises OSError if it cannot be written."""
    from deadheat.cli.tournament import report  # it imports the ratings' numpy

    over = sorted((match for match in matches if match.state == MatchState.DONE), key=lambda match: match.id)
    played = [match for match in over if match.uncounted is None or match.uncounted.cause not in TAKEN_OUT]
    places = {(side.bot_id, side.version): place for place, side in enumerate(contest.versions)}
    request, games = _request(contest), []
    with tempfile.TemporaryDirectory(prefix="deadheat-contest-") as work:
        for number, match in enumerate(played):
            if number % TOLD_EVERY == TOLD_EVERY - 1:
                note(f"{number + 1} of {len(played)} transcripts", "fetched")
            file = Path(work) / f"{match.id}.jsonl"
            file.write_bytes(data := transcript_of(match.id))
            transcript = parsed(data, f"match {match.id}")
            request = replace(request, variant=transcript.variant)  # the season's variant, the same in all matches
            names = [request.labels[places.get((seat.bot_id, seat.version), 1)] for seat in match.seats]
            games.append(record_of(match.id, names, match.commitment, transcript, _seconds(transcript), file.name))
        title = f"{contest.title}: contest {contest.id}"
        return report.write(Path(work), output, title, standings_of(request, games, paired=contest.paired))


def _seconds(transcript: Transcript) -> float:
    """Return how long a game's replies took. The league reports no other times, because it plays series in one go."""
    replies = (reply for exchange in transcript.exchanges for reply in exchange.replies.values())
    return sum(reply.own_ns + reply.stolen_ns for reply in replies) / NS_PER_S


def _request(contest: ContestDetail) -> Request:
    """Return the request in the form that a tournament's folder stores."""
    from deadheat.engine.games import GAMES as RULES

    alone = len({side.bot for side in contest.versions}) == len(contest.versions)
    labels = [side.bot if alone else f"{side.author}/{side.bot} v{side.version}" for side in contest.versions]
    given = [f"bot {side.bot_id}, version {side.version}" for side in contest.versions]
    games = contest.matches * (len(labels) - 1)
    tested = contest.llr is not None
    return Request(
        game=contest.game,
        rules_version=RULES[contest.game].rules_version if contest.game in RULES else 0,
        bots=tuple(Bot(label, place, "", "", ()) for label, place in zip(labels, given, strict=True)),
        kind=Kind.GAUNTLET,
        seats=2,
        games=games,
        stages=(Stage(len(labels), games),),
        sprt={"elo0": contest.elo0, "elo1": contest.elo1} if tested else None,  # type: ignore[dict-item]
        seed=f"contest {contest.id}",
        keep="all",
        sandbox="the league's",
        started=contest.created_at.isoformat(),
    )
