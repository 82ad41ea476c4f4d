"""Uploads are checked, because strangers send them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from deadheat.league.blobs import Blobs
from deadheat.league.errors import BadUpload
from deadheat.league.service.bots.bots import Upload
from deadheat.league.uploads import accept
from tests.league.ground import settings


def send(content: bytes, filename: str, tmp_path: Path) -> Upload:
    return accept(io.BytesIO(content), filename, "", settings(tmp_path), Blobs("memory:///"))


def zipped(**files: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return made.getvalue()


def test_a_source_file_and_an_archive_are_taken(tmp_path: Path) -> None:
    file = send(b"print()", "bot.py", tmp_path)
    assert (file.language, file.entry, file.size_bytes) == ("python", "main.py", 7)
    archive = send(zipped(main_c="int main;", board_h=""), "bot.zip", tmp_path)
    assert (archive.language, archive.entry) == ("c", "main.c")


@pytest.mark.parametrize(
    ("content", "filename", "reason"),
    [
        (b"", "bot.py", "empty"),
        (b"x", "bot", "unknown-language"),
        (b"x", "bot.rb", "unknown-language"),
        (b"x", "bot.zip", "not-an-archive"),
        (zipped(readme_txt=""), "bot.zip", "no-entry"),
        (b"\x7fELF\0\0", "bot.py", "not-text"),
        (b"x", "../bot.py", "bad-name"),
        (b"x", ".py", "bad-name"),
        (b"x", "bot\n.py", "bad-name"),
        (b"x", "b\u00f6t.py", "bad-name"),
        (b"x", "", "bad-name"),
        (b"x", "b" * 200 + ".py", "bad-name"),
    ],
)
def test_what_cannot_become_a_bot_is_refused(content: bytes, filename: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadUpload) as caught:
        send(content, filename, tmp_path)
    assert caught.value.reason == reason
