"""Some people may not sign up. A closed account gives access to nothing; its bots leave, and their results stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.dialects import sqlite
from sqlmodel import Session, col, select

from deadheat.league.errors import AccountClosed, BadSetting, BadToken, NameTaken, NotAllowed, NotInvited, WrongState
from deadheat.league.service.bots.bots import active, bot_info
from deadheat.league.service.ground.audit import SYSTEM
from deadheat.league.service.people import access, newcomers, teams, users
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import closing, operators
from deadheat.league.service.rulings.closing import ban, close_account, ended_accounts, reopen
from deadheat.league.service.rulings.operators import set_role
from deadheat.league.service.seasons import bot_changes, entries
from deadheat.league.states import Absence, MatchState, NewcomerRule, Role, SeasonState, TokenKind
from deadheat.league.tables import AbsentEntry, AuditRecord, Bot, Match, Participant
from tests.league.ground import settings
from tests.league.refusals import refused
from tests.league.world import World

PASSWORD = "a long enough password"

End = Callable[[Session, Person], None]


def bans(session: Session, person: Person) -> None:
    ban(session, Person(99, "root", Role.ADMIN), person.name, "wrote insults")


def bans_by_hand(session: Session, person: Person) -> None:
    closing.ban(session, operators.OPERATOR, person.name, "wrote insults")


def test_a_list_of_bots_does_not_read_all_accounts(tmp_path: Path) -> None:
    world = World(settings(tmp_path))
    asked = select(Bot.id).where(active()).compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
    with world.db.reading() as session:
        plan = [row[3] for row in session.connection().exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}")]
    world.close()
    assert [line for line in plan if line.startswith("SCAN")] == ["SCAN bot"]


@pytest.mark.parametrize("end", [close_account, bans, bans_by_hand])
def test_nobody_gets_in_by_an_account_that_ended(world: World, end: End) -> None:
    ada = world.author("ada")
    token, browser = world.write(access.issue_token, ada.id, "ci"), world.write(access.begin_session, ada.id, "Firefox")
    with world.db.transaction() as session:
        end(session, ada)
        late = access.issue_token(session, ada.id, "asked for just before")
    with world.db.transaction() as session:
        for secret, kind in ((token, "token"), (browser, "session"), (late, "token")):
            refused(BadToken, access.look_up, session, secret.secret, TokenKind(kind))
        with pytest.raises(AccountClosed, match="is closed" if end is close_account else "banned: wrote insults"):
            users.check_password(session, "ada", PASSWORD)
    world.refused(NameTaken, users.sign_up, "Ada", PASSWORD)


@pytest.mark.parametrize("end", [close_account, bans])
def test_the_bots_leave_and_results_stay(world: World, end: End) -> None:
    owner, bot_id = world.entrant(world.season(2, series_length=2, games_per_pair=2))
    world.tick()
    theirs = select(Match.series_id).join(Participant, col(Participant.match_id) == Match.id)
    mine = sorted({*world.rows(theirs.where(Participant.bot_id == bot_id))})
    world.play(mine[:1])
    world.write(end, owner)
    absent = world.one(select(AbsentEntry))
    assert (absent.bot_id, absent.absence) == (bot_id, Absence.WITHDRAWN)
    assert ("banned" in absent.reason) is (end is bans)
    states = world.rows(select(Match.state).where(col(Match.series_id).in_(mine)))
    others = world.rows(select(Match.state).where(col(Match.series_id).not_in(mine)))
    assert {*others} == {MatchState.SCHEDULED}, "the others play on"
    waiting = MatchState.ABANDONED if end is bans else MatchState.SCHEDULED
    assert {*states} == {MatchState.DONE, waiting}, "only a ban ends what it would play in"
    assert (world.play_left(mine) > 0) is (end is close_account)
    assert world.read(bot_info, bot_id).author == owner.name
    actions = world.rows(select(AuditRecord.action, AuditRecord.actor))
    assert (("user-banned", "root") in actions) is (end is bans), "what people do with their own accounts is not public"


def test_after_the_freeze_the_bots_of_a_closed_account_play_on(world: World) -> None:
    season_id = world.season(2)
    owner, bot_id = world.entrant(season_id)
    world.set_state(season_id, SeasonState.FROZEN)
    world.write(close_account, owner)
    assert world.rows(select(AbsentEntry)) == []
    world.play_all()
    played = select(Match.id).join(Participant, col(Participant.match_id) == Match.id)
    assert len(world.rows(played.where(Participant.bot_id == bot_id, Match.state == MatchState.DONE))) == 8


@pytest.mark.parametrize("retires", [False, True])
def test_a_frozen_season_that_opens_again_is_left_then(world: World, retires: bool) -> None:
    season_id = world.season(1)
    owner, bot_id = world.entrant(season_id)
    world.set_state(season_id, SeasonState.FROZEN)
    if retires:
        world.write(bot_changes.change_bot, owner, bot_id, retired=True)
    else:
        world.write(close_account, owner)
    world.set_state(season_id, SeasonState.OPEN)
    assert [(row.bot_id, row.reason) for row in world.rows(select(AbsentEntry))] == [(bot_id, "")]
    assert world.tick() == []
    left = select(AuditRecord.actor).where(AuditRecord.action == "entry-withdrawn")
    assert world.rows(left) == [SYSTEM], "no organiser decided it"


def test_a_team_goes_on_without_its_captain_and_keeps_its_bots(world: World) -> None:
    season = world.season(1)
    ada, bob = world.author("ada"), world.author("bob")
    _, bot_id = world.bot(owner=ada)
    team_id = world.team(ada, bob)
    world.write(bot_changes.change_bot, ada, bot_id, team_id=team_id)
    world.write(entries.enter, bob, season, bot_id)
    world.write(close_account, ada)
    assert world.rows(select(AbsentEntry)) == []
    found = world.read(teams.team_info, team_id, bob)
    assert (found.captain, found.members) == ("bob", ("bob",))


def test_only_an_administrator_bans_and_nobody_themselves(world: World) -> None:
    ada = world.author("ada")
    root = world.write(set_role, world.author("root").name, Role.ADMIN)
    with world.db.transaction() as session:
        refused(NotAllowed, ban, session, world.boss, "ada", "no")
        assert "your own" in refused(WrongState, ban, session, root, "ROOT", "no")
        ban(session, root, "ada", "insults")
        assert [(user.name, user.ban_reason) for user in ended_accounts(session, root)] == [("ada", "insults")]
        reopen(session, root, "Ada")
        assert (users.check_password(session, "ada", PASSWORD).id, ended_accounts(session, root)) == (ada.id, [])


def test_an_organiser_chooses_the_rule_for_sign_ups(world: World) -> None:
    def signs_up(name: str, code: str = "") -> None:
        world.write(users.sign_up, name, PASSWORD, code)

    def ruled(rule: NewcomerRule, code: str = "") -> None:
        world.write(newcomers.set_newcomer_rule, world.boss, rule, code)

    signs_up("first")
    ruled(NewcomerRule.CODE, "tea & scones")
    for wrong in ("", "tea", "Tea & scones", "tea & sconés"):
        assert "invitation code" in refused(NotInvited, signs_up, "second", wrong)
    signs_up("second", "tea & scones")
    ruled(NewcomerRule.CLOSED, "tea & scones")
    assert "Sign-up is closed" in refused(NotInvited, signs_up, "third", "tea & scones")
    ruled(NewcomerRule.OPEN)
    signs_up("third")
    refused(BadSetting, ruled, NewcomerRule.CODE)
    with world.db.transaction() as session:
        refused(NotAllowed, newcomers.set_newcomer_rule, session, Person(2, "first", Role.AUTHOR), NewcomerRule.OPEN)
        assert "scones" not in "".join(session.exec(select(AuditRecord.data)))
