"""The organiser's token when `serve` restarts: a lost one is replaced, one that was taken away is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import col, update

from deadheat.cli.operator import organiser_token
from deadheat.league import errors
from deadheat.league.database import Database
from deadheat.league.service.people.access import look_up
from deadheat.league.service.people.users import existing_user
from deadheat.league.service.rulings.operators import Standing, set_role
from deadheat.league.states import Role, TokenKind
from deadheat.league.tables import Token
from tests.cli.command import invoke
from tests.league.ground import settings
from tests.league.world import World

YESTERDAY = datetime.now(UTC) - timedelta(days=1)


class Kept:
    """The file of the organiser's token, and the league that the token opens."""

    def __init__(self, folder: Path) -> None:
        made = World(settings(folder))  # with the schema
        made.close()
        self.database = Database(settings(folder))
        self.file = folder / "organiser.token"
        assert self.starts() == ""

    def starts(self) -> str:
        """Return the line about the token that `serve` prints at its start."""
        return organiser_token.keep_token(self.database, self.file)

    @property
    def token(self) -> str:
        return self.file.read_text().strip()

    def changes_tokens(self, **values: datetime) -> None:
        with self.database.transaction() as session:
            session.exec(update(Token).where(col(Token.id) > 0).values(**values))

    def loses(self, what: str) -> str:
        """Lose the token in this way, and return the token that opens nothing."""
        before = self.token
        if what == "file":
            self.file.unlink()
        elif what == "unknown":
            before = "dh_of-another-league"
            self.file.write_text(f"{before}\n")
        elif what == "expired":
            self.changes_tokens(expires_at=YESTERDAY)
        return before

    def has_role(self, role: Role) -> None:
        with self.database.transaction() as session:
            set_role(session, organiser_token.NAME, role)

    def organises(self, token: str) -> bool:
        try:
            with self.database.reading() as session:
                return look_up(session, token, TokenKind.TOKEN).person.organises
        except errors.BadToken:
            return False


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setenv("DEADHEAT_DATA_DIR", str(tmp_path))
    made = Kept(tmp_path)
    with closing(made.database):
        yield made


def is_replaced(kept: Kept, before: str) -> bool:
    assert kept.starts() == ""
    assert kept.file.stat().st_mode & 0o777 == 0o600
    return kept.token != before and kept.organises(kept.token) and not kept.organises(before)


def test_a_token_that_opens_is_kept(kept: Kept) -> None:
    before = kept.token
    assert kept.starts() == "" and kept.token == before and kept.organises(before)


@pytest.mark.parametrize("lost", ["file", "unknown", "expired"])
def test_a_token_that_opens_nothing_is_replaced(kept: Kept, lost: str) -> None:
    assert is_replaced(kept, kept.loses(lost))


@pytest.mark.parametrize("expired", [False, True])
def test_a_revoked_token_stays_in_its_file_until_that_is_deleted(kept: Kept, expired: bool) -> None:
    before = kept.token
    kept.changes_tokens(revoked_at=YESTERDAY, **({"expires_at": YESTERDAY} if expired else {}))
    assert "was revoked" in kept.starts() and kept.token == before and not kept.organises(before)
    kept.file.unlink()
    assert is_replaced(kept, before)


@pytest.mark.parametrize("lost", ["nothing", "file", "unknown", "expired"])
def test_a_demoted_account_stays_demoted_whatever_became_of_its_token(kept: Kept, lost: str) -> None:
    assert invoke("user", "role", organiser_token.NAME, "author").returncode == 0
    kept.loses(lost)
    before = kept.file.read_text() if kept.file.exists() else None
    assert "no longer an organiser" in kept.starts()
    assert (kept.file.read_text() if kept.file.exists() else None) == before
    with kept.database.reading() as session:
        assert existing_user(session, organiser_token.NAME).role is Role.AUTHOR
    assert organiser_token.standing(kept.database, kept.file) is Standing.DEMOTED
    kept.has_role(Role.ORGANISER)
    assert kept.starts() == "" and kept.organises(kept.token)
