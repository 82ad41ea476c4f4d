"""`deadheat workers`: the machines that play."""

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.console import RenderableType
from rich.text import Text

from deadheat.cli.console import harmless, short
from deadheat.cli.output import Column, Columns, Output, table
from deadheat.cli.server.api_client import Client
from deadheat.cli.server.client import asks
from deadheat.league.records.hosts import SHOWN_DIGITS, GameHere, Worker, Workers

NAME_WIDTH = 16
STYLES = {"fit": "green", "unchecked": "magenta", "unfit": "red"}
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))

WORKERS: Columns[Worker] = (
    Column("no.", lambda worker: worker.number, right=True),
    Column("machine", lambda worker: short(worker.name, NAME_WIDTH), whole=True),
    Column("fitness", lambda worker: harmless(worker.fitness, STYLES.get(worker.fitness, "")), whole=True),
    Column("judges", lambda worker: "yes" if worker.judges else Text("no", "red"), whole=True),
    Column("seen", lambda worker: _ago(worker.last_seen_at), whole=True),
    Column("proved", lambda worker: _ago(worker.canary_at), whole=True),
    Column("series", lambda worker: worker.series, right=True),
    Column("void", lambda worker: worker.voids, right=True),
)

GAMES: Columns[GameHere] = (
    Column("game", lambda game: harmless(game.name), whole=True),
    Column("rules", lambda game: game.rules_version, right=True),
    Column("hash of its folder", lambda game: game.digest[:SHOWN_DIGITS], whole=True),
)


@asks
def workers(client: Client) -> Output:
    """Show the machines that play, whether each is fit to judge, and why not; and the league's games.

    Exit code 1 if none is given matches. The token is an organiser's, e.g. the one in data/organiser.token.
    """
    known = client.workers()
    return Output(known, _text(known), code=0 if any(worker.judges for worker in known.items) else 1)


def _text(known: Workers) -> Iterator[RenderableType]:
    yield table(known.items, WORKERS)
    for worker in known.items:
        yield from (Text.assemble(harmless(f"{worker.name}: ", "red"), harmless(why)) for why in worker.reasons)
        yield from (Text.assemble(harmless(f"{worker.name}: {why}", "red")) for why in worker.disagreements)
        cures = {text: f" (Fix: {cure}.)" for text, cure in worker.cures.items()}
        yield from (f"{worker.name}: {remark}{cures.get(remark, '')}" for remark in worker.remarks)
    yield table(known.games, GAMES)
    yield from (harmless(problem, "red") for problem in known.broken_games)
    if known.judge_unfit:
        rest = " (DEADHEAT_JUDGE_UNFIT); each of their attempts says so."
        yield Text.assemble(("Unfit machines judge anyway", "red"), rest)
    elif not any(worker.judges for worker in known.items):
        rest = " Run `deadheat check-host` there to see how to fix it."
        yield Text.assemble(("No machine is fit to judge: matches wait.", "red"), rest)


def _ago(instant: datetime | None) -> str:
    if instant is None:
        return "never"
    seconds = max(0, int((datetime.now(UTC) - instant).total_seconds()))
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= size), (1, "s"))
    return f"{seconds // size} {unit} ago"
