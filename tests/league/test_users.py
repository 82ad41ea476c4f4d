"""People have passwords and tokens."""

from __future__ import annotations

import pytest
from sqlmodel import Session, col, select

from deadheat.league import errors
from deadheat.league.service.people import access, teams, users
from deadheat.league.service.people.person import Person
from deadheat.league.service.rulings.operators import ensure_organiser
from deadheat.league.states import Role, TokenKind
from deadheat.league.tables import Token, User
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


def test_a_name_is_taken_whatever_its_case(world: World) -> None:
    world.author("Ada")
    refused(errors.NameTaken, world.author, "aDA")


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
