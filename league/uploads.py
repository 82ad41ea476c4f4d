"""Turns a stranger's bytes into a buildable upload: recognises, checks and stores it before any row is written."""

import re
from collections.abc import Collection
from typing import BinaryIO

from deadheat.engine.language import _
from deadheat.league.blobs import Blobs
from deadheat.league.config import Settings
from deadheat.league.errors import BadUpload
from deadheat.league.service.bots.bots import Upload
from deadheat.sandbox.archive import BadArchive, Bounds, inspect_zip, is_zip_name
from deadheat.sandbox.languages import LANGUAGES, LanguageError, detect

MAX_FILENAME = 100
_FILENAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")
"""Filenames are shown to people and passed to tools, so only simple ones are allowed."""


def accept(
    file: BinaryIO,
    filename: str,
    sha256: str,
    settings: Settings,
    blobs: Blobs,
    installed: Collection[str] | None = None,
) -> Upload:
    """Inspect an upload (received within the size limit and hashed on the way) and store it.

    `installed` are the languages of the judge image, or None while they are unknown; the build then finds out. Raises
    BadUpload: the text says what is wrong with it, for its author.
    """
    size = file.seek(0, 2)
    if not size:
        raise BadUpload("empty", _("The file is empty."))
    if len(filename) > MAX_FILENAME or not _FILENAME.fullmatch(filename):
        raise BadUpload("bad-name", _("Name the file with letters, digits and . _ + - only, e.g. bot.py or bot.zip."))
    try:
        language, entry = _recognise(file, filename, settings)
    except (BadArchive, LanguageError) as error:
        raise BadUpload(error.reason, error.detail) from error
    if installed is not None and language not in installed:
        has = ", ".join(recipe.title for name, recipe in LANGUAGES.items() if name in installed)
        said = _("This server's image has no %(title)s; it has %(has)s.", title=LANGUAGES[language].title, has=has)
        raise BadUpload("not-installed", said)
    return Upload(filename, size, blobs.put_file(file, sha256), language, entry)


def _recognise(file: BinaryIO, filename: str, settings: Settings) -> tuple[str, str]:
    if is_zip_name(filename):
        return detect(filename, *inspect_zip(file, Bounds(total_bytes=settings.unpacked_limit_bytes)))
    language, entry = detect(filename, [filename], None)
    file.seek(0)
    while chunk := file.read(256 * 1024):
        if b"\0" in chunk:
            said = _("%(filename)s is not a source file: it contains NUL bytes.", filename=filename)
            raise BadUpload("not-text", said)
    return language, entry
