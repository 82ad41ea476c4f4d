"""The site's pages, one module each. Rendered here; no script is needed to read them."""

from __future__ import annotations

from fastapi import APIRouter

from deadheat.api.pages import (
    audit,
    bot,
    docs,
    download,
    environment,
    evaluation,
    feeds,
    game,
    home,
    lists,
    live,
    match,
    matches,
    people,
    season,
)
from deadheat.api.pages.author import (
    account,
    appeal,
    challenges,
    forgotten,
    inbox,
    mail,
    openid,
    own_match,
    upload,
    webhooks,
)
from deadheat.api.pages.organiser import desk, evaluations, operator, season_file
from deadheat.api.pages.player import exhibition

router = APIRouter(include_in_schema=False)
for _page in (
    home,
    lists,
    game,
    season,
    evaluation,
    live,
    match,
    matches,
    own_match,
    exhibition,
    bot,
    people,
    feeds,
    download,
    environment,
    audit,
    docs,
    account,
    inbox,
    webhooks,
    mail,
    forgotten,
    openid,
    upload,
    challenges,
    appeal,
    desk,
    season_file,
    evaluations,
    operator,
):
    router.routes += _page.router.routes
