"""What authors change of their bots."""

from __future__ import annotations

import pytest

from league import service
from league.errors import NameTaken, NotFound, WrongState
from league.service.careers import author_bots
from league.service.exhibitions import take_seat
from league.service.news import ready_bots
from league.states import Absence, FinalsFormat, SeasonState
from tests.league.world import GAME, World


def test_a_bot_is_renamed_and_described_by_its_own_author(world: World) -> None:
    owner, bot_id = world.bot("greedy")
    world.bot("other", owner=owner)
    stranger = world.author()
    with world.db.transaction() as session:
        with pytest.raises(NotFound):
            service.change_bot(session, stranger, bot_id, name="mine")
        found = service.change_bot(session, owner, bot_id, name="Greedy", description="A table of\0endings.")
    assert (found.name, found.description) == ("Greedy", "A table of\N{REPLACEMENT CHARACTER}endings.")
    with pytest.raises(NameTaken), world.db.transaction() as session:
        service.change_bot(session, owner, bot_id, name="OTHER")
    with world.db.reading() as session:
        assert service.bot_info(session, bot_id).name == "Greedy"
        last = service.audit_log(session, subject=f"bot/{bot_id}", limit=1)[0]
        assert (last.action, last.data) == ("bot-renamed", '{"from":"greedy","to":"Greedy"}')


def test_a_retired_bot_leaves_its_seasons_and_lists_and_keeps_its_results(world: World) -> None:
    season, frozen = world.season(1), world.season(1, finals=FinalsFormat.ROUND_ROBIN)
    owner, bot_id = world.bot()
    for season_id in (season, frozen):
        with world.db.transaction() as session:
            service.enter(session, owner, season_id, bot_id)
    played = world.play_all()
    assert played
    with world.db.transaction() as session:
        service.set_season_state(session, world.boss, frozen, SeasonState.FROZEN)
        assert service.change_bot(session, owner, bot_id, retired=True).retired_at == world.clock.now
    with world.db.transaction() as session:
        assert service.entry_info(session, season, bot_id).absence is Absence.WITHDRAWN
        assert service.entry_info(session, frozen, bot_id).absence is None, "from the freeze on the field stands"
        assert [bot.bot_id for bot in ready_bots(session, GAME, 10) if bot.bot_id == bot_id] == []
        assert author_bots(session, owner.name)[1] == []
        assert [bot.id for bot in service.bots_of(session, owner)] == [bot_id], "its author still sees it"
        assert len(service.matches(session, bot_id=bot_id)) == played
    world.clock.turn(world.settings.rejoin_seconds)
    with world.db.transaction() as session:
        for refused in (
            lambda: service.may_upload(session, owner, bot_id),
            lambda: service.rejoin(session, owner, season, bot_id),
            lambda: service.enter(session, owner, season, bot_id),
            lambda: take_seat(session, owner, bot_id),
        ):
            with pytest.raises(WrongState, match="retired"):
                refused()
        assert service.change_bot(session, owner, bot_id, retired=False).retired_at is None
        service.rejoin(session, owner, season, bot_id)
        service.may_upload(session, owner, bot_id)
        assert service.entry_info(session, season, bot_id).absence is None
