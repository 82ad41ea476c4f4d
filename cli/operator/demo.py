"""The demonstration behind scripts/demo: a server, four authors, five bots, one season.

Everything except house bots goes over HTTP, and is stored in the data directory, so a second run finds authors and bots
there and plays another season.
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deadheat.cli.author.results import standings_table
from deadheat.cli.author.submit import read_bot
from deadheat.cli.console import ROOT, err, note, say
from deadheat.cli.output import as_object
from deadheat.cli.server.api_client import Client, Refused
from deadheat.cli.server.follow import wait_for_build
from deadheat.engine.games.folder import bots_of, folders
from deadheat.league.config import Settings
from deadheat.league.records.bots import Version
from deadheat.league.records.rankings import Leaderboard

GAME, FOLDER = next(iter(folders().items()))
PASSWORD = "only a demonstration"  # noqa: S105  of authors that exist nowhere else
STALL_SECONDS = 180
"""If no match finishes for this long, something is broken, and waiting longer would not help."""

PATIENCE_SECONDS = 15
"""After this long without a finished match, the demonstration says whether this machine may judge. At the same
intervals, it reports what a server that is not ready yet is doing."""

LONGEST_SERIES = 20
"""The most matches of a series. A series opens its own boxes, which costs as much as some ten matches. In series of 10,
200 matches take three seconds more."""


@dataclass(frozen=True)
class Entrant:
    """A house bot and its uploader."""

    author: str
    bot: str
    path: Path


AUTHORS = ("ada", "barbara", "charles", "dennis")
_SEATED = tuple(zip(AUTHORS, FOLDER.panel, strict=False))
ENTRANTS = (
    *(Entrant(author, bot, bots_of(GAME) / bot) for author, bot in _SEATED),
    *(Entrant(author, f"{bot}-too", bots_of(GAME) / bot) for author, bot in _SEATED[-1:]),
)
"""The panel of the first game, with its weakest bot twice: two equal bots should get equal ratings."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="end after the leaderboard")
    parser.add_argument("--json", action="store_true", help="with --once: end with one JSON object on a line")
    parser.add_argument("--matches", type=int, default=200, help="play at least this many (default 200)")
    arguments = parser.parse_args()
    started_at = time.monotonic()
    settings = Settings()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    server = start_server(settings)
    try:
        url = f"http://{settings.host}:{settings.port}"
        wait_until_ready(url, server, settings)
        season_id = play_season(url, settings, arguments.matches)
        _show(url, season_id, arguments.json, started_at)
        if not arguments.once:
            env = {**os.environ, "DEADHEAT_DATA_DIR": str(settings.data_dir.absolute())}
            for game, folder in folders().items():
                if game != GAME:  # people can play there, too; no check: the league is there without them
                    upload = [sys.executable, "-m", "deadheat.cli.main", "user", "house", game, folder.panel[0]]
                    subprocess.run(upload, cwd=ROOT, stdout=subprocess.DEVNULL, env=env, check=False)
            note("The server stays up; Ctrl-C stops it.")
            server.wait()
    except Refused as error:
        note(str(error), "error:", "red")
        return 1
    except (Broken, KeyboardInterrupt) as error:
        note(f"{error}  The server's log is {log_file(settings)}", "stopped:", "red")
        return 1
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    return 0


class Broken(Exception):
    """The demonstration cannot continue; the text says why."""


def log_file(settings: Settings) -> Path:
    return settings.data_dir.absolute() / "logs" / "serve.log"


def start_server(settings: Settings) -> subprocess.Popen[bytes]:
    note(f"==> Starting the server (log: {log_file(settings)})")
    log_file(settings).parent.mkdir(parents=True, exist_ok=True)
    serve = [sys.executable, "-m", "deadheat.cli.main", "serve"]
    env = {**os.environ, "DEADHEAT_DATA_DIR": str(settings.data_dir.absolute())}
    with log_file(settings).open("ab") as log:
        return subprocess.Popen(serve, cwd=ROOT, stdout=log, stderr=log, env=env, start_new_session=True)


def wait_until_ready(url: str, server: subprocess.Popen[bytes], settings: Settings) -> None:
    """Wait until /readyz answers or the server ends. A slow machine may take minutes."""
    began_at = told_at = time.monotonic()
    with Client(url) as client:
        while True:
            if server.poll() is not None:
                raise Broken(f"the server ended: {_last_word(settings)}")
            try:
                client.call("GET", "/readyz")
                return
            except Refused:
                now = time.monotonic()
                if now - told_at > PATIENCE_SECONDS:
                    told_at = now
                    waited = f"    The server is not ready after {now - began_at:.0f} s; its last log line:"
                    note(f"{waited} {_last_word(settings)}")
            time.sleep(0.2)


def _last_word(settings: Settings) -> str:
    return " ".join(log_file(settings).read_text(errors="replace").strip().splitlines()[-1:])


def play_season(url: str, settings: Settings, matches: int) -> int:
    """Play a season: authors, uploads, builds, matches. Return its number."""
    organiser_token = (settings.data_dir / "organiser.token").read_text().strip()
    with ExitStack() as people:
        organiser = people.enter_context(Client(url, organiser_token))
        authors = dict.fromkeys(entrant.author for entrant in ENTRANTS)
        clients = {author: people.enter_context(signed_in(url, author)) for author in authors}
        note(f"==> {len(clients)} authors; building {len(ENTRANTS)} bots")
        for entrant in ENTRANTS:
            _uploaded(clients[entrant.author], entrant)
        bots = [ready_bot(clients[entrant.author], entrant) for entrant in ENTRANTS]
        pairs = len(bots) * (len(bots) - 1) // 2
        games = math.ceil(matches / pairs)
        number = math.ceil(games / LONGEST_SERIES)
        length = 2 * math.ceil(games / number / 2)  # both bots have each seat equally often
        name = f"Demo {len(organiser.seasons()) + 1}"
        season = {"game": GAME, "name": name, "series_length": length, "games_per_pair": number * length}
        season_id = organiser.create_season(season).id
        for entrant, bot_id in zip(ENTRANTS, bots, strict=True):
            clients[entrant.author].enter(season_id, bot_id)
        organiser.change_season(season_id, {"state": "open"})
        note(f"==> Season {season_id} is open: {url}/seasons/{season_id}")
        _follow(organiser, season_id, pairs * number * length)
    return season_id


def signed_in(url: str, author: str) -> Client:
    with Client(url) as client:
        try:
            client.sign_up(author, PASSWORD)
        except Refused as error:
            if error.code != "name-taken":
                raise
        return Client(url, client.issue_token(author, PASSWORD).token)


def _uploaded(client: Client, entrant: Entrant) -> Version:
    """Upload the bot unless its newest version has this size and is not broken, and return the newest version."""
    filename, content = read_bot(entrant.path)
    bot_id = client.own_bot(GAME, entrant.bot).id
    versions = client.versions(bot_id)
    version = versions[0] if versions else None
    if version is None or version.state == "broken" or version.size_bytes != len(content):
        version = client.upload(bot_id, filename, content)
    return version


def ready_bot(client: Client, entrant: Entrant) -> int:
    """Upload the bot unless its newest version has this size and is not broken. Return its id once that is ready."""
    version = wait_for_build(client, _uploaded(client, entrant))
    if version.state != "ready":
        log = client.build_log(version.bot_id, version.number).log
        raise Broken(f"{entrant.bot} is broken: {version.reason}\n{log}")
    note(f"    {entrant.bot} by {entrant.author}: version {version.number} is ready ({version.language})")
    return version.bot_id


def _follow(client: Client, season_id: int, total: int) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("matches", total=total)
        finished, moved_at, reason = -1, time.monotonic(), ""
        while finished < total or not _ranked(client.leaderboard(season_id), finished):
            counts = client.season(season_id).progress
            if counts.done + counts.abandoned != finished:
                finished, moved_at = counts.done + counts.abandoned, time.monotonic()
            elif time.monotonic() - moved_at > STALL_SECONDS:
                missing = "no match was finished" if finished < total else "all matches were played, but not all ranked"
                raise Broken(f"{missing} within {STALL_SECONDS} s. {reason}".rstrip())
            elif time.monotonic() - moved_at > PATIENCE_SECONDS and not reason and (reason := _why_not_judged(client)):
                note(reason)
            progress.update(task, completed=finished)
            time.sleep(0.5)


def _why_not_judged(client: Client) -> str:
    """Say why no machine gets matches; empty if one gets them, or if there is no machine."""
    workers = client.workers().items
    if not workers or any(worker.judges for worker in workers):
        return ""
    reasons = " ".join(reason for worker in workers for reason in worker.reasons)
    return (
        f"Matches wait: this machine is not fit to judge. {reasons} `deadheat check-host` says how to fix it; "
        "DEADHEAT_JUDGE_UNFIT=true lets it judge anyway."
    )


def _ranked(board: Leaderboard, finished: int) -> bool:
    totals = board.totals
    return totals is not None and totals.matches + totals.abandoned >= finished


def _show(url: str, season_id: int, as_json: bool, started_at: float) -> None:
    with Client(url) as client:
        board = client.leaderboard(season_id)
    page, totals = f"{url}/seasons/{season_id}", board.totals
    assert totals is not None, "every match is ranked"
    seats = 2 * totals.matches
    rate = 100 * totals.timeouts / seats if seats else 0.0
    say(
        standings_table(board),
        f"{totals.matches} matches; timeouts {totals.timeouts} of {seats} seats ({rate:.2f} %), "
        f"other faults {totals.other_faults}; {totals.voids} attempts void, {totals.abandoned} abandoned.",
        f"The page: {page}   Metrics: {url}/metrics",
    )
    if as_json:
        facts = {"matches": totals.matches, "voids": totals.voids, "leaderboard": as_object(board)["rows"], "url": page}
        print(json.dumps(facts | {"seconds": round(time.monotonic() - started_at, 1)}), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
