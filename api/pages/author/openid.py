"""Signing in and up through the operator's OpenID provider, and linking an account to it (see `api.edge.openid`)."""

from typing import Any

from fastapi import APIRouter, Request, Response

from deadheat.api.deps import Shared
from deadheat.api.edge import sessions
from deadheat.api.edge.flow import SECONDS, Flow
from deadheat.api.errors import STATUS
from deadheat.api.pages import forms
from deadheat.api.pages.author import account
from deadheat.api.routes.people import NewAuthor
from deadheat.engine.language import N_, _, gettext
from deadheat.league.database import now
from deadheat.league.errors import LeagueError, NameTaken, NotFound, ProviderAway, ProviderRefused
from deadheat.league.service.people import users
from deadheat.league.service.people.access import signing_key
from deadheat.league.service.people.person import Person

router = APIRouter()

COOKIE = "openid"

UNKNOWN = N_(
    "This sign-in has no account here yet. Choose a name to create one. If you already have an account, sign in with "
    "your password and link it on your account's page."
)


@router.get("/sign-in/openid")
def start(shared: Shared, request: Request, visit: forms.Present, next_path: account.Next = None) -> Response:
    back = forms.local_path(next_path)
    if visit:
        return forms.onward(back)
    try:
        return _away(shared, request, "in", back)
    except (ProviderAway, ProviderRefused) as error:
        return account.door(shared, "sign-in", forms.Complaint("openid", STATUS[type(error)], str(error)), back)


@router.post("/sign-up/openid")
@forms.posting("openid", account.door_again("sign-up"))
def sign_up(shared: Shared, request: Request, sent: forms.Sent) -> Response:
    """Choose a name, then sign in at the provider. Refusals that are known beforehand come first."""
    _provider(shared)
    body = forms.picked(NewAuthor, sent)
    shared.rates.sign_up(request, body.code)
    users.must_be_free(body.name)
    with shared.db.reading() as session:
        users.check_newcomer(session, body.code)
        if users.user_named(session, body.name) is not None:
            raise NameTaken("user", body.name)
    shared.rates.invited(request)
    return _away(shared, request, "up", forms.local_path(sent.get("next")), name=body.name, code=body.code)


@router.post("/account/openid")
@forms.posting("openid", account.account_page)
def link(shared: Shared, request: Request, posted: forms.Submitted) -> Response:
    """Link the account to an identity: check the account's password, then go to the provider."""
    _provider(shared)
    account.confirm(shared, request, posted)
    return _away(shared, request, "link", f"{forms.HOME}#openid", session=posted.visit.csrf)


@router.post("/account/openid/unlink")
@forms.posting("openid", account.account_page)
def unlink(shared: Shared, request: Request, posted: forms.Submitted) -> Response:
    provider = _provider(shared)
    account.confirm(shared, request, posted)
    shared.change(users.unlink_identity, posted.visit.person, provider.issuer)
    return forms.onward(f"{forms.HOME}#openid")


@router.get("/sign-in/openid/callback")
def come_back(shared: Shared, request: Request, visit: forms.Present) -> Response:
    """Receive the provider's answer. The cookie is deleted in any case."""
    provider = _provider(shared)
    shared.rates.provider(request)
    flow = None
    try:
        with shared.db.transaction() as session:
            key, at = signing_key(session), now(session)
        flow = Flow.read(request.cookies.get(_name(request, shared), ""), key, at)
        subject = provider.subject(flow, dict(request.query_params))
        if flow.act == "link":
            answer = _link(shared, visit, flow.session, subject)
        else:
            answer = _enter(shared, request, flow, subject)
    except LeagueError as error:
        complaint = forms.Complaint("openid", STATUS[type(error)], str(error))
        if flow is not None and flow.act == "link" and visit is not None:
            answer = account.account_page(shared, visit, complaint)
        else:
            answer = account.door(shared, "sign-in", complaint, forms.local_path(flow.back if flow else None))
    sessions.set_cookie(answer, request, shared.settings, _name(request, shared), "", 0)
    return answer


def _enter(shared: Shared, request: Request, flow: Flow, subject: str) -> Response:
    """Sign in or up. An identity that already has an account opens that one, even if a name was just chosen."""
    issuer, back = _provider(shared).issuer, forms.local_path(flow.back)
    person: Person | None
    with shared.db.transaction() as session:
        person = users.person_known_as(session, issuer, subject)
        if person is None and flow.act == "up":
            name = forms.checked(NewAuthor, {"name": flow.name, "code": flow.code}).name
            person = users.sign_up_as(session, name, flow.code, issuer, subject)
    if person is None:
        return account.door(shared, "sign-up", forms.Complaint("openid", 403, gettext(UNKNOWN)), back)
    return account.begin(shared, request, person, back)


def _link(shared: Shared, visit: forms.Visit | None, began: str, subject: str) -> Response:
    """Link an identity to the account of the session that began the flow. A new password has ended that session."""
    if visit is None or visit.csrf != began:
        raise ProviderRefused(_("You are not signed in to the account that was to be linked. Sign in and begin again."))
    shared.change(users.link_identity, visit.person, _provider(shared).issuer, subject)
    return forms.onward(f"{forms.HOME}#openid")


def _away(shared: Shared, request: Request, act: Any, back: str, **more: Any) -> Response:
    """Return a page that forwards by itself, because the content policy lets no form lead to another site."""
    provider = _provider(shared)
    with shared.db.transaction() as session:
        key, at = signing_key(session), now(session)
    flow = Flow.begun(act, back, at, **more)
    answer = forms.private(shared, "openid.html", None, None, address=provider.address(flow), host=provider.host)
    sessions.set_cookie(answer, request, shared.settings, _name(request, shared), flow.cookie(key), SECONDS)
    return answer


def _provider(shared: Shared) -> Any:
    if shared.provider is None:
        raise NotFound("page", "/sign-in/openid", _("This league has no OpenID provider."))
    return shared.provider


def _name(request: Request, shared: Shared) -> str:
    return f"__Host-{COOKIE}" if sessions.is_secure(request, shared.settings) else COOKIE
