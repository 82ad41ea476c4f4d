"""Accounts in the browser: signing up, in and out; tokens, passwords, teams; and what another site cannot do."""

import re
from urllib.parse import urlencode

import pytest
from sqlmodel import col, select

from deadheat.league.service.people import users
from deadheat.league.service.people.users import set_newcomer_rule
from deadheat.league.service.rulings.closing import reset_password, set_role
from deadheat.league.states import NewcomerRule, Role
from deadheat.league.tables import Channel, Token, User
from tests.api.browser import OURS, Browser
from tests.api.site import PASSWORD, Site, bearer, token_in

NEW_PASSWORD = "another long enough password"


@pytest.fixture
def ada(site: Site) -> Browser:
    return Browser(site).sign_up("ada")


def test_signing_up_leads_to_a_first_bot(ada: Browser) -> None:
    assert ada.answer.url.path == "/submit" and "ada" in ada.page.text
    assert ada.answer.headers["cache-control"] == "no-store"


def test_the_cookie_is_hidden_from_scripts_and_other_sites(site: Site) -> None:
    answer = site.client.post("/sign-up", data={"name": "ada", "password": PASSWORD}, headers=OURS)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith("deadheat=dhs_")
    assert {"httponly", "samesite=lax", "path=/"} <= set(cookie.split("; "))
    assert "domain" not in cookie


def test_over_https_the_cookie_goes_over_nothing_else(site: Site) -> None:
    fields = {"name": "ada", "password": PASSWORD}
    answer = site.client.post("https://league/sign-up", data=fields, headers={**OURS, "Origin": "https://league"})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-deadheat=") and "Secure" in cookie


@pytest.mark.parametrize(("door", "name"), [("/sign-in", "Ada"), ("/sign-up", "bob")])
def test_who_signs_in_or_up_comes_to_what_was_asked_for(site: Site, door: str, name: str) -> None:
    _, bot_id = site.world.bot()
    site.author("ada")
    visitor = Browser(site)
    visitor.get(f"/play?bot={bot_id}")
    assert visitor.answer.url.path == "/sign-in"
    for other in ["/sign-up", "/sign-in"][: 1 + (door == "/sign-in")]:  # each page links to the other
        (way,) = re.findall(rf'href="({other}\?next=[^"]*)"', visitor.answer.text)
        visitor.get(way)
    visitor.submit(door, 403 if door == "/sign-in" else 422, name=name, password="short")
    visitor.submit(door, name=name, password=PASSWORD)
    assert visitor.answer.url.raw_path == f"/play?bot={bot_id}".encode()
    assert visitor.get(f"{door}?next=/audit").text.count("Audit")
    assert visitor.answer.url.path == "/audit", "who is signed in already goes on at once"


@pytest.mark.parametrize(
    ("came_from", "back"),
    [
        ("http://league/desk/seasons/new?previous=3", "/desk/seasons/new?previous=3"),
        ("http://league/play/7#move-3", "/play/7"),
        ("http://league/account/teams", "/account"),  # accepts only POST
        ("http://evil.example/desk", "/account"),
        (f"http://league/audit?{'x' * 500}", "/account"),
        ("http://[", "/account"),
        ("", "/account"),
    ],
)
def test_a_form_that_finds_nobody_signed_in_leads_back_to_its_page(site: Site, came_from: str, back: str) -> None:
    answer = site.client.post("/account/teams", data={"name": "t"}, headers={**OURS, "Referer": came_from})
    assert answer.status_code == 303 and answer.headers["location"] == f"/sign-in?{urlencode({'next': back})}"


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x", ""])
def test_nobody_is_sent_elsewhere_after_signing_in_or_up(site: Site, target: str) -> None:
    for number, door in enumerate(("/sign-up", "/sign-in", "/sign-up")):
        fields = {"name": f"ada{number // 2}", "password": PASSWORD, "next": target}
        assert site.client.post(door, data=fields, headers=OURS).headers["location"] == "/account"
        assert site.client.get(door, params={"next": target}).headers["location"] == "/account"


def test_a_wrong_password_is_said_beside_the_form_which_keeps_the_name_alone(site: Site) -> None:
    site.author("ada")
    visitor = Browser(site)
    page = visitor.submit("/sign-in", 403, at="/sign-in", name="ada", password="not this one, surely")
    assert "Wrong name or password" in page.text
    assert visitor.form("/sign-in").fields["name"] == "ada" and "not this one" not in visitor.answer.text


@pytest.mark.parametrize(("name", "password"), [("a b", PASSWORD), ("ada", "short"), ("", ""), ("<b>", PASSWORD)])
def test_what_is_wrong_with_a_new_account_is_said_beside_its_field(site: Site, name: str, password: str) -> None:
    visitor = Browser(site)
    visitor.submit("/sign-up", 422, at="/sign-up", name=name, password=password)
    assert 'aria-invalid="true"' in visitor.answer.text and "<b>" not in visitor.answer.text


def test_a_name_that_is_taken_is_said(ada: Browser, site: Site) -> None:
    assert "already" in Browser(site).submit("/sign-up", 409, at="/sign-up", name="ADA", password=PASSWORD).text


def test_signing_out_ends_the_session_and_not_only_its_cookie(ada: Browser) -> None:
    stolen = ada.client.cookies["deadheat"]
    ada.submit("/sign-out", at="/account")
    ada.client.cookies.set("deadheat", stolen)
    ada.get("/account")
    assert ada.answer.url.path == "/sign-in"


def test_signing_in_ends_the_session_that_the_browser_came_with(ada: Browser, site: Site) -> None:
    first = ada.client.cookies["deadheat"]
    assert ada.client.post("/sign-in", data={"name": "ada", "password": PASSWORD}, headers=OURS).status_code == 303
    assert ada.client.cookies["deadheat"] != first
    other = Browser(site)
    other.client.cookies.set("deadheat", first)
    other.get("/account")
    assert other.answer.url.path == "/sign-in"


def test_a_session_expires(ada: Browser, site: Site) -> None:
    site.world.clock.turn(site.world.settings.session_days * 86400)
    ada.get("/account")
    assert ada.answer.url.path == "/sign-in"


def test_only_the_page_to_sign_in_says_that_an_account_is_closed(site: Site) -> None:
    assert site.client.get("/sign-in?closed=1").status_code == 200
    assert site.client.get("/sign-up?closed=whatever").status_code == 200


def test_who_signs_out_has_no_cookie_any_more_in_old_browsers_too(ada: Browser) -> None:
    ada.get("/account")
    answer = ada.client.post("/sign-out", data=ada.form("/sign-out").fields, headers=OURS)
    cookie = answer.headers["set-cookie"].lower()
    assert "max-age=0" in cookie and "expires=" in cookie


def test_a_session_is_no_token_and_a_token_no_session(ada: Browser, site: Site) -> None:
    site.problem(401, site.client.get("/v1/users/me", headers=bearer(ada.client.cookies["deadheat"])), "bad-token")
    ada.client.cookies.set("deadheat", token_in(site.sign_in("ada")))
    ada.get("/account")
    assert ada.answer.url.path == "/sign-in"


def test_the_api_takes_the_session_with_its_token(ada: Browser, site: Site) -> None:
    site.ok(200, ada.api("GET", "/v1/users/me"))
    site.ok(201, ada.api("POST", "/v1/bots", json={"game": "yacht-auction", "name": "greedy"}))


@pytest.mark.parametrize(
    "changed",
    [
        {"X-CSRF-Token": None},
        {"X-CSRF-Token": "0" * 64},
        {"X-CSRF-Token": "\xe9"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": None, "Origin": None},
    ],
)
def test_another_site_changes_nothing(ada: Browser, site: Site, changed: dict[str, str | None]) -> None:
    given = {**OURS, "Accept": "application/json", "X-CSRF-Token": ada.page.token, **changed}
    headers = {name.encode(): value.encode("latin-1") for name, value in given.items() if value is not None}
    answer = ada.client.post("/v1/bots", json={"game": "yacht-auction", "name": "greedy"}, headers=headers)
    site.problem(403, answer, "forbidden")
    fields = {"name": "mine", "game": "yacht-auction"}
    token = given["X-CSRF-Token"]
    if token is not None:
        fields["csrf"] = token
    assert ada.client.post("/account/teams", data=fields, headers=headers).status_code == 403
    assert site.ok(200, ada.api("GET", "/v1/bots"))["items"] == []


@pytest.mark.parametrize("path", ["/sign-in", "/sign-up"])
def test_another_site_signs_nobody_in(site: Site, path: str) -> None:
    site.author("ada")
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}, {}):
        answer = site.client.post(path, data={"name": "ada", "password": PASSWORD}, headers=headers)
        assert answer.status_code == 403 and "set-cookie" not in answer.headers


def test_an_old_browser_on_a_plain_address_says_its_origin_alone(ada: Browser) -> None:
    headers = {"Origin": "http://league", "X-CSRF-Token": ada.page.token}
    body = {"game": "yacht-auction", "name": "greedy"}
    assert ada.client.post("/v1/bots", json=body, headers=headers).status_code == 201


def test_a_token_is_shown_once_with_its_scope_and_time(ada: Browser, site: Site) -> None:
    for password, status in (("", 422), ("not hers at all", 403)):
        ada.submit("/account/tokens", status, at="/account", label="ci", scope="submit", days="30", password=password)
        assert "dh_" not in ada.page.text
    page = ada.submit("/account/tokens", label="ci", scope="submit", days="30", password=PASSWORD)
    secret = next(word for word in page.text.split() if word.startswith("dh_"))
    assert secret not in ada.get("/account").text
    site.client.post("/sign-in", data={"name": "ada", "password": PASSWORD}, headers=OURS)
    assert ada.get("/account").text.count("never") == 1, "the token alone: a browser was seen when it signed in"
    listed = site.ok(200, site.client.get("/v1/tokens", headers=bearer(secret)))["items"]
    assert [(token["label"], token["scope"]) for token in listed] == [("ci", "submit")]
    ada.submit(f"/account/tokens/{listed[0]['id']}/revoke")
    site.problem(401, site.client.get("/v1/tokens", headers=bearer(secret)), "bad-token")


def test_when_a_token_was_last_used_is_known_to_the_minute(site: Site) -> None:
    ada = site.author("ada")
    for seconds, noted in ((0, 0), (30, 0), (31, 61)):
        site.world.clock.turn(seconds)
        site.ok(200, site.client.get("/v1/users/me", headers=ada))
        listed = site.ok(200, site.client.get("/v1/tokens", headers=ada))["items"]
        minute, second = divmod(noted + int(listed[0]["created_at"][:19][17:]), 60)
        assert listed[0]["last_used_at"][17:19] == f"{second:02}", (minute, listed)


@pytest.mark.parametrize(
    ("scope", "reads", "submits", "writes"),
    [("read", 200, 403, 403), ("submit", 200, 201, 403), ("author", 200, 201, 201), ("full", 200, 201, 201)],
)
def test_a_token_does_what_its_scope_allows(site: Site, scope: str, reads: int, submits: int, writes: int) -> None:
    site.author("ada")
    body = {"name": "ada", "password": PASSWORD, "scope": scope, "days": 1}
    token = bearer(site.ok(201, site.client.post("/v1/tokens", json=body))["token"])
    assert site.client.get("/v1/bots", headers=token).status_code == reads
    bot = {"game": "yacht-auction", "name": "greedy"}
    assert site.client.post("/v1/bots", json=bot, headers=token).status_code == submits
    answer = site.client.post("/v1/teams", json={"name": "team"}, headers=token)
    assert answer.status_code == writes
    if writes == 403:
        site.problem(403, answer, "narrow-token")


def test_an_organisers_narrow_token_does_not_organise(site: Site) -> None:
    site.author("ada")
    site.world.write(set_role, "ada", Role.ORGANISER)
    for scope, status, code in (("author", 403, "narrow-token"), ("full", 201, "")):
        body = {"name": "ada", "password": PASSWORD, "scope": scope}
        token = bearer(site.ok(201, site.client.post("/v1/tokens", json=body))["token"])
        answer = site.client.post("/v1/seasons", json={"name": f"S {scope}", "game": "yacht-auction"}, headers=token)
        if code:
            site.problem(status, answer, code)
        else:
            site.ok(status, answer)


def test_a_new_password_ends_every_other_session_and_tokens_that_are_not_to_stay(ada: Browser, site: Site) -> None:
    elsewhere = Browser(site).sign_in("ada")
    token = site.sign_in("ada")
    ada.submit("/account/password", 403, at="/account", password="wrong", new_password=NEW_PASSWORD)
    assert "Wrong name" in ada.page.text
    ada.submit("/account/password", password=PASSWORD, new_password=NEW_PASSWORD, keep_tokens="true")
    assert ada.answer.url.path == "/account"
    elsewhere.get("/account")
    assert elsewhere.answer.url.path == "/sign-in"
    site.ok(200, site.client.get("/v1/users/me", headers=token))
    ada.submit("/account/password", password=NEW_PASSWORD, new_password=PASSWORD)
    site.problem(401, site.client.get("/v1/users/me", headers=token), "bad-token")


@pytest.mark.parametrize("keep", ["false", "true"])
def test_a_new_password_asks_what_else_is_kept(ada: Browser, keep: str) -> None:
    ada.submit("/account/webhooks", at="/account/webhooks", url="https://hooks.example/path", password=PASSWORD)
    ada.get("/account")
    assert set(ada.form("/account/password").boxes) == {"keep_tokens", "keep_ways"}
    ada.submit("/account/password", password=PASSWORD, new_password=NEW_PASSWORD, keep_ways=keep)
    assert ("hooks.example" in ada.get("/account/webhooks").text) == (keep == "true")
    assert "Your password was changed." in ada.get("/inbox").text


def test_an_owner_sees_where_browsers_signed_in_and_ends_single_ones(site: Site) -> None:
    site = site.beside(trusted_proxies="127.0.0.1")
    ada = Browser(site).sign_up("ada")
    others = []
    for address, agent in (("192.0.2.7", "Firefox on Linux"), ("2001:db8:1:2::9", "Safari on iPhone")):
        others.append(Browser(site))
        others[-1].client.headers.update({"X-Forwarded-For": address, "User-Agent": agent})
        others[-1].sign_in("ada")
    shown = ada.get("/account").text
    assert "192.0.2.7" in shown and "2001:db8:1:2::/64" in shown and shown.count("this one") == 1
    assert "192.0.2.7, with Firefox on Linux" in ada.get("/inbox").text
    ada.get("/account")
    ends = [form.action for form in ada.page.forms if form.action.endswith("/revoke")]
    assert len(ends) == 2  # the present one is ended by signing out
    ada.submit(ends[-1])
    assert "192.0.2.7" not in ada.page.text and "2001:db8:1:2::/64" in ada.page.text
    assert [one.client.get("/v1/users/me").status_code for one in (ada, *others)] == [200, 401, 200]


def test_nobody_reads_in_the_audit_log_when_a_password_was_changed(ada: Browser, site: Site, caplog) -> None:
    with caplog.at_level("INFO", "deadheat.league.service.people.access"):
        ada.submit("/account/password", at="/account", password=PASSWORD, new_password=NEW_PASSWORD, keep_tokens="true")
        site.world.write(reset_password, "ada", PASSWORD)
    assert "password" not in site.client.get("/v1/audit").text
    assert [record.message.partition(" has ")[2] for record in caplog.records] == [
        "another password; all sessions are ended",
        "another password; all sessions and tokens are ended",
    ]


def test_an_account_is_closed_by_its_password(ada: Browser, site: Site) -> None:
    elsewhere, token = Browser(site).sign_in("ada"), site.sign_in("ada")
    assert "Wrong name or password" in ada.submit("/account/close", 403, at="/account", password="not hers at all").text
    assert "Your account is closed." in ada.submit("/account/close", password=PASSWORD).text
    assert "deadheat" not in ada.client.cookies
    for one in (ada, elsewhere):
        one.get("/account")
        assert one.answer.url.path == "/sign-in"
        assert ("Your account is closed." in one.page.text) is (one is elsewhere)
    refused = site.problem(401, site.client.get("/v1/users/me", headers=token), "bad-token")
    assert refused["detail"] == "This account is closed."
    assert "This account is closed." in ada.submit("/sign-in", 403, name="ada", password=PASSWORD).text
    late = Browser(site).submit("/sign-up", 409, at="/sign-up", name="Ada", password=PASSWORD)
    assert "name is already taken" in late.text


def test_an_administrator_bans_and_lets_in_again(ada: Browser, site: Site) -> None:
    root = Browser(site).sign_up("root")
    site.world.write(set_role, "root", Role.ADMIN)
    root.submit("/operator/accounts/ban", 404, at="/operator/accounts", name="nobody", reason="r")
    assert "no user" in root.page.text.lower()
    assert "insults" in root.submit("/operator/accounts/ban", name="ada", reason="wrote <b>insults</b>").text
    assert "b" not in root.page.tags
    ada.get("/account")
    assert ada.answer.url.path == "/sign-in"
    answer = site.client.post("/v1/tokens", json={"name": "ada", "password": PASSWORD, "label": "x"})
    assert "insults" in site.problem(403, answer, "account-closed")["detail"]
    assert "None." in root.submit("/operator/accounts/reopen").text
    ada.sign_in("ada").get("/account")
    assert ada.answer.url.path == "/account"


def test_an_organiser_gives_out_a_code_or_closes_the_door(site: Site) -> None:
    boss, guest = Browser(site).sign_up("chief"), Browser(site)
    site.world.write(set_role, "chief", Role.ORGANISER)
    boss.submit("/desk/sign-up", 422, at="/desk", rule="code")
    boss.submit("/desk/sign-up", rule="code", code=" tea ")
    assert boss.form("/desk/sign-up").fields["code"] == "tea"
    guest.submit("/sign-up", 403, at="/sign-up", name="guest", password=PASSWORD, code="coffee")
    assert "need a valid invitation code" in guest.page.text
    api = {"name": "program", "password": PASSWORD}
    site.problem(403, site.client.post("/v1/users", json=api), "not-invited")
    site.ok(201, site.client.post("/v1/users", json={**api, "code": "tea"}))
    guest.submit("/sign-up", name="guest", password=PASSWORD, code="tea")
    assert guest.answer.url.path == "/submit"
    boss.submit("/desk/sign-up", rule="closed")
    late = Browser(site).get("/sign-up")
    assert "Sign-up is closed" in late.text
    assert not [form for form in late.forms if form.action == "/sign-up"]
    assert "tea" not in site.client.get("/v1/audit").text


def test_a_team_is_made_joined_handed_over_and_left(ada: Browser, site: Site) -> None:
    bob = Browser(site).sign_up("bob")
    ada.submit("/account/teams", at="/account", name="lovelace")
    ada.submit("/account/teams/1/invite", name="bob")
    bob.submit("/account/teams/1/join", at="/account")
    ada.submit("/account/teams/1/hand-over", at="/account", name="bob")
    ada.submit("/account/teams/1/leave", name="ada")
    assert "lovelace" not in ada.page.text
    assert "lovelace" in bob.get("/account").text


@pytest.mark.usefixtures("one_window")
def test_guessing_a_password_is_slowed_down_and_keeps_nobody_else_out(site: Site, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.api.edge.rates.TRIES_PER_NAME", 3)
    slow = site.beside(trusted_proxies="127.0.0.1")
    slow.author("ada")
    for _ in range(3):
        slow.problem(401, slow.client.post("/v1/tokens", json={"name": "ada", "password": "guess"}))
    answer = slow.client.post("/v1/tokens", json={"name": "ADA", "password": PASSWORD})
    slow.problem(429, answer, "over-quota")
    assert 1 <= int(answer.headers["retry-after"]) <= 900
    answer = slow.client.post("/sign-in", data={"name": "ada", "password": PASSWORD}, headers=OURS)
    assert answer.status_code == 429 and "retry-after" in answer.headers
    slow.author("bob")
    elsewhere = {"X-Forwarded-For": "192.0.2.7"}
    slow.ok(201, slow.client.post("/v1/tokens", json={"name": "ada", "password": PASSWORD}, headers=elsewhere))


@pytest.mark.usefixtures("one_window")
def test_a_right_password_clears_the_count(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deadheat.api.edge.rates.TRIES_PER_NAME", 3)
    slow = site.beside()
    slow.author("ada")
    for _ in range(4):
        slow.problem(401, slow.client.post("/v1/tokens", json={"name": "ada", "password": "guess"}))
        slow.sign_in("ada")


@pytest.mark.usefixtures("one_window")
def test_guessing_the_invitation_code_ends_and_the_right_one_clears_the_count(site: Site, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.api.edge.rates.TRIES_PER_NAME", 3)
    slow = site.beside()
    slow.world.write(set_newcomer_rule, slow.world.boss, NewcomerRule.CODE, "tea")
    answers = []
    for number, code in enumerate(["water", "coffee", "tea", "water", "coffee", "milk", "tea"]):
        body = {"name": f"n{number}", "password": PASSWORD, "code": code}
        answers.append(slow.client.post("/v1/users", json=body).status_code)
    assert answers == [403, 403, 201, 403, 403, 403, 429]


@pytest.mark.usefixtures("one_window")
@pytest.mark.parametrize(("path", "before"), [("/v1/users", 201), ("/v1/tokens", 401)])
def test_one_address_opens_only_so_many_accounts_and_tries_so_many(site: Site, path: str, before: int) -> None:
    slow = site.beside(sign_ups_per_hour=2, sign_ins_per_minute=2)
    bodies = [{"name": f"n{number}", "password": PASSWORD} for number in range(3)]
    assert [slow.client.post(path, json=body).status_code for body in bodies] == [before, before, 429]


@pytest.mark.usefixtures("one_window")
def test_one_address_changes_only_so_much_and_reads_on(site: Site) -> None:
    slow = site.beside(reads_per_minute=15)
    for _ in range(3):
        slow.problem(401, slow.client.post("/v1/bots", json={}))
    answer = slow.client.post("/v1/bots", json={})
    slow.problem(429, answer, "over-quota")
    assert "retry-after" in answer.headers
    slow.ok(200, slow.client.get("/v1/seasons"))


@pytest.mark.usefixtures("one_window")
def test_one_user_changes_only_so_much_from_however_many_addresses(site: Site) -> None:
    slow = site.beside(reads_per_minute=25, trusted_proxies="127.0.0.1")
    ada, bob = slow.author("ada"), slow.author("bob")
    answers = [
        slow.client.post("/v1/bots", json={}, headers={**who, "X-Forwarded-For": f"192.0.2.{number}"})
        for number, who in enumerate([*[ada] * 6, bob])
    ]
    assert [answer.status_code for answer in answers] == [*[422] * 5, 429, 422]


@pytest.mark.usefixtures("one_window")
def test_one_address_has_only_so_much_worked_out_and_what_is_in_memory_is_free(site: Site, monkeypatch) -> None:
    monkeypatch.setattr("deadheat.api.services.FRESH_SECONDS", 3600)
    slow = site.beside(reads_per_minute=3)
    for _ in range(5):
        assert slow.client.get("/").status_code == 200 and slow.client.get("/static/site.css").status_code == 200
        assert slow.client.get("/healthz").status_code == 200
    for _ in range(2):
        slow.ok(200, slow.client.get("/v1/matches"))
    answer = slow.client.get("/v1/matches")
    slow.problem(429, answer, "over-quota")
    assert int(answer.headers["retry-after"]) >= 1
    assert slow.client.get("/").status_code == 200


@pytest.mark.usefixtures("one_window")
def test_without_its_redis_a_process_counts_alone(site: Site) -> None:
    slow = site.beside(reads_per_minute=10, broker_url="redis://127.0.0.1:1/0")
    assert [slow.client.post("/v1/bots", json={}).status_code for _ in range(3)] == [401, 401, 429]


@pytest.mark.usefixtures("one_window")
def test_only_a_trusted_proxy_says_who_asks(site: Site) -> None:
    for trusted, status in (("", 429), ("127.0.0.1", 401), ("10.0.0.0/8", 429)):
        slow = site.beside(reads_per_minute=5, trusted_proxies=trusted)
        answers = [
            slow.client.post("/v1/bots", json={}, headers={"X-Forwarded-For": address})
            for address in ("192.0.2.0", "192.0.2.1")
        ]
        assert answers[-1].status_code == status


class ChangedMeanwhile:
    """A hasher: while it checks the old password, the owner changes it, which ends everything."""

    def __init__(self, site: Site) -> None:
        self.site, self.inner, self.left = site, users._hasher, 1
        self.hash, self.check_needs_rehash = self.inner.hash, self.inner.check_needs_rehash

    def verify(self, known: str, password: str) -> bool:
        found = self.inner.verify(known, password)
        if self.left:
            self.left = 0
            self.site.world.write(reset_password, "ada", NEW_PASSWORD)
        return found


WAYS_IN = {
    "/v1/tokens": {"name": "ada", "password": PASSWORD},
    "/sign-in": {"name": "ada", "password": PASSWORD},
    "/account/tokens": {"label": "x", "scope": "full", "days": "7", "password": PASSWORD},
    "/account/webhooks": {"url": "https://a.example/", "password": PASSWORD},
    "/account/password": {"password": PASSWORD, "new_password": "a third long enough one"},
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_a_password_that_is_changed_while_it_is_checked_opens_nothing(
    site: Site, ada: Browser, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    token = ada.get("/account").token
    monkeypatch.setattr(users, "_hasher", ChangedMeanwhile(site))
    if way.startswith("/v1/"):
        answer = site.client.post(way, json=WAYS_IN[way])
    else:
        answer = ada.client.post(way, data={"csrf": token, **WAYS_IN[way]}, headers=OURS)
    assert answer.status_code in {401, 403}, answer.text
    valid = select(Token.id).join(User, col(User.id) == Token.user_id).where(col(Token.revoked_at).is_(None))
    assert site.world.rows(valid.where(User.name == "ada")) == []
    assert site.world.rows(select(Channel.id)) == []
    site.ok(201, site.client.post("/v1/tokens", json={"name": "ada", "password": NEW_PASSWORD}))
