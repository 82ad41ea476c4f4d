"""The application: routes, pages, errors and middleware around one set of services; and its OpenAPI document,
which describes every error as a problem document.
"""

import asyncio
import json
import re
import tomllib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from http import HTTPStatus
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from deadheat.api import errors, pages, routes
from deadheat.api.edge.arrival import beat
from deadheat.api.edge.caching import Files, GameFiles
from deadheat.api.edge.connections import Watched
from deadheat.api.edge.middleware import (
    FromMemory,
    HeadAsGet,
    MeasuredRequests,
    PlainAddresses,
    ReadersLanguage,
    SecurityHeaders,
)
from deadheat.api.edge.rates import FREE, Limit, Rates
from deadheat.api.edge.uploading import Incoming
from deadheat.api.pages.live import News
from deadheat.api.pages.player.exhibition import Tables
from deadheat.api.pages.render import templates
from deadheat.api.pages.texts import docs
from deadheat.api.routes.seed_sockets import SOCKETS
from deadheat.api.schemas import Problem
from deadheat.api.services import SITE, CeleryQueue, Queue, Services
from deadheat.api.watching import watch_tables
from deadheat.league.blobs import Blobs
from deadheat.league.config import Settings
from deadheat.league.database import Database
from deadheat.league.service.people.access import signing_key

_REF = "#/components/schemas/Problem"
LIST = re.compile(r"(?:Items|Paged)[_[](\w+?)[]_]")
"""The framework's name of a list, which is replaced by the plural of its items: `Items[Bot]` is Bots."""

MEANINGS = tomllib.loads(Path(__file__).with_name("fields.toml").read_text("utf-8"))
"""What no declaration says, by the name of a field or `parameter`, perhaps of one shape alone."""

OVER = "Over a limit; Retry-After says how many seconds to wait"


def _document(app: FastAPI) -> dict[str, Any]:
    """Return our version of the API's description."""
    made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    document: dict[str, Any] = json.loads(LIST.sub(r"\1s", json.dumps(made)))
    schemas = document["components"]["schemas"]
    assert len(schemas) == len(made["components"]["schemas"]), "two lists have one name"
    schemas["Problem"] = Problem.model_json_schema()
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for name, schema in schemas.items():
        for field, about in schema.get("properties", {}).items():
            own = MEANINGS.get(name, {}).get(field)
            about["description"] = about.get("description") or own or MEANINGS[field]
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                own = MEANINGS.get("parameter", {}).get(parameter["name"])
                parameter["description"] = parameter.get("description") or own or MEANINGS[parameter["name"]]
            if not path.startswith(FREE):
                operation["responses"].setdefault("429", {"description": OVER})
            if "application/json" in operation.get("requestBody", {}).get("content", {}):
                operation["responses"].setdefault("400", {"description": "The body is not JSON"})
            for status, response in operation["responses"].items():
                if status.isdigit() and int(status) >= 400 and "model" not in response and status != "503":
                    response["content"] = {errors.PROBLEM: {"schema": {"$ref": _REF}}}
                    response["description"] = response.get("description") or HTTPStatus(int(status)).phrase
    return document


DESCRIPTION = """
Upload bots; read seasons, matches and rankings. Errors are problem documents (RFC 9457); lists have cursors;
dates are in UTC; names ending in `_ns` are nanoseconds.
"""


API = ("/v1/", "/healthz", "/readyz", "/metrics")
"""The beginnings of the API's addresses; all others are pages."""


def _found_routes() -> Iterator[APIRoute]:
    """Yield the routes of every router in a module of `api/routes` and `api/pages`. The API's document has those of the
    API alone. No two modules may answer the same path, because only their names would decide which comes first.
    """
    for package in (routes, pages):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            routers = [each for each in vars(import_module(module.name)).values() if isinstance(each, APIRouter)]
            for route in chain.from_iterable(router.routes for router in routers):
                assert isinstance(route, APIRoute), "routers hold nothing else"
                route.include_in_schema = route.path.startswith(API)
                yield route


ROUTES = tuple(_found_routes())
"""The modules of all routes are imported together with this one, so that forked processes share them."""


@asynccontextmanager
async def _alive(app: FastAPI) -> AsyncIterator[None]:
    """Watch the tables and the event loop while the application runs."""
    services: Services = app.state.services
    watching = asyncio.gather(watch_tables(services), beat())
    yield
    watching.cancel()
    with suppress(asyncio.CancelledError):  # asyncio reports an end that nobody has waited for
        await watching
    services.db.close()


def create_app(
    settings: Settings | None = None,
    *,
    queue: Queue | None = None,
    db: Database | None = None,
    blobs: Blobs | None = None,
) -> FastAPI:
    """Create the application. Without arguments, use the environment's settings."""
    settings = settings or Settings()
    db = db or Database(settings)
    services = Services(
        settings=settings,
        db=db,
        blobs=blobs or Blobs(settings.blobs),
        queue=queue or CeleryQueue(settings),
        pages=templates(),
        rates=Rates(settings, lambda: services.change(signing_key)),
    )

    app = FastAPI(
        title="Deadheat",
        version="1",
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # both fetch their scripts from elsewhere
        redoc_url=None,
        lifespan=_alive,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # `MeasuredRequests` measures each request
    )
    app.state.services = services
    app.state.news = News()
    app.state.tables = Tables()
    # Add the finished routes: `include_router` would build each again in every process.
    app.router.routes += (*ROUTES, *SOCKETS)
    app.mount("/static/docs", docs.pictures)
    app.mount("/static/games", GameFiles())
    app.mount("/static", Files(directory=SITE / "static"), name="static")
    errors.install(app)
    app.openapi = cache(partial(_document, app))  # type: ignore[method-assign]  # as documented
    app.add_middleware(Limit, count=services.rates.limit_reads)  # after all that answers from memory
    app.add_middleware(PlainAddresses)
    app.add_middleware(errors.Unexpected)
    app.add_middleware(Incoming, routes=ROUTES)
    app.add_middleware(Limit, count=services.rates.limit_writes)  # before anything else reads the request
    app.add_middleware(FromMemory, bodies=services.bodies)
    app.add_middleware(ReadersLanguage)
    app.add_middleware(SecurityHeaders, by_https=settings.site_url.startswith("https:"))
    app.add_middleware(MeasuredRequests)
    app.add_middleware(HeadAsGet)
    if settings.trusted_proxies:
        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=settings.trusted_proxies)
    app.add_middleware(Watched)
    return app
