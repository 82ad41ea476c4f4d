"""The inbox over HTTP and on the site."""

from __future__ import annotations

from tests.api.browser import Browser
from tests.api.site import Site


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
