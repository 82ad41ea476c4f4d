"""Talk to a server over its HTTP API."""

from __future__ import annotations

import io
import json
import time
import zipfile
from pathlib import Path
from typing import Annotated, Any, Self

import httpx
import typer
from rich import box
from rich.progress import Progress
from rich.table import Table

from cli.bots import IGNORED
from cli.console import err, fail, out, plain

TIMEOUT_S = 60
POLL_SECONDS = 0.5
DEFAULT_SERVER = "http://127.0.0.1:8080"

Server = Annotated[str, typer.Option(envvar="DEADHEAT_SERVER", help="Address of the server.")]
Token = Annotated[str, typer.Option(envvar="DEADHEAT_TOKEN", help="Access token; better in the environment.")]


class Refused(Exception):
    """The server said no, or did not answer; the text is its sentence, `status` 0 without an answer."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code


class Client:
    """The API as methods. Every method raises `Refused`."""

    def __init__(self, server: str, token: str = "", transport: httpx.BaseTransport | None = None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=server, headers=headers, timeout=TIMEOUT_S, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def call(self, method: str, path: str, **arguments: Any) -> Any:
        """One request; the JSON of the answer."""
        try:
            response = self._http.request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise Refused(0, "no-answer", f"{self._http.base_url} does not answer: {error}") from error
        if response.is_success:
            return response.json() if response.content else None
        try:
            problem = response.json()
            raise Refused(response.status_code, str(problem["code"]), str(problem["detail"]))
        except (ValueError, KeyError, TypeError):
            raise Refused(response.status_code, "unknown", f"HTTP {response.status_code}") from None

    def sign_up(self, name: str, password: str) -> None:
        """A new author."""
        self.call("POST", "/v1/users", json={"name": name, "password": password})

    def token(self, name: str, password: str) -> str:
        """A new access token."""
        return str(self.call("POST", "/v1/tokens", json={"name": name, "password": password})["token"])

    def own_bot(self, game: str, name: str) -> int:
        """The id of one's bot of that name, made if it is new."""
        for bot in self.call("GET", "/v1/bots")["items"]:
            if bot["game"] == game and bot["name"].lower() == name.lower():
                return int(bot["id"])
        return int(self.call("POST", "/v1/bots", json={"game": game, "name": name})["id"])

    def upload(self, bot_id: int, filename: str, content: bytes) -> dict[str, Any]:
        """A new version, to be built."""
        version: dict[str, Any] = self.call("POST", f"/v1/bots/{bot_id}/versions", files={"file": (filename, content)})
        return version

    def version(self, bot_id: int, number: int) -> dict[str, Any]:
        """One version as it is now."""
        version: dict[str, Any] = self.call("GET", f"/v1/bots/{bot_id}/versions/{number}")
        return version

    def build_log(self, bot_id: int, number: int) -> str:
        """What the build printed."""
        return str(self.call("GET", f"/v1/bots/{bot_id}/versions/{number}/log")["log"])

    def enter(self, season_id: int, bot_id: int) -> None:
        """Let a bot take part in a season."""
        self.call("PUT", f"/v1/seasons/{season_id}/entries/{bot_id}", json={})

    def seasons(self) -> list[dict[str, Any]]:
        """All seasons, the newest first."""
        return list(self.call("GET", "/v1/seasons")["items"])

    def leaderboard(self, season_id: int) -> dict[str, Any]:
        """The newest ranking."""
        board: dict[str, Any] = self.call("GET", f"/v1/seasons/{season_id}/leaderboard")
        return board


def ask(server: str, token: str, method: str, path: str, **arguments: Any) -> Any:
    """One request of a command; the JSON of the answer. A refusal ends the command with the server's sentence."""
    try:
        with Client(server, token) as client:
            return client.call(method, path, **arguments)
    except Refused as error:
        fail(str(error))


def register(app: typer.Typer) -> None:
    """Add the client's verbs."""
    app.command()(submit)
    app.command()(leaderboard)


def submit(
    bot: Annotated[Path, typer.Argument(help="A source file, a zip, or a folder (it is zipped).")],
    game: Annotated[str, typer.Option(help="The game it plays.")],
    name: Annotated[str, typer.Option(help="The bot's name; a new one makes a new bot.")],
    server: Server = DEFAULT_SERVER,
    token: Token = "",
    season: Annotated[int, typer.Option(help="Enter it into this season once it is ready; 0: do not.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The version as one JSON object.")] = False,
) -> None:
    """Upload a bot and wait until it is built and has played its trial match."""
    filename, content = read_bot(bot)
    try:
        with Client(server, token) as client:
            bot_id = client.own_bot(game, name)
            version = wait_for_build(client, client.upload(bot_id, filename, content), quiet=as_json)
            ready = version["state"] == "ready"
            if ready and season:
                client.enter(season, bot_id)
            log = "" if ready else client.build_log(bot_id, version["number"])
    except Refused as error:
        fail(str(error))
    if as_json:
        print(json.dumps(version))
    elif ready:
        out.print(f"{plain(name)} version {version['number']} is ready ({version['language']}).")
        if season:
            out.print(f"Entered into season {season}: {plain(server.rstrip('/'))}/seasons/{season}", soft_wrap=True)
    if not ready:
        err.print(plain(log), soft_wrap=True)
        fail(f"{name} version {version['number']} is broken: {version['reason']}")


def leaderboard(
    season: Annotated[int, typer.Argument(help="Its number; 0: the newest season.")] = 0,
    server: Server = DEFAULT_SERVER,
    as_json: Annotated[bool, typer.Option("--json", help="The ranking as one JSON object.")] = False,
) -> None:
    """Show a season's ranking."""
    try:
        with Client(server) as client:
            if not season:
                known = client.seasons()
                if not known:
                    fail("the server has no season yet")
                season = known[0]["id"]
            board = client.leaderboard(season)
    except Refused as error:
        fail(str(error))
    if as_json:
        print(json.dumps(board))
    else:
        out.print(standings_table(board))


def read_bot(path: Path) -> tuple[str, bytes]:
    """A bot's file as it is uploaded; a folder becomes a zip of its content."""
    if path.is_file():
        return path.name, path.read_bytes()
    if not path.is_dir():
        fail(f"{path} does not exist", 2)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path.rglob("*")):
            if file.is_file() and not set(file.relative_to(path).parts) & set(IGNORED):
                archive.write(file, file.relative_to(path))
    return "bot.zip", buffer.getvalue()


def wait_for_build(client: Client, version: dict[str, Any], quiet: bool = True) -> dict[str, Any]:
    """Poll until the version is ready or broken."""
    with Progress(console=err, transient=True, disable=quiet or not err.is_terminal) as progress:
        progress.add_task("building", total=None)
        while version["state"] not in ("ready", "broken"):
            time.sleep(POLL_SECONDS)
            version = client.version(version["bot_id"], version["number"])
    return version


def standings_table(board: dict[str, Any]) -> Table:
    """A ranking as people read it, 80 columns wide; `places` are the 95 % interval of the place."""
    table = Table(title=f"Season {board['season_id']}", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    divided = len({row["division"] for row in board["rows"]}) > 1
    headings = ("#", "places", "bot", "author", "rating", "games", "W / D / L", "faults")
    for heading in ("division", *headings) if divided else headings:
        table.add_column(heading, justify="left" if heading in ("bot", "author") else "right", no_wrap=True)
    for row in board["rows"]:
        low, high = row["rank_low"], row["rank_high"]
        table.add_row(
            *([str(row["division"])] if divided else []),
            f"{row['rank']}{'=' if row['tied'] else ''}",
            f"{low}-{high}" if low < high else f"{low}",
            f"{plain(row['bot'])} v{row['version']}",
            plain(f"{row['team']} (team)" if row["team"] else row["author"]),
            f"{row['elo']:.0f} ± {(row['high'] - row['low']) / 2:.0f}",
            str(row["games"]),
            f"{row['wins']} / {row['draws']} / {row['losses']}",
            str(row["timeouts"] + row["other_faults"]),
        )
    return table
