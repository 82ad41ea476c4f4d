"""What a stranger may send is refused, and is never a failure of the service, on both databases.

`test_schema` makes values up for the API; these are the pages, and what no schema describes.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from tests.api.browser import OURS, Browser
from tests.api.site import PASSWORD, Site
from tests.league.conftest import database_url, postgres_url
from tests.security.planted import GENEROUS

__all__ = ["database_url", "postgres_url"]

MAIL = {"smtp_url": "smtp://mail.example", "mail_from": "league@league.example", "site_url": "http://league"}
BEYOND = str(2**31)
FOREIGN = ["", "é", "\udcff", BEYOND]
FIELDS = ("name", "password", "code", "channel", "until", "token", "next", "bot", "version", "text", "document")
FORM = "application/x-www-form-urlencoded"
MULTIPART = b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\n\\ud800\r\n--x--\r\n'


@pytest.fixture
def site(tmp_path: Path, database_url: str) -> Iterator[Site]:
    with closing(Site(tmp_path, database_url=database_url, **MAIL, **GENEROUS)) as made:
        made.author("ada")
        made.world.season(0)
        yield made


def fine(status: int, what: object) -> None:
    assert status < 500, what


def routes(site: Site, method: str) -> list[APIRoute]:
    found = [route for route in site.app.routes if isinstance(route, APIRoute) and method in (route.methods or ())]
    return [route for route in found if not route.path.endswith("/events")]  # these streams do not end


def asked_of(dependant: Dependant) -> Iterator[str]:
    """Yield the names of the fields of a route's query."""
    for field in dependant.query_params:
        shape = field.field_info.annotation
        fields = getattr(shape, "model_fields", {field.alias: field.field_info})
        yield from (told.alias or name for name, told in fields.items())
    for needed in dependant.dependencies:
        yield from asked_of(needed)


def filled(path: str, value: str = "1") -> str:
    return re.sub(r"{[^}]*}", quote(value, safe=""), path.replace("{link}", "confirm"))


@pytest.mark.databases
def test_no_number_in_an_address_is_too_large(site: Site) -> None:
    for route in routes(site, "GET"):
        queries = [f"{name}={'1-' if name == 'cursor' else ''}{BEYOND}" for name in asked_of(route.dependant)]
        for address in [filled(route.path, BEYOND), *(f"{filled(route.path)}?{query}" for query in queries)]:
            fine(site.client.get(address).status_code, address)


@pytest.mark.databases
@pytest.mark.parametrize("is_known", [False, True])
def test_no_field_of_a_form_is_a_failure_of_ours(site: Site, is_known: bool) -> None:
    browser = Browser(site)
    csrf = browser.sign_in("ada").get("/account").token if is_known else ""
    for path in (route.path for route in routes(site, "POST") if not route.path.startswith("/v1/")):
        for value in FOREIGN:
            pairs = [f"{name}={quote(value, errors='surrogateescape')}" for name in FIELDS]
            content = "&".join([*pairs, f"csrf={csrf}"])
            answer = browser.client.post(filled(path), content=content, headers={**OURS, "Content-Type": FORM})
            fine(answer.status_code, (path, value))


@pytest.mark.databases
@pytest.mark.parametrize("path", ["/mail/confirm", "/mail/unsubscribe", "/reset"])
def test_a_link_with_a_foreign_token_is_no_link(site: Site, path: str) -> None:
    ada = Browser(site).sign_in("ada")
    ada.submit("/account/webhooks/mail", at="/account/webhooks", address="ada@a.example", password=PASSWORD)
    until = int(site.world.clock().timestamp()) + 60
    for token in ("é", "", "0" * 64):
        query: Mapping[str, str] = {"channel": "1", "until": str(until), "token": token, "password": PASSWORD}
        asked = {name: query[name] for name in query if name in {"channel", "token"} or path == "/reset"}
        asked.pop("password", None)
        expected = {404} if token else {422, 404}
        assert site.client.get(path, params=asked).status_code in expected
        assert site.client.post(path, data=dict(query), headers=OURS).status_code in expected
    assert site.client.post(path, data={}, headers=OURS).status_code == 422


@pytest.mark.parametrize("charset", ["undefined", "punycode", "idna", "unicode_escape", "utf-7", "x" * 300])
def test_a_form_is_in_utf_8(site: Site, charset: str) -> None:
    headers = {**OURS, "Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
    assert site.client.post("/sign-in", content=MULTIPART, headers=headers).status_code == 415
    plain = {**OURS, "Content-Type": "multipart/form-data; boundary=x; charset=UTF-8"}
    assert site.client.post("/sign-in", content=MULTIPART, headers=plain).status_code == 403


@pytest.mark.parametrize("depth", [300, 700, 900, 5000])
@pytest.mark.parametrize(("opening", "closing_"), [("[", "]"), ('{"a":', "}")])
def test_json_within_json_is_refused(site: Site, depth: int, opening: str, closing_: str) -> None:
    content = f'{{"name": {opening * depth}1{closing_ * depth}}}'
    answer = site.client.post("/v1/users", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in {400, 422}


@pytest.mark.parametrize("origin", ["http://[", "http://league.example", "null", "[", "http://\u2100"])
def test_an_origin_that_is_none_is_refused(tmp_path: Path, origin: str) -> None:
    with closing(Site(tmp_path)) as site:  # the host is compared only without the site's address
        answer = site.client.post("/sign-in", data={"name": "ada"}, headers=[(b"Origin", origin.encode())])
        assert answer.status_code == 403
