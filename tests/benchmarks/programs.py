"""Small programs for benchmarks, built as a worker builds them."""

import shutil
from pathlib import Path

from deadheat.sandbox.archive import extract_program
from deadheat.sandbox.box import Program, Sandbox
from deadheat.sandbox.build import build
from deadheat.sandbox.languages import LANGUAGES

HERE = Path(__file__).resolve().parent


def built(source: Path, language: str, sandbox: Sandbox, folder: Path, *headers: Path) -> Program:
    """Build a single source file, with what it includes, into the new directory `folder`."""
    recipe = LANGUAGES[language]
    sources, program = folder / "sources", folder / "program"
    sources.mkdir(parents=True)
    program.mkdir()
    shutil.copy(source, sources / recipe.entries[0])
    for header in headers:
        shutil.copy(header, sources)
    extract_program(build(sandbox, sources, recipe).tar, program, 64 * 2**20)
    return Program(program, recipe.run, source.name)
