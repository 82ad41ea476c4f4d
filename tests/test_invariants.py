"""The invariants of builds and people's matches find what they should."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import col, update

from deadheat.engine.core import Result
from deadheat.engine.transcript import decode
from deadheat.league.blobs import Blobs
from deadheat.league.causes import Cause
from deadheat.league.jobs import Failure
from deadheat.league.service.jobs.builds import claim_build, give_back_build
from deadheat.league.service.tables.programs import claim_table
from deadheat.league.service.tables.sitting import take_seat
from deadheat.league.service.tables.turns import finish
from deadheat.league.tables import Attempt, BotVersion, GameTable
from tests.invariants import broken, convicted, unfinished
from tests.league.ground import settings
from tests.league.world import World

TRANSCRIPTS = Path(__file__).parent / "transcripts"


class Kept(World):
    """A small league whose programs are in a store."""

    def __init__(self, folder: Path) -> None:
        super().__init__(settings(folder))
        self.blobs = Blobs("memory:///")
        self.owner, self.bot_id = self.playing_bot()
        self.blobs.put(b"built 1")  # the content that `World.build` says it has built

    def wrong(self) -> list[str]:
        with self.db.reading() as session:
            return broken(session, self.blobs)

    def left(self) -> list[str]:
        with self.db.reading() as session:
            return unfinished(session)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.close()


def test_a_build_that_was_given_back_and_went_well_at_last_is_in_order(kept: Kept) -> None:
    version_id = kept.upload(kept.owner, kept.bot_id)
    for cause in ("engine", Cause.WORKER_STOPPED):
        job = kept.building(version_id, "w1:1")
        kept.write(give_back_build, job.version_id, job.attempt, "w1", Failure(cause, ""))
        assert kept.left() == [f"BotVersion {version_id} is uploaded at attempt {job.attempt}"]
    kept.build(version_id)
    kept.blobs.put(b"built 2")
    assert kept.wrong() == kept.left() == []


def test_a_program_that_is_not_in_the_store_is_found(kept: Kept) -> None:
    kept.build(kept.upload(kept.owner, kept.bot_id))
    (found,) = kept.wrong()
    assert found.startswith("version 2: ")
    assert "is not in the store" in found


def test_a_lease_that_nobody_took_back_is_found(kept: Kept) -> None:
    version_id = kept.upload(kept.owner, kept.bot_id)
    with kept.db.transaction() as session:
        claim_build(session, version_id, "w1:1")
        person = take_seat(session, kept.owner, kept.bot_id)
        assert claim_table(session, person, "w1:1", kept.host) is not None
    assert len(kept.left()) == 2
    kept.clock.turn(kept.settings.lease_seconds + 1)
    assert kept.wrong() == []  # it waits for the sweep
    kept.clock.turn(kept.settings.lease_seconds)
    assert [found.split(" until ")[0] for found in kept.wrong()] == [
        f"BotVersion {version_id} has a lease",
        f"GameTable {person} has a lease",
    ]


def test_a_persons_match_that_nothing_proves_is_found(kept: Kept) -> None:
    content = (TRANSCRIPTS / "yacht-auction.jsonl").read_bytes()
    record = decode(content)
    with kept.db.transaction() as session:
        number = take_seat(session, kept.owner, kept.bot_id, seat=1)
        session.get_one(GameTable, number).seed = record.seed
        session.flush()
        job = claim_table(session, number, "w1:1", kept.host)
        assert job is not None
        assert finish(session, job.table_id, job.attempt, Result((2, 2), None), kept.blobs.put(content))
    other, result = kept.wrong()
    assert other == f"exhibition {number}: its transcript is of exhibition None"
    assert result.startswith(f"exhibition {number}: stored is ([2, 2], None, {{}}), its transcript says (")
    with kept.db.transaction() as session:
        session.get_one(GameTable, number).transcript_sha256 = "0" * 64
    (nothing,) = kept.wrong()
    assert nothing.startswith(f"exhibition {number}: its transcript proves nothing: BlobMissing")


def test_an_attempt_at_a_build_that_vanished_is_found(kept: Kept) -> None:
    version_id = kept.upload(kept.owner, kept.bot_id)
    with kept.db.transaction() as session:
        session.exec(update(BotVersion).where(col(BotVersion.id) == version_id).values(attempt=1))
    assert kept.wrong() == [f"version {version_id} is uploaded at attempt 1; failed were []"]
    with kept.db.transaction() as session:
        session.add(Attempt(version_id=version_id, attempt=1, cause="engine", finished_at=kept.clock.now))
    assert kept.wrong() == []


def test_an_innocent_bot_that_was_called_broken_is_found(kept: Kept) -> None:
    version_id = kept.upload(kept.owner, kept.bot_id)
    kept.build(version_id, "the trial match ended with timeout")
    with kept.db.reading() as session:
        assert convicted(session, [kept.bot_id]) == [f"version {version_id}: the trial match ended with timeout"]
        assert convicted(session, []) == []
