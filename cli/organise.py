"""An organiser's hands, an author's appeals, and the audit log, over a server's HTTP API."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from rich import box
from rich.table import Table

from cli.client import DEFAULT_SERVER, Client, Refused, Server, Token
from cli.console import err, fail, out, plain
from league.chain import GENESIS, AuditEntry, record_sha256
from league.states import AppealState
from league.words import Exported, Remedy

Match = Annotated[int, typer.Argument(help="The match's number.", min=1)]
Season = Annotated[int, typer.Argument(help="The season's number.", min=1)]
Bot = Annotated[int, typer.Argument(help="The bot's number.", min=1)]
Why = Annotated[str, typer.Option("--reason", help="Why; everyone can read it in the audit log.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]

group = typer.Typer(no_args_is_help=True, help="For organisers: results, entries, appeals, announcements.")


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.add_typer(group, name="organise")
    app.command()(appeal)
    app.command()(withdraw)
    app.command()(rejoin)
    app.command()(audit)
    app.command()(export)


@group.command()
def void(match: Match, reason: Why, server: Server = DEFAULT_SERVER, token: Token = "") -> None:
    """Take a finished match out of the log of results; the ranking follows."""
    _call(server, token, "POST", f"/v1/matches/{match}/void", {"reason": reason})
    out.print(f"Match {match} does not count any more. `restore` takes it back.")


@group.command()
def restore(match: Match, reason: Why, server: Server = DEFAULT_SERVER, token: Token = "") -> None:
    """Let a voided match count again."""
    _call(server, token, "POST", f"/v1/matches/{match}/restore", {"reason": reason})
    out.print(f"Match {match} counts again.")


@group.command()
def rejudge(match: Match, reason: Why, server: Server = DEFAULT_SERVER, token: Token = "") -> None:
    """Void a finished match and play it again with the same seed, versions and seats."""
    again = _call(server, token, "POST", f"/v1/matches/{match}/rejudge", {"reason": reason})["match_id"]
    out.print(f"Match {match} does not count any more; match {again} is played in its place.")


@group.command()
def disqualify(season: Season, bot: Bot, reason: Why, server: Server = DEFAULT_SERVER, token: Token = "") -> None:
    """A bot gets no new matches in a season, and none of its matches counts."""
    _call(server, token, "POST", f"/v1/seasons/{season}/entries/{bot}/disqualify", {"reason": reason})
    out.print(f"Bot {bot} is disqualified in season {season}. `reinstate` takes it back.")


@group.command()
def reinstate(season: Season, bot: Bot, reason: Why, server: Server = DEFAULT_SERVER, token: Token = "") -> None:
    """Take a disqualification (or a withdrawal) back."""
    _call(server, token, "POST", f"/v1/seasons/{season}/entries/{bot}/reinstate", {"reason": reason})
    out.print(f"Bot {bot} takes part in season {season} again.")


@group.command()
def announce(
    title: Annotated[str, typer.Argument(help="One line.")],
    text: Annotated[str, typer.Argument(help="The rest.")],
    season: Annotated[int, typer.Option(help="About this season; 0: about the whole league.")] = 0,
    server: Server = DEFAULT_SERVER,
    token: Token = "",
) -> None:
    """Tell everyone."""
    body = {"title": title, "text": text} | ({"season": season} if season else {})
    made = _call(server, token, "POST", "/v1/announcements", body)
    out.print(f"Announcement {made['id']} is up. `take-down {made['id']}` removes it.")


@group.command(name="take-down")
def take_down(
    announcement: Annotated[int, typer.Argument(help="Its number.", min=1)],
    server: Server = DEFAULT_SERVER,
    token: Token = "",
) -> None:
    """Remove an announcement."""
    _call(server, token, "DELETE", f"/v1/announcements/{announcement}")
    out.print(f"Announcement {announcement} is gone.")


@group.command()
def appeals(
    season: Annotated[int, typer.Option(help="Only of this season; 0: of all.")] = 0,
    state: Annotated[AppealState | None, typer.Option(help="Only those in this state.")] = AppealState.OPEN,
    every: Annotated[bool, typer.Option("--all", help="In any state.")] = False,
    server: Server = DEFAULT_SERVER,
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """What authors doubt, with what re-simulating each match found."""
    query = {"season": season or None, "state": None if every or state is None else state.value}
    chosen = {key: value for key, value in query.items() if value is not None}
    found = _call(server, token, "GET", "/v1/appeals", params=chosen)["items"]
    if as_json:
        print(json.dumps(found))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("appeal", "state", "match", "bot", "verified", "fault", "voids", "says"):
        table.add_column(heading, overflow="fold" if heading == "says" else "ellipsis", no_wrap=heading != "says")
    for item in found:
        findings = item["findings"]
        faults = ", ".join(f"{fault['bot']} {fault['fault']} at {fault['command']}" for fault in findings["faults"])
        voids = sum(attempt["cause"] != "played" for attempt in findings["attempts"])
        verified = "yes" if findings["verified"] else "NO"
        cells = (item["id"], item["state"], item["match_id"], item["bot"], verified, faults, voids, item["text"])
        table.add_row(*(plain(str(cell)) for cell in cells))
    out.print(table if found else "No appeal.")


@group.command()
def rule(
    appeal: Annotated[int, typer.Argument(help="The appeal's number.", min=1)],
    reason: Why,
    uphold: Annotated[bool, typer.Option("--uphold/--reject", help="Whether the author is right.")],
    remedy: Annotated[Remedy, typer.Option(help="What becomes of the match if it is upheld.")] = Remedy.NONE,
    server: Server = DEFAULT_SERVER,
    token: Token = "",
) -> None:
    """Decide an appeal."""
    body = {"uphold": uphold, "ruling": reason, "remedy": remedy.value}
    made = _call(server, token, "POST", f"/v1/appeals/{appeal}/ruling", body)
    out.print(f"Appeal {appeal} about match {made['match_id']} is {made['state']}.")


def appeal(
    match: Match,
    text: Annotated[str, typer.Argument(help="What is wrong with it, in your words.")],
    server: Server = DEFAULT_SERVER,
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Doubt a finished match of your bot: it is re-simulated at once, and an organiser rules."""
    made = _call(server, token, "POST", f"/v1/matches/{match}/appeals", {"text": text})
    if as_json:
        print(json.dumps(made))
        return
    findings = made["findings"]
    out.print(f"Appeal {made['id']} is open.")
    if findings["verified"]:
        out.print(f"Re-simulated: rules, dice and result agree at all {findings['exchanges']} exchanges.")
    else:
        out.print(f"[red]The transcript does not replay:[/] {plain(findings['problem'])}", soft_wrap=True)
    for fault in findings["faults"]:
        out.print(f"  seat {fault['seat']} ({plain(fault['bot'])}): {plain(fault['why'] or fault['fault'])}")


def withdraw(season: Season, bot: Bot, server: Server = DEFAULT_SERVER, token: Token = "") -> None:
    """Take your bot out of a season: no new matches, those it played count."""
    _call(server, token, "POST", f"/v1/seasons/{season}/entries/{bot}/withdraw")
    out.print(f"Bot {bot} gets no more matches in season {season}. `rejoin` takes it back.")


def rejoin(season: Season, bot: Bot, server: Server = DEFAULT_SERVER, token: Token = "") -> None:
    """Take your withdrawal back."""
    _call(server, token, "POST", f"/v1/seasons/{season}/entries/{bot}/rejoin")
    out.print(f"Bot {bot} takes part in season {season} again.")


def audit(
    subject: Annotated[str, typer.Argument(help="Only about this, e.g. match/5.")] = "",
    check: Annotated[bool, typer.Option("--check", help="Read the whole log and recompute its chain.")] = False,
    head: Annotated[str, typer.Option(help="With --check: a record's SHA-256 that you noted; it must be there.")] = "",
    server: Server = DEFAULT_SERVER,
    as_json: AsJson = False,
) -> None:
    """Who decided what and why; everyone may read it, and check that nothing was changed since."""
    if check:
        _check(server, head)
        return
    found = _call(server, "", "GET", "/v1/audit", params={"subject": subject})["items"]
    if as_json:
        print(json.dumps(found))
        return
    for record in found:
        data = ", ".join(f"{key}: {value}" for key, value in json.loads(record["data"]).items() if value != "")
        line = f"{record['at'][:19]} {record['actor']}: {record['action']} {record['subject']}  {data}"
        out.print(plain(line), soft_wrap=True)


def export(
    season: Season,
    table: Annotated[Exported, typer.Argument(help="What.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file; else to the terminal.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV rather than JSON Lines.")] = False,
    server: Server = DEFAULT_SERVER,
) -> None:
    """Everything public about a season, as JSON Lines or CSV."""
    address = f"{server.rstrip('/')}/v1/seasons/{season}/export/{table.value}.{'csv' if as_csv else 'jsonl'}"
    try:
        with httpx.stream("GET", address, timeout=60) as answer:
            if not answer.is_success:
                answer.read()
                fail(str(answer.json().get("detail", f"HTTP {answer.status_code}")))
            target = sys.stdout.buffer if output is None else output.open("wb")
            try:
                for piece in answer.iter_bytes():
                    target.write(piece)
            finally:
                if output is not None:
                    target.close()
    except (httpx.HTTPError, ValueError) as error:
        fail(f"{server} does not answer: {error}")
    except OSError as error:
        fail(f"{output}: {error.strerror}")
    if output is not None:
        err.print(f"Written to {plain(str(output))}.", soft_wrap=True)


def _check(server: str, head: str) -> None:
    previous, cursor, count, seen = GENESIS, None, 0, not head
    while True:
        query = {"oldest_first": "true"} | ({"cursor": cursor} if cursor else {})
        page = _call(server, "", "GET", "/v1/audit", params=query)
        for item in page["items"]:
            record = AuditEntry(**item)
            if record.prev_sha256 != previous or record.sha256 != record_sha256(record):
                fail(f"record {record.id} does not follow from the one before: the log was changed")
            previous = record.sha256
            seen = seen or previous == head
            count += 1
        cursor = page["next"]
        if cursor is None:
            break
    if not seen:
        fail(f"no record has the SHA-256 {head}: the log was replaced")
    out.print(f"{count} records, each follows from the one before. The last one's SHA-256: {previous}", soft_wrap=True)


def _call(server: str, token: str, method: str, path: str, body: Any = None, **more: Any) -> Any:
    try:
        with Client(server, token) as client:
            return client.call(method, path, **({} if body is None else {"json": body}), **more)
    except Refused as error:
        fail(str(error))
