"""A match that an organiser ruled out stays out, and rulings never deadlock."""

from __future__ import annotations

import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import Session

from deadheat.engine.core import Result
from deadheat.league.blobs import Blobs
from deadheat.league.service.ground.audit import audit_log, first_broken
from deadheat.league.service.jobs import exhibiting, exhibitions
from deadheat.league.service.rulings import appeals as league_appeals
from deadheat.league.service.rulings.rulings import rejudge_match, void_match
from deadheat.league.service.seasons import entries, seasons
from deadheat.league.service.views.matches import matches
from deadheat.league.states import FinalsFormat, SeasonState
from deadheat.league.storage.backup import back_up, named_blobs
from deadheat.league.tables import Season, VoidedMatch
from deadheat.league.words import Remedy
from tests.league.clock import START
from tests.league.ground import in_threads
from tests.league.outcomes import abandoned
from tests.league.test_rulings import Ranked, ranked
from tests.league.test_unfinished import appeal, season
from tests.league.world import World

__all__ = ["ranked"]


def test_the_finals_begin_after_what_was_ordered_to_be_repeated(world: World) -> None:
    season_id = world.season(3, finals=FinalsFormat.ROUND_ROBIN, finals_games=2, finals_at=START + timedelta(hours=1))
    world.play_all()
    with world.db.transaction() as session:
        match_id = matches(session, season_id=season_id)[0].id
        rejudge_match(session, world.boss, match_id, "the judge was wrong")
    world.clock.turn(3700)
    world.tick()
    assert world.row(Season, season_id).state is SeasonState.FINALS
    assert world.row(VoidedMatch, match_id).match_id == match_id
    assert "match-restored" not in {entry.action for entry in world.read(audit_log)}


def test_what_was_voided_stays_so_when_its_later_repetition_is_lost(ranked: Ranked) -> None:
    match_id = ranked.matches()[0]
    ranked.rule(void_match, match_id, "collusion")
    without = ranked.table()[0]
    ranked.rule(rejudge_match, match_id, "let us see")
    assert ranked.world.play(ranked.world.enqueued(), abandoned) == 1
    assert ranked.table()[0] == without


@pytest.mark.databases
def test_a_ruling_and_an_entry_do_not_wait_for_each_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    season_id = season(world)
    appeal_id = appeal(world, season_id)
    owner, bot_id = world.bot()
    appeals = sys.modules["deadheat.league.service.rulings.appeals"]
    void, noted = appeals.rulings.void_match, threading.Event()

    def slowly(session: Session, *arguments: object) -> object:
        noted.set()
        time.sleep(0.5)  # meanwhile a bot enters
        return void(session, *arguments)

    monkeypatch.setattr(appeals.rulings, "void_match", slowly)

    def rule() -> None:
        world.write(league_appeals.rule, world.boss, appeal_id, uphold=True, ruling="so it was", remedy=Remedy.VOID)

    def enters() -> None:
        assert noted.wait(30)
        world.write(entries.enter, owner, season_id, bot_id)

    in_threads(rule, enters)
    assert world.read(first_broken) is None


def test_a_transaction_that_is_undone_leaves_no_record(world: World) -> None:
    def told() -> int:
        return len(world.read(audit_log))

    before = told()

    def fail(session: Session) -> None:
        seasons.create_season(session, world.boss, game="yacht-auction", name="never")
        raise ZeroDivisionError

    world.refused(ZeroDivisionError, fail)
    world.season(0)
    assert told() > before
    assert "never" not in str(world.read(audit_log))
    assert world.read(first_broken) is None


def test_a_back_up_has_what_people_played(world: World, tmp_path: Path) -> None:
    _, bot_id = world.playing_bot()
    exhibition_id = world.write(exhibitions.take_seat, world.author(), bot_id, 1)
    name = Blobs(world.settings.blobs).put(b"the transcript")
    with world.db.transaction() as session:
        job = exhibiting.claim_exhibition(session, exhibition_id, "w", world.host)
        assert job is not None and exhibiting.finish_exhibition(session, job, Result((1, 2), None, {}), name)
    assert name in named_blobs(back_up(world.settings, tmp_path / "kept").database)
