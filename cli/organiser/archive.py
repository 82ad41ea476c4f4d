"""`deadheat season archive` and `verify`: a season in one file, which anybody can check without its server.

Theory of operation
-------------------
An archive holds the server's own answers, unchanged, by the requested path. So whatever checks a server can check an
archive: `Archived` is a client that finds its answers in the file. It is a zip whose members are in a fixed order,
without dates, so the same answers make the same file. `manifest.json` has the hash of each member.
"""

from __future__ import annotations

import json
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlencode

import typer
from rich.progress import track

from deadheat.cli.console import cannot, err, fail, note
from deadheat.cli.organiser.season_file import Number
from deadheat.cli.output import Output
from deadheat.cli.rate import Row, rows
from deadheat.cli.server.api_client import Client, doubting
from deadheat.cli.server.wire import Refused
from deadheat.engine.figures import counted
from deadheat.league.words import Exported
from deadheat.sandbox.archive import MAX_RATIO, RATIO_FROM_BYTES, BadArchive, Bounds, check_path

if TYPE_CHECKING:
    from deadheat.league.records.seasons import SeasonDetail

FORMAT = 1
MANIFEST = "manifest.json"
DATE = (1980, 1, 1, 0, 0, 0)
"""The date in a zip that means none."""

MAX_GROWTH = 20
"""How much an archive above the bounds of an upload may grow when unpacked: whole seasons grow 3- to 5-fold, their
tables alone at most 16-fold."""


def archive(
    client: Client,
    season: Number,
    output: Annotated[Path, typer.Option("--output", "-o", help="The archive, such as season-1.zip.")],
) -> Iterator[Output]:
    """Write everything public about a season into one file: its settings, tables, rankings, rulings, transcripts, and
    the sources if it publishes them.

    `season verify` checks it without the server. All archives of a closed season are identical, byte for byte. The
    audit log keeps the hash of an organiser's archive, and others are compared with it (exit code 1 if they differ).
    """
    with tempfile.TemporaryDirectory(prefix="deadheat-archive-") as folder:
        recording = _Recording(client, Path(folder))
        try:
            with doubting():
                _gather(recording, season)
                early = client.season(season).published_at is None
            write(Path(folder), output, season)
        except OSError as error:
            cannot(f"write {output}", error)
    if early:
        note(
            f"season {season} is not over. Its archive may contradict itself where matches ended meanwhile.", "warning:"
        )
    with output.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    members = counted(len(recording.names), "answer")
    with doubting():
        logged = _logged(client, season, digest)
    answer = {"season_id": season, "file": str(output), "sha256": digest, "members": len(recording.names)}
    agreement = " The audit log has the same hash." if logged else ""
    yield Output(answer | {"logged": logged}, f"{output}: season {season}, {members}, SHA-256 {digest}.{agreement}")
    if logged is False:
        fail(f"{output}: the audit log has another archive of season {season}")


def _logged(client: Client, season_id: int, digest: str) -> bool | None:
    """Return whether the audit log has this hash. If it has none, an organiser adds this one; others get None."""
    known = {json.loads(record.data)["sha256"] for record in client.audit(f"archive/{season_id}")}
    if not known:
        try:
            client.note_archive(season_id, digest)
        except Refused as error:
            if error.status not in (401, 403, 409):  # not an organiser, or the season is not published
                raise
            return None
        return True
    return digest in known


STALE_SECONDS = 1.1
"""A server repeats answers for a second (`FRESH_SECONDS` in `api.services`), but the archive must contain what was
published just before."""


def _gather(client: Client, season_id: int) -> None:
    time.sleep(STALE_SECONDS)
    for answer in ("", "/season.toml", "/leaderboard"):
        client.download(f"/v1/seasons/{season_id}{answer}")
    for _ in client.audit(f"season/{season_id}", oldest_first=True):
        pass
    for table in Exported:
        for _ in client.export(season_id, table.value, "jsonl"):
            pass
    played = [row["match_id"] for row in rows(client, season_id, "matches") if row["transcript_sha256"]]
    for match_id in track(played, "transcripts", console=err, transient=True, disable=not err.is_terminal):
        _patiently(client.transcript, match_id)
    for row in rows(client, season_id, "sources"):
        _patiently(client.public_source, season_id, row["version_id"])


def _patiently(ask: Callable[..., bytes], *which: int) -> None:
    """Request a file, and wait whenever the server says so, because one address may not request thousands at once."""
    while True:
        try:
            ask(*which)
        except Refused as error:
            if not error.retry_after_seconds:
                raise
            time.sleep(error.retry_after_seconds)
        else:
            return


def _member(path: str, params: Mapping[str, Any] | None = None) -> str:
    name = path.lstrip("/") + (f"/{urlencode(sorted(params.items()))}" if params else "")
    last = path.rpartition("/")[2]
    if "." in last or "/sources/" in name:
        return name
    return f"{name}.jsonl" if last == "transcript" else f"{name}.json"


class _Recording(Client):
    """A client that keeps every answer in a folder. It checks their paths, which contain what the server said."""

    def __init__(self, client: Client, folder: Path) -> None:
        self._wire = client._wire  # noqa: SLF001  the same connections
        self.server, self.has_token = client.server, client.has_token
        self._asked = client._wire.pieces  # noqa: SLF001
        self._wire = self  # type: ignore[assignment]
        self._folder = folder
        self.names: set[str] = set()

    def pieces(self, method: str, path: str, params: Mapping[str, Any] | None = None, **what: Any) -> Iterator[bytes]:
        """Send a request and keep the answer."""
        name = _member(path, params)
        try:
            check_path(name)
        except BadArchive as error:
            raise Refused(0, "strange", f"this answer of the server cannot be archived: {error}") from None
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as kept:
            for piece in self._asked(method, path, params=params, **what):
                kept.write(piece)
                yield piece
        self.names.add(name)


def write(folder: Path, output: Path, season_id: int) -> None:
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    hashes = {}
    for name in names:
        with (folder / name).open("rb") as file:
            hashes[name] = file_digest(file, "sha256").hexdigest()
    manifest = json.dumps({"format": FORMAT, "season": season_id, "members": hashes}, indent=1, sort_keys=True)
    with zipfile.ZipFile(output, "w") as made:
        made.writestr(_info(MANIFEST), manifest + "\n")
        for name in names:
            with (folder / name).open("rb") as file, made.open(_info(name), "w", force_zip64=True) as into:
                while piece := file.read(1 << 20):
                    into.write(piece)


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


class Archived(Client):
    """A client whose server is an archive: it finds the answer to each request there."""

    def __init__(self, file: zipfile.ZipFile, most_bytes: int) -> None:
        """Read at most so many bytes of the manifest. Raise an error of any kind if that is not a manifest."""
        self._file = file
        self._wire = self  # type: ignore[assignment]
        self.server, self.has_token = "", False
        with file.open(MANIFEST) as manifest:
            self._manifest = json.loads(manifest.read(most_bytes))
        self.season_id = int(self._manifest["season"])

    @property
    def member_count(self) -> int:
        return len(self._manifest["members"])

    @property
    def record(self) -> SeasonDetail:
        """The season's record, with None for what an older server did not say."""
        return self.season(self.season_id)

    def rows(self, table: str) -> Iterator[Row]:
        """Yield a table's rows. Raises Refused, ValueError."""
        return rows(self, self.season_id, table)

    @property
    def settings(self) -> Row:
        """The season's row of its table."""
        (season,) = self.rows("season")
        return season

    def season(self, season_id: int) -> SeasonDetail:
        from deadheat.league.records.seasons import SeasonDetail

        answer = self.call("GET", f"/v1/seasons/{season_id}")
        return SeasonDetail.model_construct(**{name: answer.get(name) for name in SeasonDetail.model_fields})

    def close(self) -> None:
        """Close the archive's file. No request is possible afterwards."""
        self._file.close()

    def pieces(self, method: str, path: str, params: Mapping[str, Any] | None = None, **_: Any) -> Iterator[bytes]:
        """Yield the answer. Raises Refused if the archive lacks it."""
        try:
            yield from self._content(_member(path, params))
        except KeyError:
            raise Refused(404, "missing", f"The archive has no answer to {method} {path}.") from None

    def _content(self, name: str) -> Iterator[bytes]:
        """Yield a member's content, never more than the zip's directory states. Raises KeyError, ValueError."""
        info = self._file.getinfo(name)
        try:
            with self._file.open(info) as file:
                while piece := file.read(1 << 16):
                    yield piece
        except Exception as error:  # what the library and its decompressors raise for damage is documented nowhere
            raise ValueError(f"{name} cannot be unpacked: {error}") from error

    def wrong_members(self) -> Iterator[str]:
        """Compare members with their hashes. Yield a sentence about each that differs, is missing or is superfluous."""
        hashes = self._manifest["members"]
        there = Counter(info.filename for info in self._file.infolist() if info.filename != MANIFEST)
        for name in sorted(set(hashes) - set(there)):
            yield f"{name} is missing."
        for name in sorted(there):
            if name not in hashes:
                yield f"{name} is not in the manifest."
            elif there[name] > 1:
                yield f"{name} is there more than once."
            elif wrong := self._wrong(name, hashes[name]):
                yield wrong

    def _wrong(self, name: str, expected: str) -> str | None:
        digest = sha256()
        try:
            for piece in self._content(name):
                digest.update(piece)
        except ValueError as error:
            return f"{error}."
        return f"{name} is not what the manifest says." if digest.hexdigest() != expected else None


def grouped(table: Iterable[Row], *columns: str) -> defaultdict[Any, list[Row]]:
    """Group rows by a column, or by several."""
    groups = defaultdict(list)
    for row in table:
        groups[row[columns[0]] if len(columns) == 1 else tuple(row[name] for name in columns)].append(row)
    return groups


def opened(path: Path) -> Archived:
    """Open an archive. End the command if the file is not an archive, or if it grows too much when unpacked."""
    try:
        file = zipfile.ZipFile(path)
        size = path.stat().st_size
        most_bytes = max(RATIO_FROM_BYTES, min(MAX_RATIO * size, max(Bounds().total_bytes, MAX_GROWTH * size)))
        fits = sum(info.file_size for info in file.infolist()) <= most_bytes
        # Each member takes more of the file than its line in the manifest has.
        archived = Archived(file, max(size, RATIO_FROM_BYTES)) if fits else None
    except OSError as error:
        cannot(f"read {path}", error)
    except Exception:  # noqa: BLE001  what the library raises for damage is documented nowhere
        fail(f"{path} is not an archive of a season")
    return archived or fail(f"{path} grows to over {most_bytes} bytes when unpacked, too much for its size")
