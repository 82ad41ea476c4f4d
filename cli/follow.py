"""Waiting for what a server does: a build, a bot's matches. `deadheat watch`.

The API is polled: every wait is bounded by a time that the caller names, and each look costs the server one or two
cheap answers. Matches end in any order, so what was seen is remembered by number, and each look goes over the newest
hundred.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

import typer

from cli.api_client import PAGE, Client
from cli.api_models import Match, SeatView, Version
from cli.author import find_bot
from cli.client import NO_ANSWER, AsJson, Server, Token, connect, print_json
from cli.console import fail, out, plain

POLL_SECONDS = 0.5
ENDED = ("done", "abandoned")
DEFAULT_TIMEOUT_S = 1800

Timeout = Annotated[int, typer.Option("--timeout", min=1, max=30 * 86_400, help="Seconds after which to give up.")]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(watch)


class Patience:
    """A bound on waiting; ends the command with exit code 3 when it is used up."""

    def __init__(self, timeout_s: float, what: str) -> None:
        self._until = time.monotonic() + timeout_s
        self._sentence = f"{what} within {timeout_s:.0f} s; it goes on without us"

    def pause(self) -> None:
        """Until the next look."""
        left = self._until - time.monotonic()
        if left <= 0:
            fail(self._sentence, NO_ANSWER)
        time.sleep(min(POLL_SECONDS, left))


def watch(
    bot: Annotated[str, typer.Argument(help="A bot of yours by name, or anyone's by number; none: all bots.")] = "",
    season: Annotated[int, typer.Option(min=0, help="Only matches of this season; 0: of any.")] = 0,
    matches: Annotated[int, typer.Option(min=0, help="End after so many; 0: not before Ctrl-C.")] = 0,
    timeout: Timeout = 86_400,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Show matches as they end, and first what becomes of a version of yours that is being built."""
    patience = Patience(timeout, "not all matches have ended" if matches else "Ctrl-C did not come")
    with connect(server, token) as client:
        bot_id = find_bot(client, bot) if bot else 0
        news = News(client, bot_id, season)
        news.skip()
        if bot and not bot.isdigit():
            _newest_build(client, bot_id, patience, as_json)
        shown = 0
        while not matches or shown < matches:
            for match in news.look()[: matches - shown if matches else None]:
                shown += 1
                tell(match, bot_id, as_json)
            if not matches or shown < matches:
                patience.pause()


def _newest_build(client: Client, bot_id: int, patience: Patience, as_json: bool) -> None:
    versions = client.versions(bot_id)
    if not versions or versions[0].ended:
        return
    for version in states(client, versions[0], patience):
        if as_json:
            print_json({"event": "version", **version.model_dump(mode="json")})
        else:
            out.print(state_line(version))


def states(client: Client, version: Version, patience: Patience) -> Iterator[Version]:
    """The version now and whenever its state changes, until it is ready or broken."""
    yield version
    while not version.ended:
        patience.pause()
        seen, version = version, client.version(version.bot_id, version.number)
        if (version.state, version.attempt, version.reason) != (seen.state, seen.attempt, seen.reason):
            yield version


def state_line(version: Version) -> str:
    """What becomes of a version, in a line."""
    words = {"uploaded": "waits to be built", "building": "is built and tried", "ready": "is ready"}
    again = f", attempt {version.attempt}" if version.attempt > 1 and not version.ended else ""
    reason = f": {version.reason}" if version.reason else ""
    return plain(f"Version {version.number} {words.get(version.state, f'is {version.state}')}{again}{reason}")


@dataclass
class News:
    """Matches that ended since the last look."""

    client: Client
    bot_id: int
    season_id: int
    seen: set[int] = field(default_factory=set)

    def skip(self) -> None:
        """What ended before is no news."""
        self.seen.update(match.id for state in ENDED for match in self._newest(state))

    def look(self) -> list[Match]:
        """In the order in which they ended."""
        found = [match for state in ENDED for match in self._newest(state) if match.id not in self.seen]
        self.seen.update(match.id for match in found)
        return sorted(found, key=lambda match: (match.finished_at is None, match.finished_at, match.id))

    def _newest(self, state: str) -> Iterator[Match]:
        return self.client.matches(season=self.season_id, bot=self.bot_id, state=state, limit=PAGE)


def tell(match: Match, bot_id: int, as_json: bool) -> None:
    """One match that ended, to stdout."""
    if as_json:
        print_json({"event": "match", **match.model_dump(mode="json")})
    else:
        colour = {"won": "green", "lost": "red"}.get(verdict(match, bot_id), "magenta")
        word = f"[{colour}]{verdict(match, bot_id)}[/]"
        out.print(f"Match {match.id} {word}: {plain(result(match))}", soft_wrap=True)


def own_seat(match: Match, bot_id: int) -> SeatView | None:
    """Where that bot sat."""
    return next((seat for seat in match.seats if seat.bot_id == bot_id), None)


def verdict(match: Match, bot_id: int) -> str:
    """One word on how a match ended, for that bot."""
    own = own_seat(match, bot_id)
    if match.state != "done" or own is None or own.rank is None:
        return match.state
    if own.rank > 1:
        return "lost" if len(match.seats) == 2 else f"place {own.rank}"
    return "drawn" if sum(seat.rank == 1 for seat in match.seats) > 1 else "won"


def result(match: Match) -> str:
    """Everybody with place, points and fault, the best first."""
    seats = sorted(match.seats, key=lambda seat: (seat.rank is None, seat.rank, seat.seat))
    return ", ".join(_seat(seat) for seat in seats)


def _seat(seat: SeatView) -> str:
    place = f"{seat.rank}. " if seat.rank is not None else ""
    points = f" {shown_points(seat.points)}" if seat.points is not None else ""
    fault = f" ({seat.fault.fault} at {seat.fault.command})" if seat.fault else ""
    return f"{place}{seat.bot} v{seat.version}{points}{fault}"


def shown_points(points: str) -> str:
    """A whole number, or a fraction as a decimal."""
    numerator, slash, denominator = points.partition("/")
    try:
        return f"{int(numerator) / int(denominator):g}" if slash else points
    except (ValueError, ArithmeticError):
        return points
