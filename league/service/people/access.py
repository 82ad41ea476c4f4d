"""Credentials: tokens for programs, sessions for browsers and keys of agents, all rows of one table. A secret has 256
random bits, so nobody can recover it from its plain SHA-256. Only this is stored, and checked with every request. None
is ever accepted as another kind: a cookie that leaks into a header, a token put into a cookie, or a key that a language
model has read aloud, opens nothing else.
"""

import base64
import hashlib
import hmac
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, bindparam
from sqlmodel import Session, col, delete, func, or_, select, update

from deadheat.engine.language import N_, gettext
from deadheat.league.database import now, settings_of, surroundings
from deadheat.league.errors import AccountClosed, BadToken, NameTaken, NotFound, TooMany
from deadheat.league.service.ground.steps import insert_new, set_values
from deadheat.league.service.people.channels import OVER, remove_channels
from deadheat.league.service.people.notices import IN_USE, account_changed
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import forget_identities, hashed, lock_user
from deadheat.league.states import ChannelKind, DeliveryState, Scope, TokenKind
from deadheat.league.tables import Channel, Delivery, SigningKey, Token, User

log = logging.getLogger(__name__)

SECRET_BYTES = 32
PREFIX = {TokenKind.TOKEN: "dh_", TokenKind.SESSION: "dhs_", TokenKind.AGENT: "dha_"}
"""The beginning of every secret, by which secret scanners recognise one."""

MAX_TOKENS = 50
"""The most valid tokens of one user."""

MAX_AGENTS = 10
"""The most valid agents' keys of one user."""

MAX_SESSIONS = 20
"""The most sessions of one user; another sign-in ends the oldest."""

FORGET_SESSIONS = timedelta(days=30)
"""How long the row of an ended session is kept."""

USE_NOTED = timedelta(minutes=1)
"""The precision of a token's last use, because recording it takes a transaction."""


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token or session. This is the only copy of the secret besides its owner's."""

    id: int
    secret: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Access:
    """The person behind a request, and the credential's row. `label` and `model`: of a key, the agent's. `stale`: this
    use is worth recording (`note_use`).
    """

    person: Person
    token_id: int
    label: str
    model: str
    began_at: datetime
    stale: bool


def issue_token(
    session: Session, user_id: int, label: str, scope: Scope = Scope.FULL, days: int | None = None, tell: bool = True
) -> Issued:
    """Issue a token for at most the configured time, which is also the default, and `tell` its owner. Raises TooMany:
    the user has `MAX_TOKENS` valid ones.
    """
    _must_have_room(session, user_id, TokenKind.TOKEN, N_("valid tokens"), MAX_TOKENS)
    longest = settings_of(session).token_days
    if tell:
        account_changed(session, user_id, N_("The access token {label} was created."), label=label)
    return _issue(session, user_id, TokenKind.TOKEN, label, scope, timedelta(days=min(days or longest, longest)))


def issue_agent_key(session: Session, person: Person, name: str, model: str, token: str) -> Issued:
    """Issue a key for an agent of this person, and notify the owner. It ends with the `token` by which it was made.

    Raises:
        TooMany: the person has `MAX_AGENTS` valid ones.
        NameTaken: by another agent of the same owner with a valid key.
    """
    lock_user(session, person)
    _must_have_room(session, person.id, TokenKind.AGENT, N_("valid keys of agents"), MAX_AGENTS)
    valid = _valid(session, person.id, TokenKind.AGENT)
    if session.exec(select(Token.id).where(*valid, Token.label == name)).first() is not None:
        raise NameTaken("agent", name)
    account_changed(session, person.id, N_("The key of the agent {label} was created."), label=name)
    maker = session.exec(select(Token).where(Token.sha256 == digest(token))).one()
    lasts = maker.expires_at - now(session)
    issued = _issue(session, person.id, TokenKind.AGENT, name, Scope.READ, lasts)
    row = session.get_one(Token, issued.id)
    row.model, row.maker_id = model, maker.id
    return issued


def _must_have_room(session: Session, user_id: int, kind: TokenKind, what: str, most: int) -> None:
    valid = select(Token.id).where(*_valid(session, user_id, kind))
    if len(session.exec(valid.limit(most)).all()) >= most:
        raise TooMany(what, most)


def begin_session(session: Session, user_id: int, label: str, former: str | None = None, address: str = "") -> Issued:
    """Begin a browser's session. The secret that the browser sent, `former`, is invalid afterwards. The owner is told
    if no session began at this address before, except of the first one.
    """
    if former is not None:
        end_session(session, former)
    at = now(session)
    over = (col(Token.kind) == TokenKind.SESSION, col(Token.expires_at) < at - FORGET_SESSIONS)
    session.exec(delete(Token).where(col(Token.user_id) == user_id, *over))
    valid = _valid(session, user_id, TokenKind.SESSION)
    kept = session.exec(select(Token.id).where(*valid).order_by(col(Token.id).desc()).limit(MAX_SESSIONS - 1)).all()
    _revoke(session, *valid, col(Token.id).not_in(kept))
    days = timedelta(days=settings_of(session).session_days)
    earlier = select(Token.address).where(Token.user_id == user_id, Token.kind == TokenKind.SESSION).distinct()
    if (known := session.exec(earlier).all()) and address not in known:
        new = N_("Somebody signed in from a new place: {address}, with {browser}.")
        account_changed(session, user_id, new, address=address, browser=label)
    return _issue(session, user_id, TokenKind.SESSION, label, Scope.FULL, days, address)


def end_session(session: Session, secret: str) -> None:
    """Sign out; an unknown secret changes nothing."""
    _revoke(session, col(Token.sha256) == digest(secret), col(Token.kind) == TokenKind.SESSION)


def look_up(session: Session, secret: str, kind: TokenKind) -> Access:
    """Find the owner of a secret. Raises BadToken: it is unknown, of another kind, revoked or expired, or its owner's
    account is closed, which holders of a once valid secret may learn.
    """
    if not secret.startswith(PREFIX[kind]):
        raise BadToken(f"this one does not begin with {PREFIX[kind]}")
    row = session.exec(OWNED, params={"sha256": digest(secret), "kind": kind}).first()
    if row is None:
        raise BadToken("this one is unknown")
    token, user = row
    at = now(session)
    if user.closed_at is not None:  # this includes a token issued while the account was being closed
        raise BadToken("the account of this one is closed", AccountClosed(user.ban_reason))
    if token.revoked_at is not None:
        raise BadToken("this one has been revoked")
    if token.expires_at <= at:
        raise BadToken(f"this one expired at {token.expires_at.isoformat(timespec='seconds')}")
    stale = token.last_used_at is None or at - token.last_used_at >= USE_NOTED
    return Access(Person.of(user, token.scope), token.id, token.label, token.model, token.created_at, stale)


OWNED = (
    select(Token, User)
    .join(User, col(User.id) == Token.user_id)
    .where(col(Token.sha256) == bindparam("sha256"), col(Token.kind) == bindparam("kind"))
)


def note_use(session: Session, token_id: int) -> None:
    """Note that the token is used now."""
    session.exec(update(Token).where(col(Token.id) == token_id).values(last_used_at=now(session)))


def tokens(session: Session, user_id: int) -> list[Token]:
    """Return the user's newest tokens and keys of agents, at most 200."""
    mine = select(Token).where(Token.user_id == user_id, Token.kind != TokenKind.SESSION)
    return list(session.exec(mine.order_by(col(Token.id).desc()).limit(200)))


def browsers(session: Session, user_id: int) -> list[Token]:
    """Return the sessions of the browsers in which the user is signed in, the newest first."""
    mine = select(Token).where(*_valid(session, user_id, TokenKind.SESSION)).order_by(col(Token.id).desc())
    return list(session.exec(mine))


def revoke(session: Session, user_id: int, token_id: int) -> None:
    """End a token, with the keys that it made, or a session now; revoking it again changes nothing. Raises NotFound:
    the user has no such token.
    """
    token = session.get(Token, token_id)
    if token is None or token.user_id != user_id:
        raise NotFound("token", token_id)
    _revoke(session, col(Token.user_id) == user_id, or_(col(Token.id) == token_id, col(Token.maker_id) == token_id))


def change_password(
    session: Session, person: Person, password: str, keep_tokens: bool = False, keep_ways: bool = False, used: int = 0
) -> None:
    """Change a password. This ends every session, and unless the owner keeps them every token (`keep_tokens`), channel
    and linked identity (`keep_ways`), because somebody who knew the old password may have added some. The channel
    `used` has just proved to be the owner's. A first password leaves channels and identity. Only the service's log
    records it: the audit log is public.
    """
    # On SQLite other writers wait for the hashing, unless nothing was executed before it.
    password_hash = hashed(password)
    row = session.get_one(User, person.id)
    had_one, row.password_hash = row.password_hash is not None, password_hash
    session.flush()
    account_changed(session, person.id, N_("Your password was changed."))
    if had_one and not keep_ways:
        remove_channels(session, person.id, used)
        forget_identities(session, person.id)
    kinds = (TokenKind.SESSION,) if keep_tokens else tuple(TokenKind)
    _revoke(session, col(Token.user_id) == person.id, col(Token.kind).in_(kinds))
    ended = "sessions" if keep_tokens else "sessions and tokens"
    log.info("user %d has another password; all %s are ended", person.id, ended)


def end_everything(session: Session, user_id: int) -> None:
    """End every token and session of a user now."""
    _revoke(session, col(Token.user_id) == user_id)


def signing_key(session: Session) -> str:
    """Return the league's own key, which is made with the first use. It signs what browsers bring back."""
    secret = surroundings(session).entropy(SECRET_BYTES).hex()
    insert_new(session, SigningKey, [{"id": 1, "secret": secret}])
    return session.get_one(SigningKey, 1).secret


def _issue(
    session: Session,
    user_id: int,
    kind: TokenKind,
    label: str,
    scope: Scope,
    lasts: timedelta,
    address: str = "",
) -> Issued:
    random = base64.urlsafe_b64encode(surroundings(session).entropy(SECRET_BYTES)).rstrip(b"=")
    secret = PREFIX[kind] + random.decode()
    at = now(session)
    row = Token(
        user_id=user_id,
        kind=kind,
        scope=scope,
        label=label,
        address=address,
        sha256=digest(secret),
        created_at=at,
        expires_at=at + lasts,
    )
    session.add(row)
    session.flush()
    return Issued(row.id, secret, row.expires_at)


def _valid(session: Session, user_id: int, kind: TokenKind) -> tuple[ColumnElement[bool], ...]:
    return (
        col(Token.user_id) == user_id,
        col(Token.kind) == kind,
        col(Token.revoked_at).is_(None),
        col(Token.expires_at) > now(session),
    )


def _revoke(session: Session, *which: ColumnElement[bool]) -> None:
    set_values(session, Token, col(Token.revoked_at).is_(None), *which, revoked_at=now(session))


def digest(secret: str) -> str:
    """Return the hash that is stored in place of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


# Forgotten passwords: a link by e-mail lets the owner choose a new one.
# The link goes to the confirmed addresses of the named account, or to the typed address. It carries a token made from
# the address's secret, an instant and the hash of the present password. So it works for an hour, and only once, because
# the hash changes. The answer is the same whether or not there is such an account or address.
# Anybody who can read mail at a confirmed address can take over the account. Therefore adding one requires the
# password.

WITHIN = timedelta(hours=1)


def ask_for_link(session: Session, named: str) -> None:
    """Have a link sent to the confirmed addresses of the account with that name, and to that address if it is one."""
    key = named.strip().lower()
    meant = or_(col(User.name_key) == key, func.lower(Channel.address) == key)
    addresses = select(Channel.id).join(User, col(User.id) == Channel.user_id)
    addresses = addresses.where(meant, Channel.kind == ChannelKind.MAIL, *IN_USE)
    addresses = addresses.where(col(User.password_hash).is_not(None), col(User.closed_at).is_(None))
    at = now(session)
    for channel_id in session.exec(addresses).all():
        waits = (Delivery.channel_id == channel_id, Delivery.state == DeliveryState.WAITING)
        if session.exec(select(Delivery.id).where(*waits, col(Delivery.resets_password).is_(True))).first() is None:
            session.add(Delivery(channel_id=channel_id, resets_password=True, at=at, due_at=at))
    session.flush()


def link_query(session: Session, channel_id: int) -> str:
    """Make the query of the reset link for the address of that channel."""
    channel = session.get_one(Channel, channel_id)
    until = int((now(session) + WITHIN).timestamp())
    return f"channel={channel_id}&until={until}&token={_token(session, channel, until)}"


def owner_of_link(session: Session, channel_id: int, until: int, token: str) -> Person:
    """Find the account whose password a link resets. Raises NotFound: the link is invalid or has expired."""
    channel = session.get(Channel, channel_id)
    if channel is not None and channel.user_id is not None and now(session).timestamp() <= until:
        user = session.get_one(User, channel.user_id)
        genuine = hmac.compare_digest(_token(session, channel, until).encode(), token.encode())
        if genuine and user.password_hash is not None and user.closed_at is None:
            return Person.of(user)
    raise NotFound("link", channel_id, gettext(OVER))


def reset_password(session: Session, channel_id: int, until: int, token: str, password: str) -> None:
    """Set another password by means of a link; of other ways in only its address is kept. Raises NotFound."""
    session.exec(select(Channel.id).where(Channel.id == channel_id).with_for_update()).first()  # one request at a time
    change_password(session, owner_of_link(session, channel_id, until, token), password, used=channel_id)


def _token(session: Session, channel: Channel, until: int) -> str:
    password_hash = session.get_one(User, channel.user_id, populate_existing=True).password_hash or ""
    return hmac.new(channel.secret.encode(), f"reset.{until}.{password_hash}".encode(), hashlib.sha256).hexdigest()
