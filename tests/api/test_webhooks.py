"""Webhooks on the account's pages."""

from __future__ import annotations

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
    assert "test," in browser.page.text and "waiting" in browser.page.text
    browser.submit("/account/webhooks/1/remove")
    assert "discord.example" not in browser.page.text and "None yet." in browser.page.text
    browser.close()
