"""Accounts, tokens and sign-ups, and how accounts end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.dialects import sqlite
from sqlmodel import Session, col, select

from deadheat.league import errors
from deadheat.league.errors import AccountClosed, BadSetting, BadToken, NameTaken, NotAllowed, NotInvited, WrongState
from deadheat.league.service.bots.bots import active, bot_info
from deadheat.league.service.ground.audit import SYSTEM
from deadheat.league.service.people import access, newcomers, teams, users
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import closing, operators
from deadheat.league.service.rulings.closing import ban, close_account, ended_accounts, reopen
from deadheat.league.service.rulings.operators import ensure_organiser, set_role
from deadheat.league.service.seasons import bot_changes, entries
from deadheat.league.states import Absence, MatchState, NewcomerRule, Role, SeasonState, TokenKind
from deadheat.league.tables import AbsentEntry, AuditRecord, Bot, Match, Participant, Token, User
from tests.league.ground import settings
from tests.league.refusals import refused
from tests.league.world import World

PASSWORD = "a long enough password"


def issue(world: World, person: Person) -> access.Issued:
    return world.write(access.issue_token, person.id, "test")


def whose(world: World, secret: str) -> Person:
    return world.read(access.look_up, secret, TokenKind.TOKEN).person


@pytest.mark.usefixtures("real_passwords")
def test_only_hashes_are_stored(world: World) -> None:
    person = world.author("ada")
    secret = issue(world, person).secret
    password_hash = world.one(select(User.password_hash).where(User.name == "ada"))
    token = world.one(select(Token).where(Token.user_id == person.id))
    assert password_hash is not None
    assert password_hash.startswith("$argon2id$v=19$m=19456,t=2,p=1$"), "what OWASP asks for"
    assert PASSWORD not in password_hash
    assert secret not in repr(token)


def test_name_and_password_belong_together(world: World) -> None:
    world.author("ada")
    with world.db.reading() as session:
        assert users.check_password(session, "ADA", PASSWORD).name == "ada"
        for name, password in (("ada", "wrong password"), ("bob", PASSWORD), ("boss", ""), ("ada", "")):
            refused(errors.WrongCredentials, users.check_password, session, name, password)


def test_a_token_is_its_owners(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    assert (whose(world, issue(world, ada).secret), whose(world, issue(world, bob).secret)) == (ada, bob)
    assert "unknown" in refused(errors.BadToken, whose, world, "dh_guess")


def test_a_token_expires(world: World) -> None:
    token = issue(world, world.author())
    world.clock.turn(world.settings.token_days * 86400 - 1)
    whose(world, token.secret)
    world.clock.turn(1)
    assert "expired" in refused(errors.BadToken, whose, world, token.secret)


def test_a_token_can_be_revoked_by_its_owner_only(world: World) -> None:
    ada = world.author("ada")
    token = issue(world, ada)
    world.refused(errors.NotFound, access.revoke, world.boss.id, token.id)
    world.write(access.revoke, ada.id, token.id)
    world.write(access.revoke, ada.id, token.id)
    assert "revoked" in refused(errors.BadToken, whose, world, token.secret)
    assert [info.revoked_at for info in world.read(access.tokens, ada.id)] == [world.clock.now]


def test_nobody_has_more_than_so_many_tokens(world: World) -> None:
    ada = world.author()
    for _ in range(access.MAX_TOKENS):
        issue(world, ada)
    refused(errors.TooMany, issue, world, ada)


def test_the_organiser_is_made_once_and_gets_a_fresh_token(world: World) -> None:
    first = world.write(ensure_organiser, "chief")
    assert whose(world, world.write(ensure_organiser, "chief")).role is Role.ORGANISER
    refused(errors.BadToken, whose, world, first)
    ada = world.author("ada")
    assert whose(world, world.write(ensure_organiser, "ada")) == Person(ada.id, "ada", Role.ORGANISER)


@pytest.mark.parametrize(
    "name", ["system", "System", "Admin", "administrator", "deadheat", "House", "anonymous", "organiser"]
)
def test_nobody_takes_a_name_that_stands_for_the_service(world: World, name: str) -> None:
    with pytest.raises(errors.NameTaken, match=f"The name '{name}' is reserved"):
        world.write(users.sign_up, name, "a long enough password")
    assert "reserved" in world.refused(errors.NameTaken, teams.create_team, world.boss, name)


@pytest.mark.parametrize("first", ["user", "team"])
@pytest.mark.databases
def test_a_user_and_a_team_made_at_once_do_not_get_one_name(world: World, first: str) -> None:
    ada = world.author()

    def signs_up(session: Session) -> object:
        return users.sign_up(session, "Lovelace", "a long enough password")

    def founds(session: Session) -> object:
        return teams.create_team(session, ada, "lovelace")

    with pytest.raises(errors.NameTaken, match=first):
        world.at_once(*((signs_up, founds) if first == "user" else (founds, signs_up)))


@pytest.mark.parametrize("first", ["signed in", "changed"])
@pytest.mark.databases
def test_no_session_of_an_old_password_outlives_its_change(world: World, first: str) -> None:
    world.write(users.sign_up, "ada", PASSWORD)
    ada = world.read(users.check_password, "ada", PASSWORD)

    def sign_in(session: Session) -> None:
        users.must_still_open(session, ada, PASSWORD)
        access.begin_session(session, ada.id, "a browser")

    def change(session: Session) -> None:
        access.change_password(session, ada, "another long enough password")

    if first == "signed in":
        world.at_once(sign_in, change)
    else:
        with pytest.raises(errors.WrongCredentials):
            world.at_once(change, sign_in)
    mine = select(Token.id).where(Token.user_id == ada.id, col(Token.revoked_at).is_(None))
    assert world.rows(mine) == []


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
