"""People are told by all channels of what opens their account, and a new password keeps only what they say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from sqlmodel import Session, col, select, update

from deadheat.league import errors
from deadheat.league.service.bots.bots import create_bot
from deadheat.league.service.people import access, channels, notices, teams, users
from deadheat.league.service.people.channels import ChannelInfo, Link
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import insert_user
from deadheat.league.service.seasons.participation import change_bot
from deadheat.league.states import ChannelKind, Role, TokenKind
from deadheat.league.tables import Channel, Delivery, Identity, Notice, SigningKey, Token
from tests.league.ground import settings
from tests.league.people import GAME
from tests.league.refusals import refused
from tests.league.world import World

pytestmark = pytest.mark.databases

URL, ADDRESS, ISSUER = "https://hooks.example/a-secret-path", "ada@mail.example", "https://id.example/realm"
PASSWORD = "another long password"
END = " If it was not you, choose a new password."


@pytest.fixture
def league(tmp_path: Path, database_url: str) -> Any:
    sends = {"smtp_url": "smtp://mail.example", "mail_from": "a@b.example", "site_url": "https://league.example"}
    made = World(settings(tmp_path, database_url=database_url, **sends))
    yield made
    made.close()


def told(world: World, person: Person) -> list[str]:
    return [notice.text for notice in world.read(notices.inbox, person)]


def sent_to(world: World, channel_id: int) -> list[str]:
    mine = select(Notice).join(Delivery, col(Delivery.notice_id) == Notice.id)
    mine = mine.where(Delivery.channel_id == channel_id).order_by(col(Delivery.id))
    return [notices.notice_info(row).text for row in world.rows(mine)]


def confirmed(world: World, person: Person, address: str) -> ChannelInfo:
    made = world.write(channels.add_address, person, address)
    token = channels.link_token(world.row(Channel, made.id).secret, Link.CONFIRM)
    world.write(channels.follow_link, Link.CONFIRM, made.id, token)
    return made


def unlink(session: Session, person: Person) -> None:
    users.link_identity(session, person, ISSUER, "subject")
    users.unlink_identity(session, person, ISSUER)


def moves(session: Session, person: Person) -> None:
    access.begin_session(session, person.id, "Firefox on Linux", address="192.0.2.1")
    access.begin_session(session, person.id, "Chrome on Android", address="198.51.100.1")


def join(session: Session, ada: Person) -> int:
    """Return a team of Ada, who leads it, and Bob."""
    bob = insert_user(session, "bob", None, Role.AUTHOR)
    team_id = teams.create_team(session, ada, "lovelace").id
    teams.invite_to_team(session, ada, team_id, "bob")
    teams.join_team(session, bob, team_id)
    return team_id


def give(session: Session, ada: Person) -> None:
    bot_id = create_bot(session, ada, GAME, "shared").id
    change_bot(session, ada, bot_id, team_id=join(session, ada))


def hand_over(session: Session, ada: Person) -> None:
    teams.hand_over_team(session, ada, join(session, ada), "bob")


EVENTS: dict[str, tuple[Callable[[Session, Person], Any], str]] = {
    "linked": (
        lambda session, ada: users.link_identity(session, ada, ISSUER, "subject"),
        "Your account was linked to id.example.",
    ),
    "unlinked": (unlink, "The link to id.example was removed."),
    "token": (
        lambda session, ada: access.issue_token(session, ada.id, "ci {x}"),
        "The access token ci {x} was created.",
    ),
    "password": (lambda session, ada: access.change_password(session, ada, PASSWORD), "Your password was changed."),
    "address": (
        lambda session, ada: channels.add_address(session, ada, ADDRESS),
        "The address ada@mail.example was added, and has to be confirmed.",
    ),
    "webhook": (
        lambda session, ada: channels.add_webhook(session, ada, URL),
        "Your notices are also sent to hooks.example.",
    ),
    "a bot": (give, "The bot shared, which you created, was given to lovelace."),
    "a team": (hand_over, "You made bob captain of your team lovelace."),
    "new place": (moves, "Somebody signed in from a new place: 198.51.100.1, with Chrome on Android."),
}


@pytest.mark.parametrize(("act", "text"), EVENTS.values(), ids=EVENTS)
def test_what_opens_an_account_is_told_by_all_channels(
    league: World, act: Callable[[Session, Person], Any], text: str
) -> None:
    ada = league.author("ada")
    first, second = confirmed(league, ada, "first@mail.example"), confirmed(league, ada, "second@mail.example")
    league.write(act, ada)
    assert told(league, ada)[0] == text + END
    assert [sent_to(league, one.id)[-1] for one in (first, second)] == [text + END] * 2


def test_every_event_is_told_even_the_same_twice(league: World) -> None:
    ada = league.author("ada")
    for _ in range(2):
        league.write(access.change_password, ada, PASSWORD)
        league.clock.turn(1)
    assert told(league, ada) == ["Your password was changed." + END] * 2


FORGED: dict[str, tuple[Any, str]] = {
    "a fact that is not there": ({"event": "{nope}"}, "{nope}"),
    "a width": ({"event": "{a:>3000000}", "a": "x"}, "{a:>3000000}"),
    "an attribute": ({"event": "{a.__class__}", "a": "x"}, "{a.__class__}"),
    "half a place": ({"event": "{"}, "{"),
    "a place in a place": ({"event": "{a}", "a": "{event}"}, "{event}"),
    "a number": ({"event": 5}, "5"),
    "a list": ({"event": ["x"]}, "['x']"),
    "no event": ({}, "{event}"),
    "no facts": (["x"], "{event}"),
    "a long fact in many places": ({"event": "{a}" * 10_000, "a": "x" * 10_000}, "x" * 300 * 100),
}


@pytest.mark.parametrize(("about", "text"), FORGED.values(), ids=FORGED)
def test_what_a_worker_writes_into_an_inbox_neither_fails_nor_grows(league: World, about: Any, text: str) -> None:
    ada = league.author("ada")
    league.write(access.change_password, ada, PASSWORD)
    league.write(lambda session: session.execute(update(Notice).values(about=about)))
    assert told(league, ada) == [text + END]


def test_only_a_new_place_is_told(league: World) -> None:
    ada, bob = league.author("ada"), league.author("bob")
    for person, address in ((bob, "203.0.113.1"), (ada, "192.0.2.1"), (ada, "192.0.2.1"), (ada, "203.0.113.1")):
        league.write(access.begin_session, person.id, "Firefox", None, address)
        league.clock.turn(1)
    assert told(league, bob) == []
    assert told(league, ada) == ["Somebody signed in from a new place: 203.0.113.1, with Firefox." + END]
    assert [one.address for one in league.read(access.browsers, ada.id)] == ["203.0.113.1", "192.0.2.1", "192.0.2.1"]
    league.write(access.revoke, ada.id, league.read(access.browsers, ada.id)[0].id)
    league.write(access.begin_session, ada.id, "Firefox", None, "203.0.113.1")
    assert len(told(league, ada)) == 1  # an ended session is remembered


def test_a_removed_channel_is_told_so_and_then_forgotten(league: World) -> None:
    ada = league.author("ada")
    mail = confirmed(league, ada, ADDRESS)
    league.write(access.issue_token, ada.id, "ci")
    league.write(channels.remove_channel, ada, mail.id)
    said = f"Your notices are no longer sent to {ADDRESS}." + END
    assert sent_to(league, mail.id) == [said] and told(league, ada)[0] == said
    assert league.read(channels.channels, ada) == []
    league.write(access.issue_token, ada.id, "later")
    league.refused(errors.NotFound, channels.send_test, ada, mail.id)
    league.write(channels.forget_removed)
    (parcel,) = league.write(channels.claim_deliveries, ChannelKind.MAIL, 8)
    assert parcel.notice is not None and notices.notice_info(parcel.notice).text == said
    assert league.write(channels.delivered, parcel, "250")
    league.write(channels.forget_removed)
    assert league.rows(select(Channel)) == [] and league.rows(select(Delivery)) == []


def test_a_worker_tells_an_owner_by_a_channel(league: World) -> None:
    """Its role may insert a delivery, but read none."""
    ada = league.author("ada")
    mail = confirmed(league, ada, ADDRESS)
    league.bot("swift", owner=ada)
    assert any("swift" in said for said in sent_to(league, mail.id))


def test_who_wants_no_more_messages_gets_none(league: World) -> None:
    ada = league.author("ada")
    mail, other = confirmed(league, ada, ADDRESS), confirmed(league, ada, "other@mail.example")
    token = channels.link_token(league.row(Channel, mail.id).secret, Link.UNSUBSCRIBE)
    league.write(channels.follow_link, Link.UNSUBSCRIBE, mail.id, token)
    assert sent_to(league, mail.id) == []
    assert sent_to(league, other.id)[-1] == f"Your notices are no longer sent to {ADDRESS}." + END


def ways(world: World, person: Person) -> tuple[int, int, int]:
    """Return the number of a person's valid tokens, channels and identities."""
    tokens = world.rows(select(Token).where(Token.user_id == person.id, Token.kind == TokenKind.TOKEN))
    linked = world.rows(select(Identity).where(Identity.user_id == person.id))
    return sum(one.revoked_at is None for one in tokens), len(world.read(channels.channels, person)), len(linked)


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        ({}, (0, 0, 0)),
        ({"keep_tokens": True}, (1, 0, 0)),
        ({"keep_ways": True}, (0, 3, 1)),
        ({"keep_tokens": True, "keep_ways": True}, (1, 3, 1)),
    ],
    ids=str,
)
def test_a_new_password_keeps_only_what_its_owner_says(league: World, kept: dict[str, bool], left: Any) -> None:
    ada, bob = league.author("ada"), league.author("bob")
    for person in (ada, bob):
        league.write(access.issue_token, person.id, "ci")
        league.write(channels.add_webhook, person, URL)
        league.write(channels.add_address, person, "unconfirmed@mail.example")
        league.write(users.link_identity, person, ISSUER, person.name)
    mine, others = (confirmed(league, person, f"{person.name}@mail.example") for person in (ada, bob))
    league.write(access.change_password, ada, PASSWORD, **kept)
    assert (ways(league, ada), ways(league, bob)) == (left, (1, 3, 1))
    assert sent_to(league, mine.id) == ["Your password was changed." + END]
    assert sent_to(league, others.id) == []


def test_who_forgot_the_password_keeps_only_the_address_that_was_used(league: World) -> None:
    ada = league.author("ada")
    league.write(access.issue_token, ada.id, "ci")
    league.write(channels.add_webhook, ada, URL)
    league.write(users.link_identity, ada, ISSUER, "ada")
    used, other = confirmed(league, ada, ADDRESS), confirmed(league, ada, "other@mail.example")
    league.write(access.ask_for_link, "ada")
    links = {one.id: dict(parse_qsl(league.read(access.link_query, one.id))) for one in (used, other)}

    def reset(channel_id: int) -> None:
        until, token = int(links[channel_id]["until"]), links[channel_id]["token"]
        league.write(access.reset_password, channel_id, until, token, PASSWORD)

    reset(used.id)
    assert ways(league, ada) == (0, 1, 0)
    assert [one.address for one in league.read(channels.channels, ada)] == [ADDRESS]
    assert sent_to(league, other.id)[-1] == "Your password was changed." + END
    waiting = league.rows(select(Delivery).where(col(Delivery.resets_password).is_(True)))
    assert [one.channel_id for one in waiting] == [used.id]
    refused(errors.NotFound, reset, other.id)


def test_the_league_has_one_key_and_keeps_it(league: World) -> None:
    key = league.write(access.signing_key)
    assert len(key) == 64 and league.write(access.signing_key) == key
    assert [row.secret for row in league.rows(select(SigningKey))] == [key]
