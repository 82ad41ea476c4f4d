"""The organiser's token that a deployment with one process tree creates for itself, and its file.

An operator's removals are respected: a revoked token is not replaced, and an account that is no longer an organiser's
is not promoted. Nobody removed a token that is missing, unknown or expired, so it is replaced.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deadheat.league.config import Settings
    from deadheat.league.database import Database
    from deadheat.league.service.rulings.closing import Standing

NAME = "organiser"


def token_file(settings: Settings) -> Path:
    """Return the path of the token; the file may not exist yet."""
    return settings.data_dir / "organiser.token"


def standing(database: Database, file: Path) -> Standing:
    """Return the status in this league of the token in the file, if there is one."""
    from deadheat.league.service.rulings.closing import token_standing

    try:
        secret = file.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        secret = ""
    with database.reading() as session:
        return token_standing(session, NAME, secret)


def keep_token(database: Database, file: Path) -> str:
    """Make sure that the file holds a valid token (a new one revokes the old one), or say why there is none."""
    from deadheat.league.service.rulings.closing import Standing, ensure_organiser

    found = standing(database, file)
    if found is Standing.LOST:
        partial = file.with_suffix(f".{secrets.token_hex(4)}")
        partial.touch(mode=0o600)
        with database.transaction() as session:
            partial.write_text(ensure_organiser(session, NAME) + "\n")
            partial.replace(file)  # before the commit: if that fails, the file holds an unknown token
    return taken_away(found, file)


def taken_away(found: Standing, file: Path) -> str:
    """Say in a sentence what an operator removed and how to restore it; empty if nothing was removed."""
    from deadheat.league.service.rulings.closing import Standing

    if found is Standing.REVOKED:
        return f"The organiser's token in {file} was revoked: delete the file, and `deadheat serve` makes a new one."
    if found is Standing.DEMOTED:
        held = f"The account of the token in {file} is no longer an organiser"
        return f"{held}; `deadheat user role {NAME} organiser` restores the role."
    return ""
