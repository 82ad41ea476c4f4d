"""Unpacks a blob into a directory with a program that a box can start."""

from pathlib import Path

from deadheat.league.jobs import ProgramRef
from deadheat.sandbox.archive import extract_program
from deadheat.sandbox.box import Program
from deadheat.sandbox.languages import LANGUAGES
from deadheat.workers.context import Context


def fetch_program(context: Context, ref: ProgramRef, directory: Path) -> Program:
    """Unpack a version's built program into `directory`.

    Raises:
        league.blobs.BlobMissing, sandbox.archive.BadArchive: the store lost or damaged it, which is our failure.
    """
    directory.mkdir(parents=True)
    tar = context.blobs.get(ref.program_sha256, context.settings.unpacked_limit_bytes)
    extract_program(tar, directory, context.settings.unpacked_limit_bytes)
    return Program(directory, LANGUAGES[ref.language].starting_with(ref.entry).run, ref.label)
