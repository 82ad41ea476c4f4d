"""An organiser's hands, an author's appeals, and the audit log, over a server's HTTP API."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.author.entering import find_entry
from cli.author.matches import tried
from cli.console import err, fail, out, plain, quoted
from cli.server.api_models import Appeal, AuditRecord
from cli.server.client import AsJson, Server, Token, connect, print_json, print_json_lines, visit
from cli.server.follow import result
from engine.figures import counted, seat_number
from league.states import AppealState
from league.verification.chain import GENESIS, AuditEntry, record_sha256
from league.words import Exported, Remedy

Match = Annotated[int, typer.Argument(help="The match's number.", min=1)]
Season = Annotated[int, typer.Argument(help="The season's number.", min=1)]
Bot = Annotated[str, typer.Argument(metavar="BOT", help="The bot, by name (NAME, AUTHOR/NAME) or number.")]
Why = Annotated[str, typer.Option("--reason", help="The reason, public in the audit log.")]

AUDIT_LINES = 100

REPLAYS = {True: "it replays", False: "[red]it does not replay[/]", None: "it could not be re-simulated"}

group = typer.Typer(no_args_is_help=True, help="Rule on results, entries and appeals; announce (for organisers).")


def register(app: typer.Typer) -> None:
    """Add this module's verbs to `app`."""
    app.add_typer(group, name="organise")
    app.command()(appeal)
    app.command()(audit)
    app.command()(export)


@group.command()
def void(match: Match, reason: Why, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Take a finished match out of the log of results and update the ranking."""
    with connect(server, token) as client:
        made = client.rule_on_match(match, "void", reason)
    sentence = f"Match {match} no longer counts. `restore` reverses this."
    if not made.changed:
        sentence = f"Match {match} was already void; nothing changed. `deadheat matches {match}` says why."
    _done(as_json, made.model_dump(mode="json"), sentence)


@group.command()
def restore(match: Match, reason: Why, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Let a voided match count again."""
    with connect(server, token) as client:
        made = client.rule_on_match(match, "restore", reason)
    sentence = f"Match {match} counts again." if made.changed else f"Match {match} was not voided; nothing changed."
    _done(as_json, made.model_dump(mode="json"), sentence)


@group.command()
def rejudge(match: Match, reason: Why, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Replay a match with the same versions and seats and other dice: void a played one, or retry a held one."""
    with connect(server, token) as client:
        again = client.rejudge(match, reason)
    sentence = f"Match {match} does not count; match {again.match_id} is played instead."
    _done(as_json, again.model_dump(mode="json"), sentence)


@group.command()
def held(server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """List held matches, which you must decide: `rejudge`, `decide` or `leave`."""
    with connect(server, token) as client:
        found = client.held().items
    if as_json:
        print_json_lines(iter(found))
        return
    for match in found:
        out.print(f"[bold]Match {match.id}[/] of season {match.season_id}: {plain(result(match))}", soft_wrap=True)
        for attempt in match.attempts:
            out.print(f"  {plain(tried(attempt))}", soft_wrap=True)
    if not found:
        out.print("No match.")


@group.command()
def decide(
    match: Match,
    reason: Why,
    seat: Annotated[int, typer.Option(help="The seat that loses, counted from 1.", min=1)],
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Decide that a seat loses a held match, as by a forfeit."""
    with connect(server, token) as client:
        client.decide(match, seat - 1, reason)
    _done(as_json, {"match_id": match, "seat": seat - 1}, f"Seat {seat} loses match {match}.")


@group.command()
def leave(match: Match, reason: Why, server: Server = "", token: Token = "", as_json: AsJson = False) -> None:
    """Leave a held match unplayed; it counts for nobody."""
    with connect(server, token) as client:
        client.leave(match, reason)
    _done(as_json, {"match_id": match}, f"Match {match} stays unplayed.")


def _rule_on_entry(
    verb: str, told: str, season: int, bot: str, reason: str, server: str, token: str, as_json: bool
) -> None:
    """Carry out one of the API's verbs on an entry. `told`: how a sentence about the bot goes on."""
    with connect(server, token) as client:
        entry = find_entry(client, season, bot)
        client.change_entry(season, entry.bot_id, verb, {"reason": reason})
    sentence = f"{plain(entry.bot)} {told}"
    _done(as_json, {"season_id": season, "bot_id": entry.bot_id}, sentence)


@group.command()
def disqualify(
    season: Season, bot: Bot, reason: Why, server: Server = "", token: Token = "", as_json: AsJson = False
) -> None:
    """Disqualify a bot from a season: no new matches, and no old ones count."""
    told = f"is disqualified in season {season}. `reinstate` reverses this."
    _rule_on_entry("disqualify", told, season, bot, reason, server, token, as_json)


@group.command(name="withdraw")
def take_out(
    season: Season, bot: Bot, reason: Why, server: Server = "", token: Token = "", as_json: AsJson = False
) -> None:
    """Withdraw a bot from a season: waiting matches are dropped, old ones count."""
    told = f"is out of season {season}, and its matches count. `reinstate` reverses this."
    _rule_on_entry("withdraw", told, season, bot, reason, server, token, as_json)


@group.command()
def reinstate(
    season: Season, bot: Bot, reason: Why, server: Server = "", token: Token = "", as_json: AsJson = False
) -> None:
    """Reverse a disqualification or a withdrawal."""
    told = f"takes part in season {season} again."
    _rule_on_entry("reinstate", told, season, bot, reason, server, token, as_json)


@group.command()
def announce(
    title: Annotated[str, typer.Argument(help="One line.")],
    text: Annotated[str, typer.Argument(help="The rest.")],
    season: Annotated[int, typer.Option(help="About this season; 0: about the whole league.")] = 0,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Publish an announcement for everyone."""
    body = {"title": title, "text": text} | ({"season": season} if season else {})
    with connect(server, token) as client:
        made = client.announce(body)
    sentence = f"Announcement {made.id} is published. `take-down {made.id}` removes it."
    _done(as_json, made.model_dump(mode="json"), sentence)


@group.command(name="take-down")
def take_down(
    announcement: Annotated[int, typer.Argument(help="Its number.", min=1)],
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Remove an announcement from the site."""
    with connect(server, token) as client:
        client.take_down(announcement)
    _done(as_json, {"id": announcement}, f"Announcement {announcement} is removed.")


@group.command()
def appeals(
    season: Annotated[int, typer.Option(help="Only appeals of this season; 0: of all.")] = 0,
    state: Annotated[AppealState | None, typer.Option(help="Only appeals in this state.")] = AppealState.OPEN,
    every: Annotated[bool, typer.Option("--all", help="Appeals in any state.")] = False,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """List appeals with the results of re-simulating their matches."""
    with connect(server, token) as client:
        found = list(client.appeals(season=season, state="" if every or state is None else state.value))
    if as_json:
        print_json_lines(found)
        return
    for number, item in enumerate(found):
        out.print("\n" * (number > 0) + _appeal_line(item), soft_wrap=True)
        out.print(quoted(item.text), soft_wrap=True)
        if item.ruling:
            out.print("  The ruling:")
            out.print(quoted(item.ruling), soft_wrap=True)
    if not found:
        out.print("No appeal.")


def _appeal_line(item: Appeal) -> str:
    """An appeal but for its text, which may be long."""
    findings = item.findings
    told = [REPLAYS[findings["verified"]]]
    told += [plain(f"{fault['bot']} {fault['fault']} at {fault['command']}") for fault in findings["faults"]]
    if voids := sum(attempt["cause"] != "played" for attempt in findings["attempts"]):
        told.append(f"{counted(voids, 'attempt')} void")
    head = plain(f"Appeal {item.id}, {item.state}: match {item.match_id}, by {item.bot}")
    return f"[bold]{head}[/] ({', '.join(told)})"


@group.command()
def rule(
    appeal: Annotated[int, typer.Argument(help="The appeal's number.", min=1)],
    reason: Why,
    uphold: Annotated[bool, typer.Option("--uphold/--reject", help="Whether the author is right.")],
    remedy: Annotated[Remedy, typer.Option(help="What happens to the match if the appeal is upheld.")] = Remedy.NONE,
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Rule on an author's appeal."""
    body = {"uphold": uphold, "ruling": reason, "remedy": remedy.value}
    with connect(server, token) as client:
        made = client.rule(appeal, body)
    sentence = f"Appeal {appeal} about match {made.match_id} is {plain(made.state)}."
    _done(as_json, made.model_dump(mode="json"), sentence)


def appeal(
    match: Match,
    text: Annotated[str, typer.Argument(help="What is wrong with it, in your words.")],
    server: Server = "",
    token: Token = "",
    as_json: AsJson = False,
) -> None:
    """Appeal against a finished match of your bot: it is re-simulated at once, and an organiser rules."""
    with connect(server, token) as client:
        made = client.appeal(match, text)
    if as_json:
        print_json(made)
        return
    findings = made.findings
    out.print(f"Appeal {made.id} is open.")
    if findings["verified"]:
        out.print(f"Re-simulated: rules, dice and result agree at all {findings['exchanges']} exchanges.")
    else:
        lead = (
            "It could not be re-simulated:"
            if findings["verified"] is None
            else "[red]The transcript does not replay:[/]"
        )
        out.print(f"{lead} {plain(findings['problem'])}", soft_wrap=True)
    for fault in findings["faults"]:
        why = plain(f"({fault['bot']}): {fault['why'] or fault['fault']}")
        out.print(f"  seat {seat_number(fault['seat'])} {why}", soft_wrap=True)


def audit(
    subject: Annotated[str, typer.Argument(help="Only records about this subject, e.g. match/5.")] = "",
    check: Annotated[bool, typer.Option("--check", help="Read the whole log and recompute its chain.")] = False,
    head: Annotated[str, typer.Option(help="With --check: the SHA-256 of a record that must be in the log.")] = "",
    server: Server = "",
    as_json: AsJson = False,
) -> None:
    """Show the public log of decisions and their reasons, or check that nothing was changed."""
    with visit(server) as client:
        if check:
            _check(client.audit(oldest_first=True), head, as_json)
            return
        found = list(client.audit(subject, limit=AUDIT_LINES))
    if as_json:
        print_json_lines(found)
        return
    for record in found:
        data = ", ".join(f"{key}: {value}" for key, value in json.loads(record.data).items() if value != "")
        line = f"{record.at[:19]} {record.actor}: {record.action} {record.subject}  {data}"
        out.print(plain(line), soft_wrap=True)


def export(
    season: Season,
    table: Annotated[Exported, typer.Argument(help="What.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file; default: the terminal.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of JSON Lines.")] = False,
    server: Server = "",
) -> None:
    """Export everything public about a season, table by table, as JSON Lines or CSV (docs/export.md)."""
    with visit(server) as client:
        pieces = client.export(season, table.value, "csv" if as_csv else "jsonl")
        first = next(pieces, b"")  # a refusal comes before the file is made
        try:
            if output is None:
                sys.stdout.buffer.writelines(chain((first,), pieces))
                sys.stdout.buffer.flush()
            else:
                _save(chain((first,), pieces), output.resolve())
        except OSError as error:
            if output is None and isinstance(error, BrokenPipeError):
                raise  # whoever read our output has seen enough: the command ends without a word
            fail(f"{output or 'stdout'}: {error.strerror}")
    if output is not None:
        err.print(f"Written to {plain(str(output))}.", soft_wrap=True)


def _save(pieces: Iterable[bytes], path: Path) -> None:
    """All of it or nothing: what breaks off midway never looks like the whole."""
    if path.exists() and not path.is_file():  # a device or a pipe, which no file must take the place of
        with path.open("wb") as target:
            target.writelines(pieces)
        return
    partial = path.with_name(f"{path.name}.part")
    try:
        with partial.open("wb") as target:
            target.writelines(pieces)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _check(records: Iterator[AuditRecord], head: str, as_json: bool) -> None:
    previous, count, seen = GENESIS, 0, not head
    for item in records:
        record = AuditEntry(**{field.name: getattr(item, field.name) for field in fields(AuditEntry)})
        if record.prev_sha256 != previous or record.sha256 != record_sha256(record):
            fail(f"record {record.id} does not follow from the previous one: the log was changed")
        previous = record.sha256
        seen = seen or previous == head
        count += 1
    if not seen:
        fail(f"no record has the SHA-256 {head}: the log was replaced")
    sentence = f"{count} records; each follows from the previous one. SHA-256 of the last: {previous}"
    _done(as_json, {"records": count, "sha256": previous}, sentence)


def _done(as_json: bool, what: Mapping[str, Any], sentence: str) -> None:
    if as_json:
        print_json(what)
    else:
        out.print(sentence, soft_wrap=True)
