"""Pages of docs/ that readers of the site need: rendered from the same Markdown."""

from __future__ import annotations

from functools import cache

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from api.deps import Shared
from api.pages.markdown import rendered
from api.pages.render import page, render
from api.services import SITE

router = APIRouter(include_in_schema=False)

RATINGS = SITE.parents[1] / "docs" / "ratings.md"


@router.get("/about/ratings")
async def about_ratings(shared: Shared, request: Request) -> Response:
    """How the ratings are made."""
    return await page(shared, request, "about-ratings", lambda: render(shared, "text.html", text=_ratings()))


@cache
def _ratings() -> Markup:
    return rendered(RATINGS.read_text(encoding="utf-8"), titled=True)
