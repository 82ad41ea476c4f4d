"""The site's pages, one module each. Rendered here; no script is needed to read them."""

from __future__ import annotations

from fastapi import APIRouter

from api.pages import (
    account,
    appeal,
    audit,
    bot,
    desk,
    docs,
    environment,
    exhibition,
    game,
    home,
    live,
    match,
    matches,
    operator,
    own_match,
    season,
    upload,
)

router = APIRouter(include_in_schema=False)
for _page in (
    home,
    game,
    season,
    live,
    match,
    matches,
    own_match,
    exhibition,
    bot,
    environment,
    audit,
    docs,
    account,
    upload,
    appeal,
    desk,
    operator,
):
    router.include_router(_page.router)
