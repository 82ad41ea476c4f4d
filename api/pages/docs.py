"""Pages of docs/ that readers of the site need: rendered from the same Markdown."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter
from markupsafe import Markup

from deadheat.api.deps import Shared
from deadheat.api.pages.markdown import ABOUT, rendered
from deadheat.api.pages.render import everyones, render
from deadheat.api.services import SITE
from deadheat.league.errors import NotFound

router = APIRouter(include_in_schema=False)

DOCS = SITE.parents[1] / "docs"
VERDICTS = "## Verdicts and their cures\n"
"""The section of docs/authors.md that becomes a page."""

TITLES = ABOUT | {"verdicts": "Verdicts and their cures"}
"""The pages; each is docs/NAME.md, but for the verdicts."""


@router.get("/about/{name}")
@everyones
def about(shared: Shared, name: str) -> str:
    """A page of our own text."""
    if name not in TITLES:
        raise NotFound("page", name)
    return render(shared, "text.html", title=TITLES[name], text=_text(name))


@cache
def _text(name: str) -> Markup:
    if name != "verdicts":
        return rendered((DOCS / f"{name}.md").read_text(encoding="utf-8"), titled=True)
    before, heading, after = (DOCS / "authors.md").read_text(encoding="utf-8").partition(VERDICTS)
    assert heading, f"after {len(before)} characters docs/authors.md has no verdicts"
    section = after.partition("\n## ")[0].replace("\n### ", "\n## ")  # no step is left out below the title
    return rendered(f"{heading.removeprefix('#')}{section}", titled=True)
