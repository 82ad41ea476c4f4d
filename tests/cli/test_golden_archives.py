"""What was played stays as it was judged: archives and transcripts of earlier code are right for ever."""

import json
import random
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from deadheat.cli.organiser.archive import MANIFEST
from deadheat.league.records.rulings import AuditRecord
from deadheat.league.verification.fairness import record_sha256
from tests.cli.command import ROOT, invoke

GOLDEN = ROOT / "tests" / "archives"
ARCHIVES = [file.stem for file in sorted(GOLDEN.glob("*.zip"))]


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_of_earlier_code_stays_right(name: str) -> None:
    done = invoke("season", "verify", str(GOLDEN / f"{name}.zip"), "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    checks = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(check["verified"] for check in checks)
    (told,) = (check["detail"] for check in checks if check["check"] == "transcripts")
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as file:
        played = sum(member.endswith("/transcript.jsonl") for member in file.namelist())
    assert told.startswith(f"{played} matches played again")


@pytest.mark.parametrize("name", ARCHIVES)
def test_each_transcript_in_it_is_right_by_itself(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as file:
        for member in file.namelist():
            if member.endswith("/transcript.jsonl"):
                path = tmp_path / member.replace("/", "-")
                path.write_bytes(file.read(member))
                done = invoke("verify", str(path), "--json")
                assert done.returncode == 0, (member, done.stdout, done.stderr)
                assert json.loads(done.stdout)["verified"] is True


Members = dict[str, bytes]
Row = dict[str, Any]
NAMES = "author", "bot", "version", "bot_id", "version_id"
LOG = "v1/audit/limit=100&oldest_first=true&subject=season%2F3.json"
BOARD = "v1/seasons/3/leaderboard.json"


def table(name: str) -> str:
    return f"v1/seasons/3/export/{name}.jsonl"


@pytest.fixture(scope="module")
def members() -> Members:
    with zipfile.ZipFile(GOLDEN / "2026-11-28-betris-large.zip") as file:
        return {name: file.read(name) for name in file.namelist()}


def said(path: Path, members: Mapping[str, bytes], code: int = 1) -> str:
    """Write an archive whose manifest fits these members, and return what `verify` says."""
    told = {name: sha256(content).hexdigest() for name, content in members.items() if name != MANIFEST}
    manifest = {**json.loads(members[MANIFEST]), "members": told}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in {**members, MANIFEST: json.dumps(manifest).encode()}.items():
            file.writestr(name, content)
    done = invoke("season", "verify", str(path))
    assert done.returncode == code, done.stdout
    return " ".join(done.stdout.split())


def rows(members: Members, name: str) -> list[Row]:
    return [json.loads(line) for line in members[table(name)].splitlines()]


def with_rows(members: Members, name: str, found: list[Row]) -> Members:
    return members | {table(name): b"".join(json.dumps(row).encode() + b"\n" for row in found)}


def with_board(members: Members, change: Callable[[list[Row]], object]) -> Members:
    board = json.loads(members[BOARD])
    change(board["rows"])
    return members | {BOARD: json.dumps(board).encode()}


def exchange(found: list[Row], *columns: str) -> None:
    """Exchange the two bots in these columns, by the number of the version."""
    about = {row["version_id"]: {name: row[name] for name in columns if name in row} for row in found}
    one, other = about
    for row in found:
        row.update(about[other if row["version_id"] == one else one])


def cell(name: str, number: int, **values: object) -> Callable[[Members], Members]:
    def edit(members: Members) -> Members:
        found = rows(members, name)
        found[number].update(values)
        return with_rows(members, name, found)

    return edit


def without(name: str, **about: object) -> Callable[[Members], Members]:
    def edit(members: Members) -> Members:
        found = rows(members, name)
        kept = [row for row in found if not about.items() <= row.items()]
        assert len(kept) < len(found)
        return with_rows(members, name, kept)

    return edit


def invented(members: Members) -> Members:
    """Add a void attempt at a match."""
    found = rows(members, "attempts")
    return with_rows(members, "attempts", [found[0] | {"attempt_id": 1, "cause": "host-memory"}, *found])


def one_timeout(members: Members, change: Callable[[Row], object]) -> Members:
    found = rows(members, "attempts")
    row = next(row for row in found if "timeouts" in row["evidence"])
    evidence = json.loads(row["evidence"])
    change(evidence)
    row["evidence"] = json.dumps(evidence)
    return with_rows(members, "attempts", found)


def the_bots_exchanged(members: Members) -> Members:
    """Exchange both bots in every table and the ranking, and leave to the transcripts who really won."""
    for name in ("participants", "entries", "standings"):
        found = rows(members, name)
        exchange(found, *NAMES)
        members = with_rows(members, name, found)
    return with_board(members, lambda board: exchange(board, *NAMES))


def in_the_log(number: int, *, hashed: bool, **values: str) -> Callable[[Members], Members]:
    def edit(members: Members) -> Members:
        log = json.loads(members[LOG])
        record = AuditRecord(**log["items"][number] | values)
        again = {"sha256": record_sha256(replace(record, sha256=""))} if hashed else {}
        log["items"][number] |= {**values, **again}
        return members | {LOG: json.dumps(log).encode()}

    return edit


LIES: Mapping[str, tuple[Callable[[Members], Members], str]] = {
    "first and last exchanged everywhere": (the_bots_exchanged, "the player at seat 1 is"),
    "the players of one match": (
        lambda found: cell("participants", 0, **{k: rows(found, "participants")[1][k] for k in NAMES})(found),
        "the player at seat 1 is",
    ),
    "points": (cell("participants", 0, points="999"), "the points of seat 1 is 36 in the transcript but 999"),
    "a seat": (cell("participants", 0, seat=5), "does not have each of its seats once"),
    "a missing seat": (without("participants", match_id=15, seat=1), "does not have each of its seats once"),
    "the series": (cell("matches", 0, series_id=99), "the series is"),
    "the sum of response times": (cell("latencies", 0, total_ns=1), "own times at PHASE1"),
    "the longest response time": (cell("latencies", 0, worst_ns=1), "own times at PHASE1"),
    "the number of prompts": (cell("latencies", 0, prompts=99), "own times at PHASE1"),
    "the limit": (cell("latencies", 0, limit_ns=1), "own times at PHASE1"),
    "a missing response time": (without("latencies", match_id=15, seat=0), "but none in the league's record"),
    "the void attempt emptied": (
        without("attempts", cause="host-memory"),
        "the number of void attempts before it is 1",
    ),
    "the result's attempt emptied": (
        without("attempts", match_id=15),
        "the number of attempts in the ledger that became its result is 0",
    ),
    "an attempt invented": (invented, "the number of void attempts before it is 1 in the transcript but 2"),
    "a seed's number": (cell("attempts", 0, seed_number=3), "attempts at it whose seeds do not follow each other"),
    "the evidence of a timeout": (
        lambda found: one_timeout(found, lambda evidence: evidence["timeouts"][0].update(full_ns=1)),
        "evidence of its timeouts is not the transcript's",
    ),
    "the timeout left out": (
        lambda found: one_timeout(found, lambda evidence: evidence.pop("timeouts")),
        "evidence of its timeouts is not the transcript's",
    ),
    "the time taken": (
        lambda found: one_timeout(found, lambda evidence: evidence.update(stolen_ns=1)),
        "stolen_ns of the attempt is",
    ),
    "names in the entries": (cell("entries", 0, author="eve"), "but eve in entries"),
    "names in the standings": (cell("standings", 0, author="eve"), "but eve in standings"),
    "names in the ranking": (
        lambda found: with_board(found, lambda board: exchange(board, "author", "bot")),
        "in leaderboard",
    ),
    "figures in the standings": (cell("standings", 0, elo=3000.0), "differs from the ranking: elo"),
    "a record's actor": (in_the_log(0, hashed=False, actor="eve"), "is not what its hash says"),
    "a record's actor, hashed again": (in_the_log(0, hashed=True, actor="eve"), "does not follow from record"),
    "the published log": (in_the_log(-1, hashed=True, data="{}"), "record of the publication has other figures"),
}


@pytest.mark.parametrize(("lie", "sentence"), LIES.values(), ids=LIES)
def test_a_lie_that_is_hashed_again_is_found(
    members: Members, tmp_path: Path, lie: Callable[[Members], Members], sentence: str
) -> None:
    assert sentence in said(tmp_path / "season.zip", lie(members))


def test_the_archive_of_these_lies_is_right(members: Members, tmp_path: Path) -> None:
    told = said(tmp_path / "season.zip", members, 0)
    assert "1 match needed a further attempt (host-memory 1)" in told
    assert "What remains the host's word" in told


def test_a_fault_has_its_own_time_and_reason(members: Members, tmp_path: Path) -> None:
    found = rows(members, "participants")
    number = next(number for number, row in enumerate(found) if row["fault"])
    for values, sentence in (
        ({"fault": None, "fault_command": None}, "but none in the league's record"),
        ({"fault_command": "READY"}, "but timeout at READY in the league's record"),
        ({"fault_elapsed_ms": 1.5}, "fault in ms is"),
        ({"fault_why": "It lost."}, "but It lost. in the league's record"),
    ):
        assert sentence in said(tmp_path / "season.zip", cell("participants", number, **values)(members))


def test_a_bot_that_was_renamed_played_under_its_old_name(members: Members, tmp_path: Path) -> None:
    for name in ("participants", "entries"):
        renamed = [row | {"bot": "another"} if row["bot_id"] == 6 else row for row in rows(members, name)]
        members = with_rows(members, name, renamed)
    assert "not compared: the names of 1 bot renamed since" in said(tmp_path / "season.zip", members, 0)


def test_a_damaged_archive_is_wrong_in_a_sentence(members: Members, tmp_path: Path) -> None:
    path = tmp_path / "season.zip"
    said(path, members, 0)
    with zipfile.ZipFile(path) as file:
        info = file.getinfo("v1/matches/15/transcript.jsonl")
    data = bytearray(path.read_bytes())
    at = info.header_offset + 30 + len(info.filename)
    data[at : at + 40] = bytes(40)
    path.write_bytes(data)
    done = invoke("season", "verify", str(path))
    assert done.returncode == 1
    assert "v1/matches/15/transcript.jsonl cannot be unpacked" in " ".join(done.stdout.split())


def written(path: Path, manifest: bytes, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(MANIFEST, manifest)
        for name, content in members:
            file.writestr(name, content)
    return path


def verified(path: Path) -> str:
    """Verify an archive that is not right. Return what is said."""
    done = invoke("season", "verify", str(path))
    assert done.returncode == 1 and done.stderr.count("error: ") == 1
    return " ".join((done.stdout + done.stderr).split())


EMPTY = b'{"format": 1, "season": 3, "members": {}}'
MATCHES = table("matches")


def test_an_archive_that_grows_too_much_is_refused(tmp_path: Path) -> None:
    bomb = written(tmp_path / "bomb.zip", EMPTY, ("x", bytes(4 << 20)))
    assert "grows to over 1048576 bytes when unpacked" in verified(bomb)
    larger = written(tmp_path / "larger.zip", EMPTY, ("x", bytes(70 << 20)), ("y", random.Random(0).randbytes(1 << 20)))
    assert "grows to over 67108864 bytes when unpacked" in verified(larger), "below 200-fold"


def test_a_manifest_larger_than_its_archive_is_not_read(tmp_path: Path) -> None:
    padding = ("x", random.Random(0).randbytes(1 << 14))
    assert "is not an archive" in verified(written(tmp_path / "x.zip", b" " * (1 << 20) + EMPTY, padding))
    assert "the manifest names 0 members" in verified(written(tmp_path / "x.zip", b" " * (1 << 19) + EMPTY, padding))


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (b'{"state": "done", "x": [{}, {}]}\n', "has a line that is not a row"),
        (b"[]\n", "has a line that is not a row"),
        (b"{\n", "JSONDecodeError"),
        (b"[" * 100_000 + b"\n", "RecursionError"),
        (b" " * (2 << 20), "has a line of more than 1048576 bytes"),
    ],
)
def test_what_is_no_row_is_wrong(row: bytes, sentence: str, tmp_path: Path) -> None:
    noise = ("x", random.Random(0).randbytes(1 << 14))
    told = verified(written(tmp_path / "x.zip", EMPTY, ("v1/seasons/3.json", b"{}"), (MATCHES, row), noise))
    assert "WRONG transcripts: they cannot be read." in told and sentence in told


def test_an_answer_is_read_whole_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deadheat.cli.server.api_client.MAX_JSON_BYTES", 1000)
    told = verified(written(tmp_path / "x.zip", EMPTY, ("v1/seasons/3.json", b" " * 1001)))
    assert "WRONG transcripts: they cannot be read." in told and "over 1000 bytes" in told


def test_any_damage_is_told_in_sentences(tmp_path: Path) -> None:
    path = written(tmp_path / "x.zip", b'{"season": 3, "members": {"v1/a.json": "00"}}', ("v1/a.json", b"{}" * 50))
    whole, told = path.read_bytes(), set()
    for at, mark in product(range(len(whole)), (14, 255)):  # 14: another method of compression
        path.write_bytes(whole[:at] + bytes([mark]) + whole[at + 1 :])
        said = verified(path)
        told |= set(
            re.findall(r"a\.json (?:cannot be unpacked|is missing|is not what)|is not an archive|cannot read", said)
        )
        assert "members: they cannot be read" not in said, (at, mark, said)
    path.write_bytes(whole[:-30])
    assert "is not an archive" in verified(path)
    assert {"a.json cannot be unpacked", "a.json is missing", "is not an archive"} <= told
