"""The shelves of the documentation: the one table of its pages. The site's contents, the order of pages, the indexes
(/docs and docs/README.md), the search and the tests follow from it.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from deadheat.api.services import SITE
from deadheat.engine.language import N_

DOCS = SITE.parents[1] / "docs"
PICTURES = "pictures"


@dataclass(frozen=True, slots=True)
class Shelf:
    """Pages of one purpose. `folder` is below docs/ and in addresses; `pages` maps names to titles, in order."""

    title: str
    folder: str
    pages: dict[str, str]

    def addresses(self) -> list[str]:
        """Return its pages as `PAGES` names them."""
        return [f"{self.folder}/{name}" for name in self.pages]


SHELVES = (
    Shelf(
        N_("Start"),
        "start",
        {
            "author": N_("Quick start for authors"),
            "player": N_("Quick start for players"),
            "organiser": N_("Quick start for organisers"),
            "operator": N_("Quick start for operators"),
            "contributor": N_("Quick start for contributors"),
        },
    ),
    Shelf(
        N_("How to write a bot"),
        "how-to",
        {
            "local-kit": N_("Play and look at matches at home"),
            "compare-versions": N_("Compare versions of a bot"),
            "upload": N_("Upload a bot"),
            "in-a-season": N_("Take part in a season"),
            "inbox-and-appeals": N_("Read notices, doubt a match, leave"),
            "train": N_("Train in Python"),
            "use-in-ci": N_("Submit from CI or with curl"),
            "play-in-the-browser": N_("Play against bots"),
        },
    ),
    Shelf(
        N_("How to run a season"),
        "how-to",
        {
            "run-a-season": N_("Run a season"),
            "divisions": N_("Use divisions and continue a season"),
            "panel": N_("Test every upload against a panel"),
            "evaluations": N_("Hold evaluations"),
            "stages": N_("Play finals in stages"),
            "forecast": N_("Check that there are enough machines"),
            "rule-on-results": N_("Rule on results"),
            "sign-up": N_("Decide who may sign up and enter"),
        },
    ),
    Shelf(
        N_("How to run a server"),
        "how-to",
        {
            "install": N_("Install a league"),
            "install-by-hand": N_("Install by hand"),
            "mail-and-sign-in": N_("Turn on mail, webhooks and sign-in"),
            "install-a-game": N_("Install a game"),
            "proxy": N_("Put a proxy with TLS in front"),
            "scale": N_("Scale a league"),
            "store": N_("Keep blobs in a store of your own"),
            "upgrade": N_("Upgrade"),
            "back-up": N_("Back up and restore"),
            "restore-to-a-moment": N_("Restore to a moment"),
            "monitor": N_("Monitor a league"),
            "alerts": N_("Get alerts, and act on them"),
            "machines": N_("Prepare machines that play"),
            "gvisor": N_("Run bots under gVisor"),
            "abuse": N_("Stop abuse"),
            "recover": N_("Recovery"),
        },
    ),
    Shelf(
        N_("How to change Deadheat"),
        "how-to",
        {"add-a-game": N_("Add a game"), "change-the-code": N_("Change the code")},
    ),
    Shelf(
        N_("Reference"),
        "reference",
        {
            "glossary": N_("Glossary"),
            "verdicts": N_("Verdicts and their cures"),
            "limits": N_("Every time limit"),
            "commands": N_("Commands"),
            "python-client": N_("Python client"),
            "season-file": N_("The season file"),
            "settings": N_("Settings"),
            "metrics": N_("Metrics"),
            "data-export": N_("Data export"),
            "data-export-contests": N_("Data export: contests and standings"),
            "data-export-matches": N_("Data export: matches"),
            "audit-log": N_("The audit log"),
        },
    ),
    Shelf(
        N_("Why"),
        "why",
        {
            "ratings": N_("Ratings"),
            "matchmaking": N_("Matchmaking"),
            "own-time": N_("Own time"),
            "security-model": N_("The security model"),
            "walls-around-a-bot": N_("The walls around a bot"),
            "covert-channels": N_("Covert channels"),
            "bots-at-home": N_("Bots at home"),
            "defences": N_("Defences"),
            "architecture": N_("Architecture"),
        },
    ),
)

PAGES = {f"{shelf.folder}/{name}": title for shelf in SHELVES for name, title in shelf.pages.items()}
"""Title by page, in the order of reading. A page is docs/PAGE.md, and /docs/PAGE on the site."""

MOVED = {
    "ratings": "why/ratings",
    "matchmaking": "why/matchmaking",
    "authors": "start/author",
    "verdicts": "reference/verdicts",
    "client": "reference/commands",
    "training": "how-to/train",
    "players": "how-to/play-in-the-browser",
    "organisers": "start/organiser",
    "operators": "start/operator",
    "audit": "reference/audit-log",
    "export": "reference/data-export",
    "security": "why/security-model",
    "adding-a-game": "how-to/add-a-game",
    "architecture": "why/architecture",
}
"""Where a guide of earlier versions went: its name at /about/NAME, and the page that took its place."""


def translation(page: str, reader: str) -> Path | None:
    """Return the file of the page in the reader's language, if there is one besides the English one."""
    path = DOCS / f"{page}.{reader}.md"
    return path if path.is_file() else None


@cache
def source(page: str, reader: str = "en") -> str:
    """Return the page's text in the reader's language, or in English."""
    return (translation(page, reader) or DOCS / f"{page}.md").read_text(encoding="utf-8")


def neighbours(page: str) -> tuple[str | None, str | None]:
    """Return the pages before and after this one; None at an end."""
    order = list(PAGES)
    at = order.index(page)
    return (order[at - 1] if at else None), (order[at + 1] if at + 1 < len(order) else None)
