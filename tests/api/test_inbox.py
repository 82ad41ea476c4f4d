"""The inbox, webhooks and mail, over HTTP and on the account's pages."""

import re

import pytest
from sqlmodel import Session, col, select

from deadheat.api.edge.rates import MAILS_PER_ADDRESS, MAILS_PER_HOUR
from deadheat.league.service.people import access, channels
from deadheat.league.service.people.channels import Link
from deadheat.league.tables import Channel, Delivery
from tests.api.browser import OURS, Browser
from tests.api.site import PASSWORD, Site


def test_notices_come_page_by_page_and_are_read(site: Site) -> None:
    ada = site.author("ada")
    bot_id = site.bot(ada, "swift")
    for content in (b"1", b"2", b"3"):
        site.version(ada, bot_id, content)
    first = site.ok(200, site.client.get("/v1/inbox?limit=2", headers=ada))
    assert ([one["about"]["version"] for one in first["items"]], first["unread"]) == ([3, 2], 4)
    rest = site.ok(200, site.client.get(f"/v1/inbox?limit=5&cursor={first['next']}", headers=ada))
    token = "The access token test was created. If it was not you, choose a new password."
    assert ([one["text"] for one in rest["items"]], rest["next"]) == (["Version 1 of swift is ready.", token], None)
    up_to = {"up_to": first["items"][1]["id"]}
    assert site.ok(200, site.client.post("/v1/inbox/read", json=up_to, headers=ada)) == {"unread": 1}
    unread = site.ok(200, site.client.get("/v1/inbox?unread=true", headers=ada))
    assert [one["read_at"] for one in unread["items"]] == [None]
    site.problem(422, site.client.post("/v1/inbox/read", json={"up_to": 0}, headers=ada))


def test_the_menu_counts_what_is_unread_until_it_is_read(site: Site) -> None:
    browser = Browser(site).sign_up("ada")
    ada = site.sign_in("ada")
    bot_id = site.bot(ada, "swift")
    browser.get("/inbox")
    browser.submit("/inbox/read")
    assert "Inbox (" not in browser.get("/account").text
    site.world.build(site.ok(202, site.upload(ada, bot_id, b"1"))["id"], reason="<b>It</b> is broken.")
    assert "Inbox (1)" in browser.get("/account").text
    shown = browser.get("/inbox")
    assert "Version 1 of swift is broken: <b>It</b> is broken." in shown.text and "b" not in shown.tags
    browser.submit("/inbox/read")
    assert "Inbox (" not in browser.page.text and browser.page.text.count("new") == 1  # password


def test_a_webhook_is_added_tested_and_removed_and_its_secret_shown_once(site: Site) -> None:
    browser = Browser(site).sign_up("ada")
    metadata = "http://169.254.169.254/latest/meta-data"
    browser.submit("/account/webhooks", 422, at="/account/webhooks", url=metadata, password=PASSWORD)
    assert "not on the public internet." in browser.page.text
    for password, status in (("", 422), ("not hers at all", 403), (PASSWORD, 200)):
        assert "shown only once" not in browser.page.text
        browser.submit("/account/webhooks", status, url="https://discord.example/api/webhooks/1", password=password)
    assert "shown only once" in browser.page.text and "shown only once" not in browser.get("/account/webhooks").text
    browser.submit("/account/webhooks/1/test")
    assert "test or link," in browser.page.text and "waiting" in browser.page.text
    browser.submit("/account/webhooks/1/remove")
    assert "discord.example" not in browser.page.text and "None yet." in browser.page.text


@pytest.mark.usefixtures("one_window")
def test_an_address_is_confirmed_by_the_link_in_its_message_alone(site: Site) -> None:
    site = site.beside(smtp_url="smtp://mail.example", mail_from="a@b.example", site_url="http://league")
    browser = Browser(site).sign_up("ada")
    browser.submit("/account/webhooks/mail", 422, at="/account/webhooks", address="nobody", password=PASSWORD)
    browser.submit("/account/webhooks/mail", 403, address="ada@a.example", password="not hers at all")
    browser.submit("/account/webhooks/mail", address="ada@a.example", password=PASSWORD)
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
    stranger.submit("/mail/unsubscribe", at=links[Link.UNSUBSCRIBE])
    assert "ada@a.example" not in browser.get("/account/webhooks").text
    for number in range(3):
        browser.submit("/account/webhooks/mail", address=f"bob{number}@a.example", password=PASSWORD)
    browser.submit("/account/webhooks/mail", 429, address="bob@a.example", password=PASSWORD)


@pytest.mark.usefixtures("one_window")
def test_nobody_has_a_stranger_flooded_with_links(site: Site) -> None:
    """However many accounts ask, however they spell the address, and whatever they remove in between."""
    site = site.beside(smtp_url="smtp://mail.example", mail_from="a@b.example", site_url="http://league")
    spellings = ("stranger@a.example", "Stranger+1@A.example", "str.anger@a.example", "stranger+2@a.example")
    browser = Browser(site)
    for number, spelling in enumerate(spellings):
        browser, over = Browser(site).sign_up(f"eve-{number}"), number >= MAILS_PER_ADDRESS
        browser.get("/account/webhooks")
        browser.submit("/account/webhooks/mail", 429 if over else 200, address=spelling, password=PASSWORD)
        if not over:
            (remove,) = re.findall(r"/account/webhooks/\d+/remove", browser.answer.text)
            browser.submit(remove)
    assert "messages to confirm this" in browser.page.text
    browser.submit("/account/webhooks/mail", address="other@a.example", password=PASSWORD)


@pytest.mark.usefixtures("one_window")
def test_a_forgotten_password_is_replaced_by_a_link_once_and_nobody_learns_who_is_there(site: Site) -> None:
    site = site.beside(smtp_url="smtp://mail.example", mail_from="a@b.example", site_url="http://league")
    browser, stranger = Browser(site).sign_up("ada"), Browser(site)
    token = site.sign_in("ada")
    browser.submit("/account/webhooks/mail", at="/account/webhooks", address="ada@a.example", password=PASSWORD)
    answers = []
    for name in ("ada", "nobody"):
        stranger.get("/forgotten")
        answers.append(stranger.submit("/forgotten", name=name).text)
    assert answers[0] == answers[1] and "If there is such an account" in answers[0]
    assert site.world.read(resets) == [], "the address is not confirmed"
    secret = site.world.row(Channel, 1).secret
    site.world.write(channels.follow_link, Link.CONFIRM, 1, channels.link_token(secret, Link.CONFIRM))
    stranger.submit("/forgotten", at="/forgotten", name="b@a.example")
    assert site.world.read(resets) == []
    for named in (" ADA@a.example", "Ada"):
        stranger.submit("/forgotten", at="/forgotten", name=named)
        assert site.world.read(resets) == [1], "one at a time"
    for spaces in range(MAILS_PER_HOUR):  # one was requested above
        status = 429 if spaces == MAILS_PER_HOUR - 1 else 200
        stranger.submit("/forgotten", status, at="/forgotten", name=" " * spaces + "nobody")
    link = f"/reset?{site.world.read(access.link_query, 1)}"
    stranger.get(link[:-1] + ("0" if link[-1] != "0" else "1"), 404)
    stranger.submit("/reset", 422, at=link, password="short")
    stranger.submit("/reset", password="quite another password")
    stranger.sign_in("ada", "quite another password")
    assert "Sign in" in browser.get("/account").text
    site.problem(401, site.client.get("/v1/users/me", headers=token))
    stranger.get(link, 404)
    late = f"/reset?{site.world.read(access.link_query, 1)}"
    site.world.clock.turn(access.WITHIN.total_seconds() + 1)
    stranger.get(late, 404)


@pytest.mark.usefixtures("one_window")
def test_a_league_without_mail_counts_no_forgotten_passwords(site: Site) -> None:
    site = site.beside(sign_ups_per_hour=2)
    stranger = Browser(site)
    for _ in range(3):
        stranger.show(stranger.client.post("/forgotten", data={"name": "a" * 254}, headers=OURS), 404)
    stranger.sign_up("ada")


def resets(session: Session) -> list[int]:
    """Return the channels to which links for a new password are being sent."""
    return list(session.exec(select(Delivery.channel_id).where(col(Delivery.resets_password).is_(True))))
