"""What a language model reads: `/skill.md`, by which it can play with nothing else, and `/llms.txt`, what is where."""

from fastapi import APIRouter, Request, Response

from deadheat.api.deps import Shared
from deadheat.api.edge.caching import NOWHERE
from deadheat.engine.games import GAMES
from deadheat.league.service.tables import queueing

router = APIRouter()


@router.get("/skill.md")
def skill(shared: Shared, request: Request) -> Response:
    return _text(shared, request, "skill.md", "text/markdown; charset=utf-8")


@router.get("/llms.txt")
def what_is_where(shared: Shared, request: Request) -> Response:
    return _text(shared, request, "llms.txt", "text/plain; charset=utf-8")


def _text(shared: Shared, request: Request, name: str, media_type: str) -> Response:
    address = (shared.settings.site_url or str(request.base_url)).rstrip("/")
    known = {"games": [*GAMES.values()], "with_bots": shared.read(queueing.with_house_bots)}
    text = shared.pages.get_template(name).render(address=address, **known)
    kept = {} if shared.settings.site_url else {"Cache-Control": NOWHERE}  # it then contains the request's Host
    return Response(text, headers=kept, media_type=media_type)
