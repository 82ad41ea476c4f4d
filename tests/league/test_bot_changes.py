"""Authors may change some things about their bots."""

from __future__ import annotations

from deadheat.league.errors import NameTaken, NotFound, WrongState
from deadheat.league.service.bots.bots import bot_info, bots_of, may_upload
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.jobs.exhibitions import take_seat
from deadheat.league.service.seasons import absence, entries, participation
from deadheat.league.service.views import careers, matches, overview
from deadheat.league.states import Absence, FinalsFormat, SeasonState
from tests.league.people import GAME
from tests.league.refusals import refused
from tests.league.world import World


def test_a_bot_is_renamed_and_described_by_its_own_author(world: World) -> None:
    owner, bot_id = world.bot("greedy")
    world.bot("other", owner=owner)
    stranger = world.author()
    with world.db.transaction() as session:
        refused(NotFound, participation.change_bot, session, stranger, bot_id, name="mine")
        found = participation.change_bot(session, owner, bot_id, name="Greedy", description="A table of\0endings.")
    assert (found.name, found.description) == ("Greedy", "A table of\N{REPLACEMENT CHARACTER}endings.")
    world.refused(NameTaken, participation.change_bot, owner, bot_id, name="OTHER")
    assert world.read(bot_info, bot_id).name == "Greedy"
    last = world.read(audit_log, subject=f"bot/{bot_id}", limit=1)[0]
    assert (last.action, last.data) == ("bot-renamed", '{"from":"greedy","to":"Greedy"}')


def test_a_retired_bot_leaves_its_seasons_and_lists_and_keeps_its_results(world: World) -> None:
    season, frozen = world.season(1), world.season(1, finals=FinalsFormat.ROUND_ROBIN)
    owner, bot_id = world.bot()
    for season_id in (season, frozen):
        world.write(entries.enter, owner, season_id, bot_id)
    played = world.play_all()
    assert played
    world.set_state(frozen, SeasonState.FROZEN)
    assert world.write(participation.change_bot, owner, bot_id, retired=True).retired_at == world.clock.now
    with world.db.transaction() as session:
        assert entries.entry_info(session, season, bot_id).absence is Absence.WITHDRAWN
        assert entries.entry_info(session, frozen, bot_id).absence is None, "from the freeze on the field stands"
        assert [bot.bot_id for bot in overview.ready_bots(session, GAME, 10) if bot.bot_id == bot_id] == []
        assert careers.author_bots(session, owner.name)[1] == []
        assert [bot.id for bot in bots_of(session, owner)] == [bot_id], "its author still sees it"
        assert len(matches.matches(session, bot_id=bot_id)) == played
    world.clock.turn(world.settings.rejoin_seconds)
    with world.db.transaction() as session:
        for act in (
            lambda: may_upload(session, owner, bot_id),
            lambda: absence.rejoin(session, owner, season, bot_id),
            lambda: entries.enter(session, owner, season, bot_id),
            lambda: take_seat(session, owner, bot_id),
        ):
            assert "retired" in refused(WrongState, act)
        assert participation.change_bot(session, owner, bot_id, retired=False).retired_at is None
        absence.rejoin(session, owner, season, bot_id)
        may_upload(session, owner, bot_id)
        assert entries.entry_info(session, season, bot_id).absence is None
