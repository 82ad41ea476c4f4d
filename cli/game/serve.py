"""`deadheat game serve`: a match of a game's bots in the browser, played again whenever a file of the folder changes.

A separate process makes each page, because a process keeps the modules that it has imported. A few times a second, the
browser asks whether there is another page, and loads it.
"""

import subprocess
import sys
from collections.abc import Iterator
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Annotated

import typer

from deadheat.cli.author.matches import Looked
from deadheat.cli.console import ending_in_order, say
from deadheat.cli.game.check import RANDOM, Folder, bot_class, opened, random_matches
from deadheat.cli.local.watch import match_page
from deadheat.cli.output import Output, says

PAGE_SECONDS = 60
LONGEST_LOOK = 2000
"""The most files of a folder whose times are checked; a game has some twenty."""

RELOADING = """<!doctype html><meta charset="utf-8"><title>{title}</title>
<style>html,body,iframe{{margin:0;border:0;width:100%;height:100%}}body{{overflow:hidden}}</style>
<iframe src="/match" title="{title}"></iframe>
<script>
let shown = null;
setInterval(async () => {{
  const state = await (await fetch("/state")).text();
  if (shown !== null && state !== shown) document.querySelector("iframe").src = "/match?" + state;
  shown = state;
}}, 400);
</script>"""


@says
def serve(
    folder: Folder,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on this machine; 0: any that is free.")] = 8050,
) -> Iterator[Output]:
    """Show a match of a game's random bots in the browser, and show it again whenever you save a file of its folder."""
    opened(folder)
    made: dict[str, str] = {}
    one_at_a_time = Lock()

    class Handler(BaseHTTPRequestHandler):
        """Serves this page's three addresses and no others."""

        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/":
                    self.send("text/html", RELOADING.format(title=escape(folder.name)))
                case "/state":
                    self.send("text/plain", _state_of(folder))
                case "/match":
                    with one_at_a_time:
                        state = _state_of(folder)
                        if state not in made:
                            made.clear()
                            made[state] = _match_of(folder)
                    self.send("text/html", made[state])
                case _:
                    self.send_error(404)

        def send(self, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Log no requests."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        yield Output({"address": address}, f"Open {address}, and end this with Ctrl-C.")
        with ending_in_order():
            try:
                server.serve_forever(poll_interval=0.2)
            except KeyboardInterrupt:
                say("Ended.")


def _state_of(folder: Path) -> str:
    """Return a text that changes whenever a file of the folder does."""
    files = (path for path in sorted(folder.rglob("*"))[:LONGEST_LOOK] if "__pycache__" not in path.parts)
    newest = [(path.stat().st_mtime_ns, str(path)) for path in files if path.is_file()]
    return f"{len(newest)}-{max(newest, default=(0, ''))[0]}"


def _match_of(folder: Path) -> str:
    """Return the page of a match, made in a separate process, or that process's error message."""
    command = [sys.executable, "-c", "from deadheat.cli.game.serve import write; write()", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PAGE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return _trouble(f"The match has not ended within {PAGE_SECONDS} s.")
    return done.stdout if done.returncode == 0 else _trouble(done.stderr)


def write() -> None:
    """Print the page of a match of the folder named by the first argument."""
    folder = Path(sys.argv[1])
    sys.dont_write_bytecode = True  # Python would miss an edit of the same length within a second
    try:
        game = opened(folder)
    except typer.Exit as ended:  # it has printed the reason
        sys.exit(ended.exit_code)
    match = random_matches(game, bot_class(folder / "bots" / RANDOM), "serve")[0]
    sys.stdout.writelines(match_page(Looked(game.rules.name, match)))


def _trouble(text: str) -> str:
    return f'<!doctype html><meta charset="utf-8"><title>Trouble</title><pre>{escape(text)}</pre>'
