"""The organiser's token that a deployment of one process tree makes for itself, and the file that it is kept in.

What an operator took away stays away: a token that was revoked is not replaced, an account that organises no more is
not promoted. A token that is missing, unknown or expired was taken away by nobody, so there is a new one.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from league.config import Settings

if TYPE_CHECKING:
    from league.database import Database
    from league.service.rulings.operators import Standing

NAME = "organiser"


def token_file(settings: Settings) -> Path:
    """Where the token is; it may not be there (yet)."""
    return settings.data_dir / "organiser.token"


def standing(database: Database, file: Path) -> Standing:
    """What the token in the file, if there is one, is worth in this league."""
    from league.service.rulings.operators import token_standing

    try:
        secret = file.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        secret = ""
    with database.reading() as session:
        return token_standing(session, NAME, secret)


def keep_token(database: Database, file: Path) -> str:
    """Make sure that the file holds a token that opens, a new one ends the one before; else why there is no new one."""
    from league.service.rulings.operators import Standing, ensure_organiser

    found = standing(database, file)
    if found is Standing.LOST:
        partial = file.with_suffix(f".{secrets.token_hex(4)}")
        partial.touch(mode=0o600)
        with database.transaction() as session:
            partial.write_text(ensure_organiser(session, NAME) + "\n")
            partial.replace(file)  # before the commit: should that fail, the file holds one that is unknown
    return taken_away(found, file)


def taken_away(found: Standing, file: Path) -> str:
    """In a sentence, what an operator took away and how to get it back; empty: nothing."""
    from league.service.rulings.operators import Standing

    if found is Standing.REVOKED:
        return f"The organiser's token in {file} was revoked: delete the file, and `deadheat serve` makes a new one."
    if found is Standing.DEMOTED:
        held = f"The account of the token in {file} is no longer an organiser, and stays so"
        return f"{held}: `deadheat user role {NAME} organiser` gives it back."
    return ""
