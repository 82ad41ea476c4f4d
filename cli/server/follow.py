"""Waits for events on a server: a build and its log, a bot's matches. `deadheat watch`.

The API is polled, and the caller bounds every wait. Series end in any order, and hundreds of matches at once, so a look
pages through all ends since the newest one seen. A result is written a moment before others see it, and one written
later may be seen first. So a look goes back another minute, and reported matches are remembered by number. A look thus
costs a page for each hundred matches of the last minute, and the wait for the next grows with the pages: a server gets
two requests a second, whatever it plays. Each look at a log gets all that is kept, which is bounded; `grown` finds what
is new.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from os.path import commonprefix
from typing import Annotated

import typer
from rich.text import Text

from deadheat.cli.author.bots import find_bot
from deadheat.cli.console import NO_ANSWER, fail, harmless, note, number_in
from deadheat.cli.output import Output, as_object
from deadheat.cli.server.api_client import PAGE, Client
from deadheat.cli.server.client import asks
from deadheat.engine.figures import points
from deadheat.league.records.bots import Version
from deadheat.league.records.entries import PanelResult, Waiting
from deadheat.league.records.matches import Match, SeatView
from deadheat.league.states import ENTERABLE

POLL_SECONDS = 0.5
"""The pause between two looks, for each page that the first look read."""

LONGEST_AGO = datetime(2001, 1, 1, tzinfo=UTC)
OVERLAP = timedelta(seconds=60)
"""The longest time between writing a result and its visibility. A longer transaction would be the server's fault."""

PLACE_LOOKS = 60
"""The number of looks for matches between two at the place in the queue: half a minute or more."""

DEFAULT_TIMEOUT_S = 1800

Timeout = Annotated[int, typer.Option("--timeout", min=1, max=30 * 86_400, help="Give up after this many seconds.")]


class Patience:
    """A bound on waiting. It ends the command with exit code 3 when used up. `standing` is the last known state."""

    def __init__(self, timeout_s: float, what: str) -> None:
        self._until = time.monotonic() + timeout_s
        self._sentence = f"{what} within {timeout_s:.0f} s; the server continues anyway"
        self.standing = ""

    def pause(self, pages: int = 1) -> None:
        """Wait for the next look. `pages`: the number that the last one read."""
        left = self._until - time.monotonic()
        if left <= 0:
            fail(f"{self._sentence}. {self.standing}" if self.standing else self._sentence, NO_ANSWER)
        time.sleep(min(POLL_SECONDS * pages, left))


@asks
def watch(
    client: Client,
    bot: Annotated[
        str, typer.Argument(help="Your bot by name, anyone's by number, with --season also by name; none: all bots.")
    ] = "",
    season: Annotated[int, typer.Option(min=0, help="Only matches of this season; 0: any season.")] = 0,
    matches: Annotated[int, typer.Option(min=0, help="Stop after this many matches; 0: at Ctrl-C.")] = 0,
    timeout: Timeout = 86_400,
) -> Iterator[Output]:
    """Show matches as they end, preceded by the build of your newest version and its panel."""
    patience = Patience(timeout, "not all matches have ended" if matches else "nobody pressed Ctrl-C")
    if season:
        client.season(season)  # report an unknown season at once
    bot_id = find_bot(client, bot, season=season)
    news = News(client, bot_id, season, newest_end(client))
    news.look()  # matches that ended earlier are not news
    own = bot and number_in(bot) is None and any(mine.id == bot_id for mine in client.bots())
    newest = client.versions(bot_id)[:1] if own else []
    for version in newest if newest and not newest[0].ended else ():
        for seen in _states(client, version, patience):
            yield Output({"event": "version", **as_object(seen)}, state_line(seen))
    shown = 0
    lines: dict[int, str] = {}
    where = [season] if season else list(seasons_of(client, bot_id)) if own else []
    place = Place(client, where[0], bot_id) if bot and len(where) == 1 else None
    while True:
        if place is not None:
            place.look()
        for panel in panel_changes(client, bot_id, newest[0].number, lines) if newest else ():
            yield Output({"event": "panel", **as_object(panel)}, panel_line(panel))
        for match in news.look():
            yield Output({"event": "match", **as_object(match)}, ending_line(match, bot_id))
            shown += 1
            if shown == matches:
                return
        patience.pause(news.pages)


def looks(client: Client, version: Version, patience: Patience) -> Iterator[Version]:
    """Yield the version now and at each look, until it is ready or broken."""
    yield version
    while not version.ended:
        patience.pause()
        version = client.version(version.bot_id, version.number)
        yield version


def _states(client: Client, version: Version, patience: Patience) -> Iterator[Version]:
    """Yield the version now and whenever its state changes, until it is ready or broken."""
    last = None
    for seen in looks(client, version, patience):
        if last is None or (seen.state, seen.attempt, seen.reason) != (last.state, last.attempt, last.reason):
            last = seen
            yield seen


def wait_for_build(client: Client, version: Version) -> Version:
    """Return the version once it is ready or broken."""
    for seen in looks(client, version, Patience(DEFAULT_TIMEOUT_S, f"version {version.number} is not built")):
        version = seen
    return version


class LogReader:
    """Reads what was added to a build's log since the last look, in whole lines."""

    def __init__(self, client: Client, bot_id: int, number: int) -> None:
        self._client, self._bot_id, self._number = client, bot_id, number
        self._rest = ""
        self.text = ""

    def look(self, last: bool) -> list[str]:
        """Return the new lines. The `last` look also returns an incomplete line."""
        before, self.text = self.text, self._client.build_log(self._bot_id, self._number).log
        lines = (self._rest + grown(before, self.text)).split("\n")
        self._rest = "" if last else lines.pop()
        return lines[:-1] if last and not lines[-1] else lines


RECOGNISED = 200
"""The number of last characters seen that identify the place to continue in a log whose middle was cut since."""


def grown(before: str, now: str) -> str:
    """Return the addition to a text whose beginning or middle may have been cut meanwhile."""
    if now.startswith(before):
        return now[len(before) :]
    end = before[-RECOGNISED:]
    place = now.rfind(end)
    if place >= 0:
        return now[place + len(end) :]
    return now[len(commonprefix([before, now])) :]  # noqa: RUF071  characters are meant


def state_line(version: Version) -> str:
    """Describe a version's progress in one line."""
    words = {"uploaded": "is waiting to be built", "building": "is being built and tried", "ready": "is ready"}
    again = f", attempt {version.attempt}" if version.attempt > 1 and not version.ended else ""
    reason = f": {version.reason}" if version.reason else ""
    return f"Version {version.number} {words.get(version.state, f'is {version.state}')}{again}{reason}"


def panel_line(panel: PanelResult) -> str:
    """Describe in one line a version's results against a season's panel."""
    passed, failed = ("enough", "too few") if panel.elo0 is None else ("test passed", "test not passed")
    verdict = {"passed": passed, "failed": failed, "ended": "not finished"}
    judged = panel.minimum is not None or panel.elo0 is not None or panel.state == "ended"
    state = verdict.get(panel.state, "in progress") if judged else ""
    if panel.state == "running":
        state = "another version plays first" if panel.waits else "in progress"
    performance = f"; performance {panel.performance}" if panel.performance else ""
    end = f" ({state})" if state else ""
    return f"Version {panel.version} has {panel.score} against the panel of {panel.season}{end}{performance}"


def panel_changes(client: Client, bot_id: int, number: int, lines: dict[int, str]) -> Iterator[PanelResult]:
    """Yield the news of a version's results against panels. `lines` remembers those shown."""
    for panel in client.panels(bot_id, version=number):
        if lines.get(panel.id) != (line := panel_line(panel)):
            lines[panel.id] = line
            yield panel


def newest_end(client: Client) -> datetime:
    """Return the end of the whole league's last match, by the server's clock."""
    newest = client.matches(finished_since=LONGEST_AGO, limit=1)
    return next((match.finished_at for match in newest if match.finished_at), LONGEST_AGO)


def seasons_of(client: Client, bot_id: int) -> dict[int, str]:
    """Return the states of the seasons that bots may enter and this one is in, by number."""
    return {
        season.id: season.state
        for season in client.seasons()
        if season.state in ENTERABLE
        and any(entry.bot_id == bot_id and entry.absence is None for entry in client.entries(season.id))
    }


class Place:
    """Why the next result of a bot, or a version, is pending: requested now and then, and shown when it changes."""

    def __init__(
        self, client: Client, season: int, bot_id: int, version: int | None = None, hidden: bool = False
    ) -> None:
        self._client, self._which, self._hidden = client, (season, bot_id, version), hidden
        self._looks = 0
        self._last: Waiting | None = None

    def look(self) -> Waiting:
        """Ask the server at each `PLACE_LOOKS`-th look, and return its last answer in between."""
        if self._last is None or self._looks % PLACE_LOOKS == 0:
            answer = self._client.waiting(*self._which)
            if not self._hidden and not answer.over and (self._last is None or answer.sentence != self._last.sentence):
                note(answer.sentence)
            self._last = answer
        self._looks += 1
        return self._last


@dataclass
class News:
    """Matches that ended since the last look.

    `since` is the newest end seen, or the time from which matches are news. `pages`: the number that the last look
    read.
    """

    client: Client
    bot_id: int
    season_id: int
    since: datetime
    told: dict[int, datetime] = field(default_factory=dict)
    pages: int = 1

    def look(self) -> list[Match]:
        """Return the matches in the order of their ends."""
        from_here = self.since - OVERLAP
        listed = list(self.client.matches(season=self.season_id, bot=self.bot_id, finished_since=from_here))
        self.pages = max(1, math.ceil(len(listed) / PAGE))
        ended = {match.id: (match.finished_at, match) for match in listed if match.finished_at}
        fresh = [(at, number, match) for number, (at, match) in ended.items() if number not in self.told]
        self.told = {number: at for number, at in self.told.items() if at >= from_here}
        self.told |= {number: at for at, number, _ in fresh}
        self.since = max([self.since, *(at for at, _, _ in fresh)])
        return [match for _, _, match in sorted(fresh, key=lambda ended: ended[:2])]


def ending_line(match: Match, bot_id: int, version: int | None = None) -> Text:
    """Describe a finished match from the point of view of a bot (or one version of it)."""
    word = verdict(match, bot_id, version)
    shown = harmless(word, {"won": "green", "lost": "red"}.get(word, "magenta"))
    return Text.assemble(f"Match {match.id} ", shown, ": ", harmless(result(match)))


def own_seats(match: Match, bot_id: int, version: int | None) -> list[SeatView]:
    """Return the seats of a bot (or one version of it). At a promotion gate, two versions of one bot meet."""
    return [seat for seat in match.seats if seat.bot_id == bot_id and version in {None, seat.version}]


def verdict(match: Match, bot_id: int, version: int | None = None) -> str:
    """Say in a word how a match ended for a bot (or one version of it), or which version won against another."""
    own = sorted((seat.rank, seat.version) for seat in own_seats(match, bot_id, version) if seat.rank is not None)
    if match.state != "done" or not own:
        return match.state
    (rank, best), (last, worst) = own[0], own[-1]
    if rank < last:
        return f"v{best} beat v{worst}"
    if rank > 1:
        return "lost" if len(match.seats) == 2 else f"place {rank}"
    return "drawn" if sum(seat.rank == 1 for seat in match.seats) > 1 else "won"


def result(match: Match) -> str:
    """Return all seats with place, points and fault, best first, and whether the match does not count."""
    seats = sorted(match.seats, key=lambda seat: (seat.rank is None, seat.rank, seat.seat))
    uncounted = f" - does not count: {match.uncounted.cause}" if match.uncounted else ""
    return ", ".join(_seat(seat) for seat in seats) + uncounted


def _seat(seat: SeatView) -> str:
    place = f"{seat.rank}. " if seat.rank is not None else ""
    scored = f" {points(seat.points)}" if seat.points is not None else ""
    fault = f" ({seat.fault.fault} at {seat.fault.command})" if seat.fault else ""
    return f"{place}{seat.bot} v{seat.version}{scored}{fault}"
