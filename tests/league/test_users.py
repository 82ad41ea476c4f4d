"""Accounts, tokens and sign-ups, and how accounts end."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy.dialects import sqlite
from sqlmodel import Session, col, select

from deadheat.league import errors
from deadheat.league.errors import AccountClosed, BadSetting, BadToken, NameTaken, NotAllowed, NotInvited, WrongState
from deadheat.league.records.bots import Team
from deadheat.league.service.bots.bots import active, bot_info, bots_of, build_log, create_bot, own_bot
from deadheat.league.service.ground.audit import SYSTEM
from deadheat.league.service.people import access, teams, users
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings import closing
from deadheat.league.service.rulings.closing import (
    ban,
    close_account,
    ended_accounts,
    ensure_organiser,
    reopen,
    set_role,
)
from deadheat.league.service.seasons import entries, participation
from deadheat.league.service.seasons.entries import enter
from deadheat.league.service.seasons.participation import change_bot
from deadheat.league.service.views.matches import endings, matches
from deadheat.league.states import Absence, MatchState, NewcomerRule, Role, SeasonState, TokenKind
from deadheat.league.tables import AbsentEntry, AuditRecord, Bot, Match, Participant, Token, User
from tests.league.ground import settings
from tests.league.people import GAME
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
    closing.ban(session, closing.OPERATOR, person.name, "wrote insults")


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
        world.write(participation.change_bot, owner, bot_id, retired=True)
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
    world.write(participation.change_bot, ada, bot_id, team_id=team_id)
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


def test_a_door_opens_by_exactly_its_code_and_a_closed_one_by_none(world: World) -> None:
    right, wrong = "tea & scones", ("", "tea", "Tea & scones", "tea & sconés")
    opening = {NewcomerRule.CODE: {right}, NewcomerRule.CLOSED: set(), NewcomerRule.OPEN: {right, *wrong}}
    names = (f"n{number}" for number in range(20))
    for rule, codes in opening.items():
        world.write(users.set_newcomer_rule, world.boss, rule, right)
        for code in codes:
            world.write(users.sign_up, next(names), PASSWORD, code)
        for code in {right, *wrong} - codes:
            world.refused(NotInvited, users.sign_up, next(names), PASSWORD, code)


def shown(world: World, team_id: int, asker: Person | None = None) -> Team:
    return world.read(teams.team_info, team_id, asker)


def test_a_team_holds_only_so_many(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada, *(world.author(f"crowd{number}") for number in range(teams.MAX_MEMBERS - 1)))
    world.refused(errors.TooMany, teams.invite_to_team, ada, team_id, bob.name)


def test_a_teams_affairs_are_its_captains(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada, bob)
    world.refused(errors.NotCaptain, teams.invite_to_team, bob, team_id, "boss")
    world.refused(errors.NotCaptain, teams.leave_team, bob, team_id, "ada")
    assert "captain" in world.refused(errors.WrongState, teams.leave_team, ada, team_id, "ada")
    world.write(teams.hand_over_team, ada, team_id, "bob")
    world.write(teams.leave_team, ada, team_id, "ada")
    assert (shown(world, team_id).captain, shown(world, team_id).members) == ("bob", ("bob",))


@pytest.mark.parametrize("first", ["handed over", "left"])
@pytest.mark.databases
def test_a_captain_stays_a_member_when_two_act_at_once(world: World, first: str) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada, bob)

    def hand_over(session: Session) -> None:
        teams.hand_over_team(session, ada, team_id, "bob")

    def leave(session: Session) -> None:
        teams.leave_team(session, bob, team_id, "bob")

    with pytest.raises(errors.LeagueError, match="captain" if first == "handed over" else "not a member"):
        world.at_once(*((hand_over, leave) if first == "handed over" else (leave, hand_over)))
    found = shown(world, team_id)
    assert found.captain in found.members


@pytest.mark.databases
def test_an_invitation_that_is_taken_back_at_once_is_none(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada)
    world.write(teams.invite_to_team, ada, team_id, "bob")

    def take_back(session: Session) -> None:
        teams.leave_team(session, ada, team_id, "bob")

    def join(session: Session) -> None:
        teams.join_team(session, bob, team_id)

    assert "Nobody has invited you" in refused(errors.NotFound, world.at_once, take_back, join)


@pytest.mark.databases
def test_two_invitations_at_once_are_both_counted(world: World) -> None:
    ada = world.author("ada")
    team_id = world.team(ada)
    for number in range(teams.MAX_MEMBERS):
        world.author(f"crowd{number}")

    def invite(session: Session, number: int) -> None:
        teams.invite_to_team(session, ada, team_id, f"crowd{number}")

    for number in range(teams.MAX_MEMBERS - 2):
        world.write(invite, number)
    with pytest.raises(errors.TooMany):
        world.at_once(partial(invite, number=teams.MAX_MEMBERS - 2), partial(invite, number=teams.MAX_MEMBERS - 1))


def test_a_team_and_a_person_never_share_a_name(world: World) -> None:
    ada, mallory = world.author("ada"), world.author("mallory")
    world.team(ada)
    assert "user" in refused(errors.NameTaken, world.team, mallory, name="ADA")
    assert "team" in refused(errors.NameTaken, world.author, "Lovelace")


def test_a_teams_bot_is_every_members_and_no_former_members(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada, bob)
    _, bot_id = world.bot("shared", owner=bob)
    world.write(change_bot, bob, bot_id, team_id=team_id)
    world.upload(ada, bot_id)
    assert [bot.team for bot in world.read(bots_of, ada)] == ["lovelace"]
    world.read(build_log, ada, bot_id, 2)
    world.write(teams.leave_team, bob, team_id, "bob")
    refused(errors.NotFound, world.read, own_bot, bob, bot_id)
    assert (world.read(bots_of, bob), world.read(bot_info, bot_id).author) == ([], "bob")


def test_the_stderr_of_a_teams_bot_is_its_members_and_nobody_elses(world: World) -> None:
    ada, bob, eve = world.author("ada"), world.author("bob"), world.author("eve")
    team_id = world.team(ada, bob)
    _, bot_id = world.bot("shared", owner=ada)
    world.write(change_bot, ada, bot_id, team_id=team_id)
    world.write(enter, bob, world.season(1), bot_id)
    world.play_all()
    match_id = world.read(matches, bot_id=bot_id)[0].id
    for who in (ada, bob):
        assert [ending.bot for ending in world.read(endings, who, match_id)] == ["shared"]
    refused(errors.NotFound, world.read, endings, eve, match_id)


def test_a_bot_changes_hands_only_between_seasons(world: World) -> None:
    ada = world.author("ada")
    team_id = world.team(ada)
    _, bot_id = world.entrant(world.season(0), owner=ada)
    assert "season" in world.refused(errors.WrongState, change_bot, ada, bot_id, team_id=team_id)


def test_a_bot_is_given_only_to_a_team_that_one_is_in(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada)
    _, bot_id = world.bot(owner=bob)
    assert "You are not in team" in world.refused(errors.NotFound, change_bot, bob, bot_id, team_id=team_id)
    assert "You are not in team" in world.refused(errors.NotFound, create_bot, bob, GAME, "intruder", team_id)


def test_only_the_captain_gives_a_teams_bot_back(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    bot_id = world.write(create_bot, bob, GAME, "shared", world.team(ada, bob)).id
    world.refused(errors.NotCaptain, change_bot, bob, bot_id, team_id=None)
    assert world.write(change_bot, ada, bot_id, team_id=None).team is None
    assert world.read(own_bot, bob, bot_id).id == bot_id


def test_a_team_has_one_bot_of_a_name(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada, bob)
    world.write(create_bot, ada, GAME, "shared", team_id)
    world.refused(errors.NameTaken, create_bot, bob, GAME, "Shared", team_id)


def test_a_name_is_taken_whatever_its_case(world: World) -> None:
    world.author("Ada")
    refused(errors.NameTaken, world.author, "aDA")


def test_an_author_who_is_invited_joins_and_may_leave(world: World) -> None:
    ada, bob = world.author("ada"), world.author("bob")
    team_id = world.team(ada)
    world.write(teams.invite_to_team, ada, team_id, "BOB")
    assert (shown(world, team_id, bob).members, shown(world, team_id, bob).invited) == (("ada",), ("bob",))
    world.write(teams.join_team, bob, team_id)
    assert shown(world, team_id).members == ("ada", "bob")
    world.write(teams.leave_team, bob, team_id, "bob")
    assert shown(world, team_id).members == ("ada",)
    assert ([found.id for found in world.read(teams.teams_of, ada)], world.read(teams.teams_of, bob)) == ([team_id], [])


def test_two_teams_have_two_names(world: World) -> None:
    ada = world.author("ada")
    world.team(ada, name="Lovelace")
    refused(errors.NameTaken, world.team, ada, name="LOVELACE")


def test_the_organiser_is_made_once_and_gets_a_fresh_token(world: World) -> None:
    first = world.write(ensure_organiser, "chief")
    assert whose(world, world.write(ensure_organiser, "chief")).role is Role.ORGANISER
    refused(errors.BadToken, whose, world, first)
    ada = world.author("ada")
    assert whose(world, world.write(ensure_organiser, "ada")) == Person(ada.id, "ada", Role.ORGANISER)


def test_an_organiser_chooses_the_rule_for_sign_ups(world: World) -> None:
    def signs_up(name: str, code: str = "") -> None:
        world.write(users.sign_up, name, PASSWORD, code)

    def ruled(rule: NewcomerRule, code: str = "") -> None:
        world.write(users.set_newcomer_rule, world.boss, rule, code)

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
        refused(NotAllowed, users.set_newcomer_rule, session, Person(2, "first", Role.AUTHOR), NewcomerRule.OPEN)
        assert "scones" not in "".join(session.exec(select(AuditRecord.data)))
