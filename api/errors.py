"""Every error as a problem document (RFC 9457), and the one table from the league's errors to HTTP.

A browser that asks for a page gets the same problem as a page.
"""

import json
import logging
import sqlite3
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from deadheat.api.edge import Around
from deadheat.engine.language import N_, gettext
from deadheat.league import errors
from deadheat.league.complaints import plainly

log = logging.getLogger(__name__)

PROBLEM = "application/problem+json"

STATUS: Mapping[type[errors.LeagueError], int] = {
    errors.NotFound: 404,
    errors.NameTaken: 409,
    errors.UnknownGame: 422,
    errors.WrongCredentials: 401,
    errors.BadToken: 401,
    errors.AccountClosed: 403,
    errors.NotInvited: 403,
    errors.ProviderRefused: 403,
    errors.ProviderAway: 503,
    errors.AlreadyLinked: 409,
    errors.SignInAgain: 403,
    errors.NotAllowed: 403,
    errors.NarrowToken: 403,
    errors.OwnMatch: 403,
    errors.NotCaptain: 403,
    errors.NotAdmitted: 403,
    errors.WrongState: 409,
    errors.WrongGame: 409,
    errors.OtherRelease: 409,
    errors.MachineRefused: 422,
    errors.NotReady: 409,
    errors.TooMany: 409,
    errors.NoPlace: 409,
    errors.IllegalMove: 422,
    errors.Unsettled: 409,
    errors.OverQuota: 429,
    errors.TooSoon: 429,
    errors.BadSetting: 422,
    errors.BadSeasonFile: 422,
    errors.BadUpload: 422,
    errors.UploadTooLarge: 413,
    errors.BadCursor: 422,
    errors.BlobsAway: 503,
    errors.BlobMissing: 500,
    errors.BlobDamaged: 500,
}
"""The only table that maps the league's errors to HTTP. A test checks that it is complete."""

INTERNAL = N_("Something went wrong on our side. It is logged for the operator.")
"""The text that replaces an error's own message, which would reveal internals."""

OURS: Mapping[type[errors.LeagueError], str] = {
    errors.BlobsAway: N_("Nothing can be stored or fetched at the moment. Please try again in a minute."),
    errors.ProviderAway: N_("The sign-in provider does not answer. Try again later, or sign in with a password."),
    errors.BlobMissing: N_("This is missing from the store. It is logged for the operator."),
    errors.BlobDamaged: N_("This is damaged in the store. It is logged for the operator."),
}
"""The texts for the internal failures that can be distinguished."""

DATABASE_AWAY = N_("The database cannot be reached at the moment. Please try again in a few seconds.")
SOON = {"Retry-After": "5"}
"""The header for failures that pass: a database comes back within seconds, or an operator is working on it."""

LATER = {"Retry-After": "60"}

MAX_COMPLAINTS = 20

OUTAGE_SECONDS = 60
"""The pause between two lines in the log about one outage of the database."""

_outage_logged_at = float("-inf")

SEEDS_WORDS = {
    "illegal-move": (400, "invalid_action"),
    "invalid": (400, "invalid_request"),
    "unknown-game": (404, "game_not_found"),
    "stale": (409, "stale_sequence"),
    "late": (409, "stale_sequence"),
    "answered": (409, "not_your_turn"),
}

NO_PAGE = N_("There is no page at this address.")


def install(app: FastAPI) -> None:
    """Answer every error that leaves a route."""
    app.add_exception_handler(errors.LeagueError, league_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, http_error)
    for away in (OperationalError, InternalError, InterfaceError, PoolTimeout):
        app.add_exception_handler(away, _database_away)
    app.add_exception_handler(Exception, _unexpected)


def problem(
    request: Request,
    status: int,
    code: str,
    detail: str,
    extra: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer to an error. It is ASCII only, because a detail may quote input."""
    title = HTTPStatus(status).phrase
    if _of_a_page(request) and "text/html" in request.headers.get("accept", ""):
        context = {"status": status, "title": gettext(title), "detail": gettext(detail)}
        page: Response = request.app.state.services.pages.TemplateResponse(
            request, "problem.html", context, status_code=status, headers=dict(headers or {})
        )
        return page
    body = {
        "type": f"urn:deadheat:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": request.url.path,
        "code": code,
        **(extra or {}),
    }
    if request.url.path.startswith("/api/"):
        where = "match-" if code == "not-found" and "/matches/" in request.url.path else ""
        status, body["error"] = in_seeds_words(status, where + code, (extra or {}).get("state"))
        body |= {"details": detail, "status": status, "title": HTTPStatus(status).phrase}
        body |= {"retryAfterMs": 1000 * int(after)} if (after := (headers or {}).get("Retry-After")) else {}
    return Response(json.dumps(body), status, dict(headers or {}), PROBLEM)


def in_seeds_words(status: int, code: str, state: str | None = None) -> tuple[int, str]:
    """Return a refusal's status and word in the interface of `api.routes.seed_agents`."""
    return SEEDS_WORDS.get(state or code, (status, code.replace("-", "_")))


def _of_a_page(request: Request) -> bool:
    return not request.url.path.startswith(("/v1/", "/api/"))


async def league_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.LeagueError)
    status = STATUS[type(error)]
    if status >= 500:
        log.error("%s %s: %s", request.method, request.url.path, error, exc_info=error)
        return problem(request, status, error.code, OURS[type(error)], headers=LATER if status == 503 else None)
    headers = {}
    if isinstance(error, errors.OverQuota | errors.TooSoon):
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, errors.BadToken):
        headers["WWW-Authenticate"] = 'Bearer realm="deadheat"'
    if isinstance(error, errors.UploadTooLarge):
        headers["Connection"] = "close"  # the rest of the body is not read
    return problem(request, status, error.code, str(error), _data(error), headers)


async def _database_away(request: Request, error: Exception) -> Response:
    """Answer 503: the database is restarting, or has no free connection. This passes, and no client caused it."""
    cause = getattr(error, "orig", None) or error
    if getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:  # a statement that it does not understand
        return await _unexpected(request, error)
    log_outage(f"{request.method} {request.url.path}", cause)
    return problem(request, 503, "database-away", DATABASE_AWAY, headers=SOON)


def log_outage(what: str, cause: BaseException) -> None:
    """Log that the database is unavailable: a line at level ERROR in each minute of an outage, however much fails."""
    global _outage_logged_at  # noqa: PLW0603  there is one log
    due = time.monotonic() - _outage_logged_at >= OUTAGE_SECONDS
    if due:
        _outage_logged_at = time.monotonic()
    log.log(logging.ERROR if due else logging.DEBUG, "%s: the database is unavailable: %s", what, cause)


async def http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "-")
    headers = error.headers
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers = {"Allow": ", ".join(sorted(_allowed(request.app.routes, request.url.path)))}
    missing = error.detail == HTTPStatus.NOT_FOUND.phrase and _of_a_page(request)
    return problem(request, error.status_code, code, NO_PAGE if missing else error.detail, None, headers)


def _allowed(routes: Sequence[Any], path: str) -> set[str]:
    """Return all methods that this path answers. The framework names only those of the first matching route."""
    methods = set[str]()
    for route in routes:
        if getattr(route, "methods", None) and route.path_regex.match(path):
            methods |= route.methods
    return methods | ({"HEAD"} if "GET" in methods else set())


async def _invalid_request(request: Request, error: Exception) -> Response:
    """Answer 400 to malformed JSON, and 422 with all complaints to invalid JSON. The input is not repeated."""
    assert isinstance(error, RequestValidationError)
    complaints = error.errors()
    if not request.url.path.startswith("/v1/") and any(complaint["loc"][:1] == ("path",) for complaint in complaints):
        return problem(request, 404, "not-found", NO_PAGE)
    for complaint in complaints:
        if complaint["type"] == "json_invalid":
            where = complaint["loc"][-1]
            reason = complaint.get("ctx", {}).get("error", "")
            text = f"The body is not JSON, from character {where} on: {reason}."
            return problem(request, 400, "malformed-json", text)
    listed = [
        {"where": _where(complaint["loc"]), "what": plainly(complaint)} for complaint in complaints[:MAX_COMPLAINTS]
    ]
    detail = " ".join(f"{_field(complaint['loc'])}: {plainly(complaint).rstrip('.')}." for complaint in complaints[:3])
    return problem(request, 422, "invalid", detail, {"errors": listed})


class Unexpected(Around):
    """Answers errors without a handler. The framework does so, too, but outside all middleware, so its answer would
    lack the headers that all others have.
    """

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except Exception as error:
            if started:
                raise
            answer = await _unexpected(Request(scope), error)
            await answer(scope, receive, send)


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(request, 500, "internal", INTERNAL)


def _where(location: Sequence[Any]) -> str:
    return ".".join(str(part)[:100] for part in location)


def _field(location: Sequence[Any]) -> str:
    """Return the name of a field as people know it, without the part of the request that contains it, since forms,
    commands and addresses do not name that part.
    """
    return _where(location[1:] or location)


def _data(error: errors.LeagueError) -> dict[str, Any]:
    """Return the error's attributes as JSON, without `what` and `name`, which the sentence already contains."""
    kept = {"reason", "scope", "limit_bytes", "limit", "state", "wanted", "known", "setting", "left", "mistakes"}
    kept |= {"retry_after_seconds"}
    return {name: value for name, value in vars(error).items() if name in kept}
