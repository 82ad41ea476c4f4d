"""Signing up, in and out, and the visitor's own account: bots, teams, tokens, browsers, password."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from deadheat.api.deps import Id, Shared
from deadheat.api.edge import sessions
from deadheat.api.edge.rates import address
from deadheat.api.pages.forms import (
    HOME,
    Complaint,
    Posted,
    Present,
    Sent,
    Submitted,
    Visit,
    Visiting,
    checked,
    local_path,
    onward,
    posting,
    private,
)
from deadheat.api.pages.people import courses
from deadheat.api.pages.render import game_title
from deadheat.api.routes.people.tokens import checked_person
from deadheat.api.schemas import base
from deadheat.api.schemas import people as schemas
from deadheat.api.schemas.bots import BotRequest
from deadheat.api.services import Services
from deadheat.engine.games import GAMES
from deadheat.engine.language import N_, _, gettext, ngettext
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, SignInAgain
from deadheat.league.service.bots import bots
from deadheat.league.service.people import access, teams, users
from deadheat.league.service.people.person import Person
from deadheat.league.service.people.users import FRESH, has_password, is_linked, newcomer_rule
from deadheat.league.service.rulings.closing import close_account
from deadheat.league.states import Scope, TokenKind

router = APIRouter()

Next = Annotated[str | None, Query(alias="next")]
"""The address to which a browser goes after signing in."""

BROWSERS = {"Firefox": "Firefox", "Edg": "Edge", "OPR": "Opera", "Chrom": "Chrome or Chromium", "Safari": "Safari"}
SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Mac", "Linux")
"""Words in a User-Agent, the most specific first, which suffice to distinguish a person's browsers."""

TOKEN_DAYS = (7, 30, 90, 365)
SCOPES = {
    Scope.READ: N_("read: view everything that is yours"),
    Scope.SUBMIT: N_("submit: create bots, upload versions, enter seasons (for your CI)"),
    Scope.AUTHOR: N_("author: manage everything that is yours"),
    Scope.FULL: N_("full: also organise, if you are an organiser"),
}


class TokenForm(BaseModel):
    """The form to create a token while signed in."""

    label: base.Label
    scope: Scope
    days: schemas.TokenDays


class PasswordForm(BaseModel):
    """The form to change the password, or to set the first one."""

    new_password: schemas.Password
    keep_tokens: bool = False
    keep_ways: bool = False


def account_page(
    shared: Services,
    visit: Visit,
    complaint: Complaint | None = None,
    issued: access.Issued | None = None,
    game: str = "",
    **_given: Any,
) -> Response:
    """Render the account's page. `issued`: a new token; `game`: the choice for a new bot."""
    person = visit.person
    with shared.db.reading() as session:
        present = access.look_up(session, visit.secret, TokenKind.SESSION).token_id
        own_teams = teams.teams_of(session, person)
        own_bots = bots.bots_of(session, person)
        found = courses(shared, session, own_bots)
        values = {
            "bots": own_bots,
            "tokens": access.tokens(session, person.id),
            "browsers": access.browsers(session, person.id),
            "now": now(session),
            "by_password": has_password(session, person),
            "linked": shared.provider is not None and is_linked(session, person, shared.provider.issuer),
        }
    days = [count for count in TOKEN_DAYS if count < shared.settings.token_days] + [shared.settings.token_days]
    return private(
        shared,
        "account.html",
        visit,
        complaint,
        issued=issued,
        present=present,
        provider=shared.provider and shared.provider.host,
        games=[(name, game_title(name)) for name in GAMES],
        game=game,
        courses=found,
        teams=own_teams,
        whose=[
            ("", _("mine")),
            *((team.id, _("team %(name)s", name=team.name)) for team in own_teams if person.name in team.members),
        ],
        scopes=[(scope.value, gettext(text)) for scope, text in SCOPES.items()],
        days=[(count, ngettext("in %(count)s day", "in %(count)s days", count) % {"count": count}) for count in days],
        **values,
    )


def door(shared: Services, name: str, complaint: Complaint | None, back: str, *, closed: bool = False) -> Response:
    """Render the form to sign in or up, with a link to the other form. Both lead to `back`. `closed`: say that the
    visitor's account is now closed.
    """
    with shared.db.reading() as session:
        rule = newcomer_rule(session).value
    mail, provider = bool(shared.settings.smtp_url), shared.provider and shared.provider.host
    known = {"back": back, "rule": rule, "mail": mail, "provider": provider, "closed": closed}
    return private(shared, f"{name}.html", None, complaint, **known)


@router.get("/sign-in")
def sign_in_page(shared: Shared, visit: Present, next_path: Next = None, closed: bool = False) -> Response:
    """Show the form to sign in with name and password."""
    back = local_path(next_path)
    return onward(back) if visit else door(shared, "sign-in", None, back, closed=closed)


def door_again(name: str) -> Callable[..., Response]:
    """Return the function that shows one of both forms with a complaint."""
    return lambda shared, sent, complaint, **_: door(shared, name, complaint, local_path(sent.get("next")))


@router.post("/sign-in")
@posting("sign-in", door_again("sign-in"))
def sign_in(shared: Shared, request: Request, sent: Sent) -> Response:
    """Begin a session."""
    name, password = sent.get("name", "")[:64], sent.get("password", "")[:256]
    person = checked_person(shared, request, name, password)
    return begin(shared, request, person, local_path(sent.get("next")), password)


@router.get("/sign-up")
def sign_up_page(shared: Shared, visit: Present, next_path: Next = None) -> Response:
    """Show the form for a new account."""
    return onward(local_path(next_path)) if visit else door(shared, "sign-up", None, local_path(next_path))


@router.post("/sign-up")
@posting("sign-up", door_again("sign-up"))
def sign_up(shared: Shared, request: Request, sent: Sent) -> Response:
    """Create an author's account and sign in."""
    body = checked(schemas.SignUp, {name: sent.get(name, "") for name in ("name", "password", "code")})
    shared.rates.sign_up(request, body.code)
    with shared.db.transaction() as session:
        person = users.sign_up(session, body.name, body.password, body.code)
    shared.rates.invited(request)
    return begin(shared, request, person, local_path(sent.get("next")))


@router.post("/sign-out")
def sign_out(shared: Shared, request: Request, posted: Submitted) -> Response:
    """End the session."""
    with shared.db.transaction() as session:
        access.end_session(session, posted.visit.secret)
    return _signed_out(request, shared, "/")


def _signed_out(request: Request, shared: Services, to: str) -> Response:
    answer = onward(to)
    sessions.drop(answer, request, shared.settings)
    answer.headers["Clear-Site-Data"] = '"cache"'
    return answer


@router.get("/account")
def account(shared: Shared, visit: Visiting, game: Annotated[str, Query(max_length=100)] = "") -> Response:
    """Show everything that belongs to the account."""
    return account_page(shared, visit, game=game)


@router.post("/account/bots")
@posting("bot", account_page)
def create_bot(shared: Shared, posted: Submitted) -> Response:
    """Create a bot, and continue to its first upload."""
    body = checked(BotRequest, posted.fields)
    with shared.db.transaction() as session:
        bot = bots.create_bot(session, posted.visit.person, body.game, body.name, body.team_id)
    return onward(f"/bots/{bot.id}/upload")


@router.post("/account/tokens")
@posting("token", account_page)
def create_token(shared: Shared, request: Request, posted: Submitted) -> Response:
    """Create a token. The answer is the page: the secret is shown once, and must not be in an address or store."""
    body = checked(TokenForm, posted.fields)
    person = confirm(shared, request, posted)
    with shared.db.transaction() as session:
        users.must_still_open(session, person, password_in(posted))
        issued = access.issue_token(session, person.id, body.label, body.scope, body.days)
    return account_page(shared, posted.visit, issued=issued)


@router.post("/account/tokens/{token_id}/revoke")
def revoke(shared: Shared, posted: Submitted, token_id: Id) -> Response:
    """End a token, or another browser's session."""
    with shared.db.transaction() as session:
        access.revoke(session, posted.visit.person.id, token_id)
    return onward(f"{HOME}#tokens")


@router.post("/account/password")
@posting("password", account_page)
def change_password(shared: Shared, request: Request, posted: Submitted) -> Response:
    """Change the password. Every other browser is signed out; what else opens the account ends unless it is kept."""
    body = checked(PasswordForm, posted.fields)
    person = confirm(shared, request, posted)
    with shared.db.transaction() as session:
        users.must_still_open(session, person, password_in(posted))
        access.change_password(session, person, body.new_password, body.keep_tokens, body.keep_ways)
    return begin(shared, request, person, f"{HOME}#password")


@router.post("/account/close")
@posting("close", account_page)
def close(shared: Shared, request: Request, posted: Submitted) -> Response:
    """Close the visitor's account. All its browsers are signed out."""
    confirm(shared, request, posted)
    with shared.db.transaction() as session:
        close_account(session, posted.visit.person)
    return _signed_out(request, shared, "/sign-in?closed=1")


@router.post("/account/teams")
@posting("team", account_page)
def create_team(shared: Shared, posted: Submitted) -> Response:
    """Create a team with the visitor as its only member."""
    body = checked(schemas.TeamRequest, posted.fields)
    with shared.db.transaction() as session:
        teams.create_team(session, posted.visit.person, body.name)
    return onward(f"{HOME}#teams")


@router.post("/account/teams/{team_id}/{verb}")
@posting("team-{team_id}", account_page)
def change_team(shared: Shared, posted: Submitted, team_id: Id, verb: str) -> Response:
    """Invite to a team, join, leave, remove a member, or hand over the captaincy."""
    verbs = {"invite": teams.invite_to_team, "leave": teams.leave_team, "hand-over": teams.hand_over_team}
    with shared.db.transaction() as session:
        if verb == "join":
            teams.join_team(session, posted.visit.person, team_id)
        elif verb in verbs:
            name = checked(schemas.TeamRequest, posted.fields).name
            verbs[verb](session, posted.visit.person, team_id, name)
        else:
            return onward(HOME)
    return onward(f"{HOME}#teams")


def password_in(posted: Posted) -> str:
    """Return the password that a form says is its author's."""
    return posted.fields.get("password", "")


def confirm(shared: Services, request: Request, posted: Posted) -> Person:
    """Check that the account's owner uses this browser: by the form's `password`, or if the account has none by a
    recent sign-in. What then adds a way into the account calls `must_still_open`.

    Raises:
        WrongCredentials, AccountClosed, OverQuota.
        BadSetting: the password is missing.
        SignInAgain.
    """
    visit, password = posted.visit, password_in(posted)
    with shared.db.reading() as session:
        by_password = has_password(session, visit.person)
        age = now(session) - access.session_began_at(session, visit.secret)
    if by_password and not password:
        raise BadSetting("password", _("enter your password"))
    if by_password:
        return checked_person(shared, request, visit.person.name, password)
    if age > FRESH:
        raise SignInAgain
    return visit.person


def begin(shared: Services, request: Request, person: Person, path: str, password: str = "") -> Response:
    """Begin a new session in place of the browser's previous one. `password`: the one that was just checked, if any."""
    former = sessions.secret_of(request, shared.settings)
    with shared.db.transaction() as session:
        if password:
            users.must_still_open(session, person, password)
        label = _browser(request.headers.get("user-agent", ""))
        issued = access.begin_session(session, person.id, label, former, address(request))
    answer = onward(path)
    sessions.keep(answer, request, shared.settings, issued)
    return answer


def _browser(agent: str) -> str:
    browser = next((name for word, name in BROWSERS.items() if word in agent), "a browser")
    system = next((name for name in SYSTEMS if name in agent), "")
    return f"{browser} on {system}" if system else browser
