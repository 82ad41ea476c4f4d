"""The inbox at the command line. That the client and its asynchronous twin ask for it: `test_api`, `test_library`."""

from __future__ import annotations

from tests.api.site import Site
from tests.cli.test_season import Desk


def test_the_inbox_is_shown_and_read(site: Site, server: str) -> None:
    desk = Desk(site, server)
    desk.author("ada", "swift")
    shown = desk.says("ada", "inbox", "--limit", 5)
    assert "new Version 1 of swift is ready." in shown and "/bots/1/versions/1" in shown
    assert "Version 1" in desk.says("ada", "inbox", "--read")
    assert desk.says("ada", "inbox", "--unread") == "There is nothing new."
    told = desk.json("ada", "inbox")
    assert (told["kind"], told["about"]["bot"], bool(told["read_at"])) == ("version-ready", "swift", True)
