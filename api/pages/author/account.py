"""Signing up, in and out, a forgotten password, and the account: bots, teams, tokens, browsers, password."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from starlette.background import BackgroundTask

from deadheat.api import schemas as base
from deadheat.api.deps import Id, Shared
from deadheat.api.edge import sessions
from deadheat.api.edge.rates import address
from deadheat.api.pages import forms
from deadheat.api.pages.lists import courses
from deadheat.api.routes import people as schemas
from deadheat.engine.language import N_, _, gettext, ngettext
from deadheat.league.database import now
from deadheat.league.errors import BadSetting, NotFound, SignInAgain
from deadheat.league.service.bots import bots
from deadheat.league.service.people import access, teams, users
from deadheat.league.service.people.person import Person
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


class _TokenForm(BaseModel):
    label: base.Label
    scope: Scope
    days: schemas.TokenDays


class _PasswordForm(BaseModel):
    new_password: schemas.Password
    keep_tokens: bool = False
    keep_ways: bool = False


@forms.shows(router, "/account")
def account_page(
    shared: Shared,
    visit: forms.Visiting,
    complaint: forms.Complaint | None = None,
    issued: access.Issued | None = None,
    **_given: Any,
) -> Response:
    person = visit.person
    with shared.db.reading() as session:
        own_teams = teams.teams_of(session, person)
        own_bots = bots.bots_of(session, person)
        values: dict[str, Any] = {
            "present": access.look_up(session, visit.secret, TokenKind.SESSION).token_id,
            "teams": own_teams,
            "bots": own_bots,
            "courses": courses(shared, session, own_bots),
            "tokens": access.tokens(session, person.id),
            "browsers": access.browsers(session, person.id),
            "now": now(session),
            "by_password": users.has_password(session, person),
            "linked": shared.provider is not None and users.is_linked(session, person, shared.provider.issuer),
        }
    days = [count for count in TOKEN_DAYS if count < shared.settings.token_days] + [shared.settings.token_days]
    values |= {
        "provider": shared.provider and shared.provider.host,
        "scopes": [(scope.value, gettext(text)) for scope, text in SCOPES.items()],
        "days": [(n, ngettext("in %(count)s day", "in %(count)s days", n) % {"count": n}) for n in days],
    }
    return forms.private(shared, "account.html", visit, complaint, issued=issued, **values)


def door(shared: Shared, name: str, complaint: forms.Complaint | None, back: str, *, closed: bool = False) -> Response:
    """Render the form to sign in or up, with a link to the other form. Both lead to `back`. `closed`: say
    that the visitor's account is now closed.
    """
    rule = shared.read(users.newcomer_rule).value
    mail, provider = bool(shared.settings.smtp_url), shared.provider and shared.provider.host
    known = {"back": back, "rule": rule, "mail": mail, "provider": provider, "closed": closed}
    return forms.private(shared, f"{name}.html", None, complaint, **known)


@router.get("/sign-in")
def sign_in_page(shared: Shared, visit: forms.Present, next_path: Next = None, closed: bool = False) -> Response:
    back = forms.local_path(next_path)
    return forms.onward(back) if visit else door(shared, "sign-in", None, back, closed=closed)


@router.get("/sign-up")
def sign_up_page(shared: Shared, visit: forms.Present, next_path: Next = None) -> Response:
    back = forms.local_path(next_path)
    return forms.onward(back) if visit else door(shared, "sign-up", None, back)


def door_again(name: str) -> Callable[..., Response]:
    """Return the function that shows one of both forms with a complaint."""
    return lambda shared, sent, complaint, **_: door(shared, name, complaint, forms.local_path(sent.get("next")))


@router.post("/sign-in")
@forms.posting("sign-in", door_again("sign-in"))
def sign_in(shared: Shared, request: Request, sent: forms.Sent) -> Response:
    name, password = sent.get("name", "")[:64], sent.get("password", "")[:256]
    person = schemas.checked_person(shared, request, name, password)
    return begin(shared, request, person, forms.local_path(sent.get("next")), password)


@router.post("/sign-up")
@forms.posting("sign-up", door_again("sign-up"))
def sign_up(shared: Shared, request: Request, sent: forms.Sent) -> Response:
    body = forms.picked(schemas.SignUp, sent)
    shared.rates.sign_up(request, body.code)
    person = shared.change(users.sign_up, body.name, body.password, body.code)
    shared.rates.invited(request)
    return begin(shared, request, person, forms.local_path(sent.get("next")))


@router.post("/sign-out")
def sign_out(shared: Shared, request: Request, posted: forms.Submitted) -> Response:
    shared.change(access.end_session, posted.visit.secret)
    return _signed_out(request, shared, "/")


def _signed_out(request: Request, shared: Shared, to: str) -> Response:
    answer = forms.onward(to)
    sessions.keep(answer, request, shared.settings, None)
    answer.headers["Clear-Site-Data"] = '"cache"'
    return answer


@router.post("/account/tokens")
@forms.posting("token", account_page)
def create_token(shared: Shared, request: Request, posted: forms.Submitted) -> Response:
    """Create a token. The answer is the page: the secret is shown once, and must not be in an address or store."""
    body = forms.checked(_TokenForm, posted.fields)
    person = confirm(shared, request, posted)
    with shared.db.transaction() as session:
        users.must_still_open(session, person, password_in(posted))
        issued = access.issue_token(session, person.id, body.label, body.scope, body.days)
    return account_page(shared, posted.visit, issued=issued)


@router.post("/account/tokens/{token_id}/revoke")
def revoke(shared: Shared, posted: forms.Submitted, token_id: Id) -> Response:
    """End a token, or another browser's session."""
    shared.change(access.revoke, posted.visit.person.id, token_id)
    return forms.onward(f"{forms.HOME}#tokens")


@router.post("/account/password")
@forms.posting("password", account_page)
def change_password(shared: Shared, request: Request, posted: forms.Submitted) -> Response:
    """Change the password. Every other browser is signed out; what else opens the account ends unless it is kept."""
    body = forms.checked(_PasswordForm, posted.fields)
    person = confirm(shared, request, posted)
    with shared.db.transaction() as session:
        users.must_still_open(session, person, password_in(posted))
        access.change_password(session, person, body.new_password, body.keep_tokens, body.keep_ways)
    return begin(shared, request, person, f"{forms.HOME}#password")


@router.post("/account/close")
@forms.posting("close", account_page)
def close(shared: Shared, request: Request, posted: forms.Submitted) -> Response:
    confirm(shared, request, posted)
    shared.change(close_account, posted.visit.person)
    return _signed_out(request, shared, "/sign-in?closed=1")


@router.post("/account/teams")
@forms.posting("team", account_page)
def create_team(shared: Shared, posted: forms.Submitted) -> Response:
    body = forms.checked(schemas.TeamRequest, posted.fields)
    shared.change(teams.create_team, posted.visit.person, body.name)
    return forms.onward(f"{forms.HOME}#teams")


@router.post("/account/teams/{team_id}/{verb}")
@forms.posting("team-{team_id}", account_page)
def change_team(shared: Shared, posted: forms.Submitted, team_id: Id, verb: str) -> Response:
    verbs = {"invite": teams.invite_to_team, "leave": teams.leave_team, "hand-over": teams.hand_over_team}
    with shared.db.transaction() as session:
        if verb == "join":
            teams.join_team(session, posted.visit.person, team_id)
        elif verb in verbs:
            name = forms.checked(schemas.TeamRequest, posted.fields).name
            verbs[verb](session, posted.visit.person, team_id, name)
        else:
            return forms.onward(forms.HOME)
    return forms.onward(f"{forms.HOME}#teams")


def password_in(posted: forms.Posted) -> str:
    return posted.fields.get("password", "")


def confirm(shared: Shared, request: Request, posted: forms.Posted) -> Person:
    """Check that the account's owner uses this browser: by the form's `password`, or if the account has none
    by a recent sign-in. What then adds a way into the account calls `must_still_open`.

    Raises:
        WrongCredentials, AccountClosed, OverQuota.
        BadSetting: the password is missing.
        SignInAgain.
    """
    visit, password = posted.visit, password_in(posted)
    with shared.db.reading() as session:
        by_password = users.has_password(session, visit.person)
        age = now(session) - access.look_up(session, visit.secret, TokenKind.SESSION).began_at
    if by_password and not password:
        raise BadSetting("password", _("enter your password"))
    if by_password:
        return schemas.checked_person(shared, request, visit.person.name, password)
    if age > users.FRESH:
        raise SignInAgain
    return visit.person


def begin(shared: Shared, request: Request, person: Person, path: str, password: str = "") -> Response:
    """Begin a new session in place of the browser's previous one. `password`: the one that was just checked, if any."""
    former = sessions.secret_of(request, shared.settings)
    with shared.db.transaction() as session:
        if password:
            users.must_still_open(session, person, password)
        agent = request.headers.get("user-agent", "")
        browser = next((name for word, name in BROWSERS.items() if word in agent), "a browser")
        system = next((f" on {name}" for name in SYSTEMS if name in agent), "")
        issued = access.begin_session(session, person.id, browser + system, former, address(request))
    answer = forms.onward(path)
    sessions.keep(answer, request, shared.settings, issued)
    return answer


class _ResetLink(base.Query):
    channel: base.RowId
    until: Annotated[int, Query(ge=0, le=2**40)]
    token: Annotated[str, Query(max_length=64)]


class _ResetForm(_ResetLink):
    password: schemas.Password


@forms.shows(router, "/forgotten")
def _ask(shared: Shared, complaint: forms.Complaint | None = None, *, sent: bool = False, **_given: Any) -> Response:
    if not shared.settings.smtp_url:
        raise NotFound("page", "/forgotten", _("This league sends no mail. Ask its administrators for a new password."))
    return forms.private(shared, "forgotten.html", None, complaint, asked=sent)


@router.post("/forgotten")
@forms.posting("forgotten", _ask)
def ask(shared: Shared, request: Request, sent: forms.Sent) -> Response:
    """Send a link after the answer, so that the response time reveals nothing."""
    name = sent.get("name", "").strip()[:254]
    answer = _ask(shared, sent=True)  # first, so that nothing is counted where no mail is sent
    shared.rates.forgotten(request, name)
    answer.background = BackgroundTask(shared.change, access.ask_for_link, name)
    return answer


@forms.shows(router, "/reset")
def _reset(
    shared: Shared, link: Annotated[_ResetLink, Query()], complaint: forms.Complaint | None = None, **_given: Any
) -> Response:
    owner = shared.read(access.owner_of_link, link.channel, link.until, link.token)
    return forms.private(shared, "reset.html", None, complaint, link=link, owner=owner.name)


@router.post("/reset")
@forms.posting("reset", lambda sent, **given: _reset(link=forms.picked(_ResetLink, sent), **given))
def reset(shared: Shared, request: Request, sent: forms.Sent) -> Response:
    """Set a new password. Every browser is signed out, and every token ends."""
    shared.rates.sign_up(request)  # counts as a sign-up, because it may be a guess and costs a hash
    body = forms.picked(_ResetForm, sent)
    shared.change(access.reset_password, body.channel, body.until, body.token, body.password)
    return forms.onward("/sign-in")
