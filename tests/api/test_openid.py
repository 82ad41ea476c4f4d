"""Signing in through an OpenID provider that signs with real keys and can lie."""

import base64
import html
import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc.jwk import OctKey
from pydantic import ValidationError
from sqlmodel import col, select
from urllib3 import Timeout
from urllib3.exceptions import ConnectTimeoutError

from deadheat.api.edge import openid
from deadheat.api.edge.flow import Flow
from deadheat.league.config import Settings
from deadheat.league.service.people.access import signing_key
from deadheat.league.service.people.users import set_newcomer_rule
from deadheat.league.service.rulings.closing import ban, set_role
from deadheat.league.states import NewcomerRule, Role
from deadheat.league.tables import Identity, User
from tests.api.browser import OURS, PAGE, Browser
from tests.api.provider import CLIENT, SECRET, Provider, new_key, running
from tests.api.site import PASSWORD, Site

CALLBACK = "/sign-in/openid/callback"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running() as made:
        yield made


@pytest.fixture
def linked(provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site with the provider, which may be slow on a busy machine."""
    monkeypatch.setattr(openid, "TIMEOUT", Timeout(60.0))
    told = {"openid_issuer": provider.issuer, "openid_client_id": CLIENT, "openid_client_secret": SECRET}
    with closing(Site(tmp_path, site_url="http://league", **told)) as made:
        yield made


@pytest.fixture
def browser(linked: Site) -> Browser:
    return Browser(linked)


@pytest.fixture
def known(browser: Browser, provider: Provider) -> Browser:
    """A browser in which nobody is signed in; the provider vouches for an account of the site."""
    new_account(browser, provider)
    browser.client.cookies.clear()
    return browser


def sent_to(browser: Browser) -> str:
    """Return the provider's address to which the page leads."""
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]+)"', browser.answer.text)
    assert found is not None, browser.answer.text
    return html.unescape(found[1])


def come_back(browser: Browser, answer: dict[str, str], status: int = 200) -> None:
    browser.show(browser.client.get(CALLBACK, params=answer, headers=PAGE, follow_redirects=True), status)


def new_account(browser: Browser, provider: Provider, name: str = "ada", status: int = 200, code: str = "") -> None:
    browser.submit("/sign-up/openid", at="/sign-up", name=name, code=code)
    come_back(browser, provider.authorise(sent_to(browser)), status)


def sign_in(browser: Browser, provider: Provider, status: int = 200) -> None:
    browser.get("/sign-in/openid")
    come_back(browser, provider.authorise(sent_to(browser)), status)


def who(browser: Browser) -> str | None:
    answer = browser.client.get("/v1/users/me")
    return answer.json()["name"] if answer.status_code == 200 else None


def identities(site: Site) -> list[tuple[str, str]]:
    with site.world.db.reading() as session:
        found = select(User.name, Identity.subject).join(Identity, col(Identity.user_id) == User.id)
        return list(session.exec(found.order_by(col(Identity.id))))


def test_an_account_is_made_and_opened_without_a_password(browser: Browser, provider: Provider, linked: Site) -> None:
    new_account(browser, provider)
    assert who(browser) == "ada"
    assert identities(linked) == [("ada", "subject-1")]
    other = Browser(linked)
    sign_in(other, provider)
    assert who(other) == "ada"
    other.get("/account")
    assert "deadheat login --token" in other.answer.text


def test_signing_in_leads_back_to_where_one_was_and_nowhere_else(known: Browser, provider: Provider) -> None:
    for wish, end in (("/bots", "/bots"), ("//evil.example/", "/account"), ("https://evil.example/", "/account")):
        known.get(f"/sign-in/openid?next={wish}")
        found = known.client.get(CALLBACK, params=provider.authorise(sent_to(known)), headers=PAGE)
        assert (found.status_code, found.headers["location"]) == (303, end)
        known.client.cookies.clear()


def test_an_unknown_identity_makes_no_account_by_itself(browser: Browser, provider: Provider, linked: Site) -> None:
    sign_in(browser, provider, status=403)
    assert "Choose a name" in browser.page.text and who(browser) is None
    assert identities(linked) == []


def test_an_equal_address_or_name_opens_nothing(browser: Browser, provider: Provider, linked: Site) -> None:
    browser.sign_up("ada")
    browser.client.cookies.clear()
    provider.lie = lambda claims: claims.update(preferred_username="ada", name="ada")
    sign_in(browser, provider, status=403)
    assert who(browser) is None
    assert identities(linked) == []


@pytest.mark.parametrize(("name", "status"), [("house", 409), ("taken", 409), ("not a name", 422)])
def test_names_are_bound_by_the_same_rules(browser: Browser, provider: Provider, name: str, status: int) -> None:
    browser.sign_up("taken")
    browser.client.cookies.clear()
    browser.submit("/sign-up/openid", status, at="/sign-up", name=name)
    assert provider.codes == {}


def test_closed_sign_up_and_codes_bind_who_comes_by_a_provider(
    browser: Browser, provider: Provider, linked: Site
) -> None:
    world = linked.world
    world.write(set_newcomer_rule, world.boss, NewcomerRule.CODE, "open sesame")
    browser.submit("/sign-up/openid", 403, at="/sign-up", name="ada", code="wrong")
    new_account(browser, provider, code="open sesame")
    assert who(browser) == "ada"
    browser.client.cookies.clear()
    provider.who = "subject-2"
    browser.submit("/sign-up/openid", at="/sign-up", name="bob", code="open sesame")
    answer = provider.authorise(sent_to(browser))
    world.write(set_newcomer_rule, world.boss, NewcomerRule.CLOSED)
    come_back(browser, answer, 403)  # the account was closed while bob was at the provider
    assert who(browser) is None
    assert [name for name, _ in identities(linked)] == ["ada"]


def test_a_name_that_is_taken_meanwhile_is_refused(browser: Browser, provider: Provider, linked: Site) -> None:
    browser.submit("/sign-up/openid", at="/sign-up", name="ada")
    answer = provider.authorise(sent_to(browser))
    Browser(linked).sign_up("Ada")
    come_back(browser, answer, 409)
    assert who(browser) is None


# Hostile answers ---------------------------------------------------------------------------------------------------

LIES: dict[str, dict[str, Any]] = {
    "another nonce": {"nonce": "another"},
    "no nonce": {"nonce": None},
    "another audience": {"aud": "another"},
    "several audiences, for another party": {"aud": [CLIENT, "another"], "azp": "another"},
    "several audiences, for nobody": {"aud": [CLIENT, "another"]},
    "no audience": {"aud": None},
    "another issuer": {"iss": "https://another.example"},
    "no issuer": {"iss": None},
    "expired": {"exp": 1_700_000_000},
    "without an end": {"exp": None},
    "from the future": {"iat": 4_000_000_000},
    "without a subject": {"sub": None},
    "an empty subject": {"sub": ""},
    "a subject that is none": {"sub": 7},
    "a subject without end": {"sub": "x" * 256},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_token_that_lies_lets_nobody_in(known: Browser, provider: Provider, lie: dict[str, Any]) -> None:

    def change(claims: dict[str, Any]) -> None:
        claims.update(lie)
        for name in [name for name, value in lie.items() if value is None]:
            del claims[name]

    provider.lie = change
    sign_in(known, provider, status=403)
    assert who(known) is None
    provider.lie = lambda claims: None
    sign_in(known, provider)
    assert who(known) == "ada"


def unsigned(provider: Provider, alg: str, nonce: str) -> str:
    now = int(time.time())
    claims = {"iss": provider.issuer, "aud": CLIENT, "sub": "subject-1", "nonce": nonce, "iat": now, "exp": now + 300}
    parts = ({"alg": alg, "kid": provider.key.kid}, claims)
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*coded, ""])


@pytest.mark.parametrize("alg", ["none", "None", "RS256"])
def test_a_token_without_a_signature_lets_nobody_in(known: Browser, provider: Provider, alg: str) -> None:
    known.get("/sign-in/openid")
    answer = provider.authorise(sent_to(known))
    provider.token = unsigned(provider, alg, provider.codes[answer["code"]]["nonce"])
    come_back(known, answer, 403)
    assert who(known) is None


def test_a_token_by_another_key_lets_nobody_in(known: Browser, provider: Provider) -> None:
    provider.signing = new_key("first")
    sign_in(known, provider, status=403)
    assert who(known) is None


def test_the_public_key_is_no_shared_secret(browser: Browser, provider: Provider) -> None:
    shared = OctKey.import_key(SECRET + SECRET)
    provider.published.insert(0, {**shared.as_dict(), "kid": "shared", "use": "sig"})  # even a published one
    new_account(browser, provider)
    browser.client.cookies.clear()
    provider.signing, provider.header = shared, {"alg": "HS256", "kid": "shared"}
    sign_in(browser, provider, status=403)
    provider.header = {"alg": "HS256"}
    sign_in(browser, provider, status=403)
    assert who(browser) is None


def test_an_answer_works_once_and_in_its_own_browser(known: Browser, provider: Provider, linked: Site) -> None:
    known.get("/sign-in/openid")
    answer = provider.authorise(sent_to(known))
    cookie = known.client.cookies["openid"]
    victim = Browser(linked)
    come_back(victim, answer, 403)  # without a cookie
    victim.get("/sign-in/openid")
    come_back(victim, answer, 403)  # with another cookie
    assert who(victim) is None
    assert answer["code"] in provider.codes  # the provider never saw it
    come_back(known, answer)
    assert who(known) == "ada" and "openid" not in known.client.cookies
    known.client.cookies.clear()
    known.client.cookies.set("openid", cookie, domain="league.local")
    known.client.cookies.set("openid", cookie)
    come_back(known, answer, 403)  # the code is spent
    assert who(known) is None


def test_a_code_of_another_sign_in_is_worth_nothing(known: Browser, provider: Provider, linked: Site) -> None:
    provider.who = "attacker"
    attacker = Browser(linked)
    attacker.get("/sign-in/openid")
    code = provider.authorise(sent_to(attacker))["code"]
    known.get("/sign-in/openid")
    answer = provider.authorise(sent_to(known))
    come_back(known, {**answer, "code": code}, 403)  # PKCE: it was asked for with another verifier
    assert who(known) is None


@pytest.mark.parametrize(
    "change", [{"state": "guessed"}, {"state": ""}, {"iss": "https://another.example"}, {"code": ""}]
)
def test_a_foreign_answer_is_refused_before_any_asking(browser: Browser, provider: Provider, change) -> None:
    browser.get("/sign-in/openid")
    come_back(browser, {**provider.authorise(sent_to(browser)), **change}, 403)
    assert "/token" not in provider.asked


def test_a_refusal_of_the_provider_is_told(browser: Browser, provider: Provider) -> None:
    browser.get("/sign-in/openid")
    come_back(browser, {"error": "access_denied", "state": provider.authorise(sent_to(browser))["state"]}, 403)
    assert "did not let you in" in browser.page.text


def test_a_subject_that_no_database_stores_gets_no_account(browser: Browser, provider: Provider, linked: Site) -> None:
    provider.who = "subject\0"
    new_account(browser, provider, status=403)
    assert identities(linked) == []


FORGED: dict[str, Any] = {"act": "up", "back": "/", "name": "not a name", "code": "", "secret": "s" * 43}


def coded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "x",
        "e30=",
        "bnVsbA==",
        "W10=",
        "A" * 4000,
        coded("[" * 2000),
        coded(json.dumps(FORGED | {"secret": "\ud800" * 43})),
    ],
)
def test_a_cookie_that_is_not_ours_is_refused(browser: Browser, cookie: str) -> None:
    browser.client.cookies.set("openid", cookie)
    come_back(browser, {"code": "x", "state": "y"}, 403)


def test_changing_what_a_cookie_is_for_spoils_it(browser: Browser, provider: Provider, linked: Site) -> None:
    browser.get("/sign-in/openid")
    answer = provider.authorise(sent_to(browser))
    text, _, signature = browser.client.cookies["openid"].partition(".")
    flow = json.loads(base64.urlsafe_b64decode(text + "=="))
    changed = base64.urlsafe_b64encode(json.dumps({**flow, "act": "up", "name": "eve"}).encode()).decode()
    changed = f"{changed}.{signature}"
    browser.client.cookies.clear()
    browser.client.cookies.set("openid", changed)
    come_back(browser, answer, 403)
    assert identities(linked) == []


@pytest.mark.parametrize("act", ["link", "up"])
def test_nobody_makes_a_cookie_for_a_purpose_that_was_not_allowed(
    browser: Browser, provider: Provider, linked: Site, act: Any
) -> None:
    """With a stolen session but no password, or to get around the limit for new accounts."""
    session = ""
    if act == "link":
        browser.sign_up("ada").get("/account")
        session = browser.form("/account/openid").fields["csrf"]
    forged = Flow.begun(act, "/account", linked.world.clock.now, name="eve", session=session)
    answer = provider.authorise(linked.app.state.services.provider.address(forged))
    for key in ("", "guessed", forged.secret):
        browser.client.cookies.set("openid", forged.cookie(key))
        come_back(browser, answer, 403)
    assert identities(linked) == [] and who(browser) == ("ada" if act == "link" else None)
    with linked.world.db.transaction() as writing:
        key = signing_key(writing)
    browser.client.cookies.set("openid", forged.cookie(key))
    come_back(browser, answer)  # so only the key was missing
    assert len(identities(linked)) == 1


# What is asked of the provider -------------------------------------------------------------------------------------


def test_the_document_and_the_keys_are_kept_and_a_new_key_is_found(known: Browser, provider: Provider) -> None:
    sign_in(known, provider)
    assert provider.asked.count("/.well-known/openid-configuration") == 1 and provider.asked.count("/keys") == 1
    known.client.cookies.clear()
    provider.turn_key(new_key("second"))
    sign_in(known, provider, status=403)  # keys are fetched at most once a minute
    assert provider.asked.count("/keys") == 1


def test_a_new_key_is_asked_for_after_a_minute(known: Browser, provider: Provider, linked: Site) -> None:
    provider.turn_key(new_key("second"))
    linked.app.state.services.provider._clock = lambda: time.time() + 61
    provider.lie = lambda claims: claims.update(exp=int(time.time()) + 900)
    sign_in(known, provider)
    assert who(known) == "ada"
    assert provider.asked.count("/keys") == 2


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://another.example"},
        {"token_endpoint": "http://169.254.169.254/latest"},
        {"token_endpoint": "https://10.0.0.1/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "https://localhost/keys"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": 7},
    ],
    ids=str,
)
def test_nothing_is_asked_elsewhere_inside(browser: Browser, provider: Provider, document: dict[str, Any]) -> None:
    provider.document = document
    first = browser.client.get("/sign-in/openid", headers=PAGE)
    if first.status_code == 200:
        browser.show(first, 200)
        come_back(browser, provider.authorise(sent_to(browser)), 403)
    else:
        assert first.status_code == 403
    assert who(browser) is None


def test_a_provider_that_is_away_is_told_and_passwords_still_work(linked: Site, provider: Provider) -> None:
    tries = []

    def fails(*_: object, **__: object) -> Any:
        tries.append(1)
        raise ConnectTimeoutError

    linked.app.state.services.provider._http.request = fails
    linked.app.state.services.provider._clock = lambda: 0.0
    browser = Browser(linked)
    browser.get("/sign-in/openid", 503)
    assert "does not answer" in browser.page.text
    browser.get("/sign-in/openid", 503)
    assert len(tries) == 1  # for seconds nobody else waits for the provider
    browser.sign_up("ada")
    assert who(browser) == "ada"


# Linking -----------------------------------------------------------------------------------------------------------


def test_an_owner_links_and_unlinks_an_account(browser: Browser, provider: Provider, linked: Site) -> None:
    browser.sign_up("ada")
    browser.submit("/account/openid", 422, at="/account")
    browser.submit("/account/openid", 403, at="/account", password="another one")
    browser.submit("/account/openid", at="/account", password=PASSWORD)
    come_back(browser, provider.authorise(sent_to(browser)))
    assert identities(linked) == [("ada", "subject-1")]
    other = Browser(linked)
    sign_in(other, provider)
    assert who(other) == "ada"
    browser.submit("/account/openid/unlink", at="/account", password=PASSWORD)
    assert identities(linked) == []


def test_linking_takes_our_form_and_the_account_that_began_it(
    browser: Browser, provider: Provider, linked: Site
) -> None:
    browser.sign_up("ada")
    forged = browser.client.post("/account/openid", data={"password": PASSWORD}, headers=OURS)
    assert forged.status_code == 403  # without the session's token
    browser.submit("/account/openid", at="/account", password=PASSWORD)
    answer = provider.authorise(sent_to(browser))
    flow = browser.client.cookies["openid"]
    other = Browser(linked)
    other.sign_up("bob")
    other.client.cookies.set("openid", flow)
    come_back(other, answer, 403)
    assert identities(linked) == []


@pytest.mark.parametrize("minutes", [9, 11])
def test_a_link_is_made_soon_after_the_password_was_given(
    browser: Browser, provider: Provider, linked: Site, minutes: int
) -> None:
    browser.sign_up("ada")
    browser.submit("/account/openid", at="/account", password=PASSWORD)
    answer = provider.authorise(sent_to(browser))
    later(linked, minutes)
    come_back(browser, answer, 200 if minutes < 10 else 403)
    assert len(identities(linked)) == (minutes < 10)


@pytest.mark.parametrize("in_the_new_session", [False, True])
def test_a_new_password_ends_a_link_that_was_begun_before(
    browser: Browser, provider: Provider, linked: Site, in_the_new_session: bool
) -> None:
    browser.sign_up("ada")
    browser.submit("/account/openid", at="/account", password=PASSWORD)
    answer, flow = provider.authorise(sent_to(browser)), browser.client.cookies["openid"]
    owner = Browser(linked)
    owner.submit("/sign-in", at="/sign-in", name="ada", password=PASSWORD)
    owner.submit("/account/password", at="/account", password=PASSWORD, new_password="another password")
    owner.client.cookies.set("openid", flow)
    come_back(owner if in_the_new_session else browser, answer, 403)
    assert identities(linked) == []


def test_an_identity_opens_one_account_alone(browser: Browser, provider: Provider, linked: Site) -> None:
    new_account(browser, provider)
    other = Browser(linked)
    other.sign_up("bob")
    other.submit("/account/openid", at="/account", password=PASSWORD)
    come_back(other, provider.authorise(sent_to(other)), 409)
    assert identities(linked) == [("ada", "subject-1")]


# Accounts without a password ---------------------------------------------------------------------------------------


def later(site: Site, minutes: float) -> None:
    site.world.clock.turn(60 * minutes)


def test_no_password_opens_an_account_without_one(browser: Browser, provider: Provider, linked: Site) -> None:
    new_account(browser, provider)
    for guess in ("", PASSWORD, "None"):
        answer = linked.client.post("/v1/tokens", json={"name": "ada", "password": guess, "label": "x"})
        assert answer.status_code == 401


def test_a_password_is_set_soon_after_signing_in(browser: Browser, provider: Provider, linked: Site) -> None:
    new_account(browser, provider)
    later(linked, 11)
    browser.submit("/account/password", 403, at="/account", new_password=PASSWORD)
    assert "sign in again" in browser.page.text
    browser.submit("/sign-out", at="/account")
    sign_in(browser, provider)
    browser.submit("/account/password", at="/account", new_password=PASSWORD)
    assert linked.sign_in("ada")
    browser.submit("/account/openid/unlink", at="/account", password=PASSWORD)
    assert identities(linked) == []


def test_the_last_way_in_is_not_unlinked(browser: Browser, provider: Provider, linked: Site) -> None:
    new_account(browser, provider)
    browser.get("/account")
    token = browser.page.token
    assert browser.client.post("/account/openid/unlink", data={"csrf": token}, headers=OURS).status_code == 409
    assert identities(linked) == [("ada", "subject-1")]


def test_an_account_without_a_password_is_closed_and_made_anew(
    browser: Browser, provider: Provider, linked: Site
) -> None:
    new_account(browser, provider)
    later(linked, 11)
    browser.submit("/account/close", 403, at="/account")
    browser.submit("/sign-out")
    sign_in(browser, provider)
    browser.submit("/account/close", at="/account")
    assert who(browser) is None
    sign_in(browser, provider, status=403)
    new_account(browser, provider, "ada2")
    assert who(browser) == "ada2"


def test_a_ban_holds_for_the_identity(browser: Browser, provider: Provider, linked: Site) -> None:
    new_account(browser, provider)
    chief = Browser(linked)
    chief.sign_up("chief")
    linked.world.write(ban, linked.world.write(set_role, "chief", Role.ADMIN), "ada", "cheated")
    browser.client.cookies.clear()
    sign_in(browser, provider, status=403)
    assert "banned: cheated" in browser.page.text
    new_account(browser, provider, "eve", status=403)
    assert who(browser) is None


def test_a_token_for_the_command_line_is_made_on_the_page(browser: Browser, provider: Provider, linked: Site) -> None:
    new_account(browser, provider)
    browser.submit("/account/tokens", at="/account", label="laptop")
    found = re.search(r'id="secret"[^>]*>([^<]+)<', browser.answer.text)
    assert found is not None
    told = httpx.Headers({"Authorization": f"Bearer {found[1]}"})
    assert linked.client.get("/v1/users/me", headers=told).json()["name"] == "ada"


# Without a provider ------------------------------------------------------------------------------------------------


def test_without_a_provider_there_is_no_button(site: Site) -> None:
    browser = Browser(site)
    for path in ("/sign-in", "/sign-up"):
        browser.get(path)
        assert "openid" not in browser.answer.text
    browser.sign_up("ada").get("/account")
    assert "openid" not in browser.answer.text


@pytest.mark.parametrize(
    "given",
    [
        {"openid_issuer": "http://id.example"},
        {"openid_issuer": "id.example"},
        {"openid_issuer": "https://user@id.example"},
        {"openid_issuer": "https://id.example?x=1"},
        {"openid_client_id": ""},
        {"site_url": ""},
    ],
    ids=str,
)
def test_settings_that_cannot_work_are_refused(given: dict[str, str]) -> None:
    good: dict[str, Any] = {"openid_issuer": "https://id.example", "openid_client_id": CLIENT}
    good["site_url"] = "https://league.example"
    assert Settings(**good).openid_issuer
    with pytest.raises(ValidationError):
        Settings(**{**good, **given})
