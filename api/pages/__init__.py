"""The site's pages, one module each. Rendered here; no script is needed to read them."""

from __future__ import annotations

from fastapi import APIRouter

from deadheat.api.pages import (
    audit,
    bot,
    download,
    environment,
    evaluation,
    feeds,
    game,
    home,
    languages,
    lists,
    live,
    match,
    matches,
    people,
    season,
    statistics,
)
from deadheat.api.pages.author import (
    account,
    appeal,
    challenges,
    forgotten,
    inbox,
    mail,
    mine,
    openid,
    own_match,
    upload,
    webhooks,
)
from deadheat.api.pages.organiser import desk, evaluations, operator, season_file
from deadheat.api.pages.pictures import card
from deadheat.api.pages.player import exhibition
from deadheat.api.pages.texts import docs, style

router = APIRouter(include_in_schema=False)
for _page in (
    home,
    languages,
    lists,
    game,
    season,
    statistics,
    evaluation,
    live,
    match,
    card,
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
    style,
    account,
    inbox,
    mine,
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
