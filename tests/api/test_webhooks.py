"""Webhooks on the account's pages."""

from __future__ import annotations

from pathlib import Path

from deadheat.league.service.people import channels
from deadheat.league.service.people.channels import Link
from deadheat.league.tables import Channel
from tests.api.browser import Browser
from tests.api.site import Site


def test_a_webhook_is_added_tested_and_removed_and_its_secret_shown_once(site: Site) -> None:
    browser = Browser(site).sign_up("ada")
    browser.get("/account/webhooks")
    browser.submit("/account/webhooks", 422, url="http://169.254.169.254/latest/meta-data")
    assert "Its host is not on the public internet." in browser.page.text
    browser.submit("/account/webhooks", url="https://discord.example/api/webhooks/1")
    assert "shown only once" in browser.page.text
    assert "shown only once" not in browser.get("/account/webhooks").text
    browser.submit("/account/webhooks/1/test")
    assert "test or link," in browser.page.text and "waiting" in browser.page.text
    browser.submit("/account/webhooks/1/remove")
    assert "discord.example" not in browser.page.text and "None yet." in browser.page.text
    browser.close()


def test_an_address_is_confirmed_by_the_link_in_its_message_alone(tmp_path: Path) -> None:
    site = Site(tmp_path, smtp_url="smtp://mail.example", mail_from="a@b.example", site_url="http://league")
    browser = Browser(site).sign_up("ada")
    browser.get("/account/webhooks")
    browser.submit("/account/webhooks/mail", 422, address="nobody")
    browser.submit("/account/webhooks/mail", address="ada@a.example")
    assert "not confirmed" in browser.page.text
    secret = site.world.row(Channel, 1).secret
    links = {link: f"/mail/{link.value}?channel=1&token={channels.link_token(secret, link)}" for link in Link}
    stranger = Browser(site)
    stranger.get(links[Link.CONFIRM][:-1] + "x", 404)
    stranger.get(links[Link.CONFIRM])
    assert "not confirmed" in browser.get("/account/webhooks").text, "whoever only looks confirms nothing"
    stranger.submit("/mail/confirm")
    assert "not confirmed" not in browser.get("/account/webhooks").text
    stranger.get(links[Link.CONFIRM], 404)
    stranger.get(links[Link.UNSUBSCRIBE])
    stranger.submit("/mail/unsubscribe")
    assert "ada@a.example" not in browser.get("/account/webhooks").text
    for _ in range(3):
        browser.submit("/account/webhooks/mail", address="bob@a.example")
    browser.submit("/account/webhooks/mail", 429, address="bob@a.example")
    for one in (browser, stranger):
        one.close()
    site.close()
