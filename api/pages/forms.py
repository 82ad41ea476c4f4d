"""The parts that pages with forms share: the visitor, the sent fields, and complaints about them.

Every form works without a script: it is posted, and the answer redirects the browser (303), so that going
back or reloading repeats nothing. Refusals are shown beside the form, which keeps the input, except
passwords. Such pages belong to one person and are never cached.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any, TypeVar, get_origin
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from python_multipart.multipart import parse_options_header
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.routing import Match

from deadheat.api import schemas as base
from deadheat.api.deps import Shared, look_up
from deadheat.api.edge import sessions
from deadheat.api.errors import STATUS
from deadheat.api.pages.render import render
from deadheat.engine.language import _, gettext
from deadheat.league import errors
from deadheat.league.complaints import plainly
from deadheat.league.service.people.notices import count_unread
from deadheat.league.service.people.person import Person
from deadheat.league.states import TokenKind
from deadheat.league.terms import TERMS

MAX_FIELDS = 60
HOME = "/account"

MAX_NEXT = 500
Fields = Mapping[str, str]
_Shape = TypeVar("_Shape", bound=BaseModel)
_Page = TypeVar("_Page", bound=Callable[..., Response])


@dataclass(frozen=True, slots=True)
class Visit:
    """A signed-in visitor, with the number of unread notices. `csrf` belongs in every form."""

    person: Person
    secret: str
    unread: int = 0

    @property
    def csrf(self) -> str:
        return sessions.csrf_of(self.secret)


@dataclass(frozen=True, slots=True)
class Posted:
    """A signed-in visitor's form that certainly comes from a page of this site."""

    visit: Visit
    fields: Fields


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why a form was refused: as a whole, and by field. `given`: the input."""

    form: str
    status: int
    text: str = ""
    fields: Fields = field(default_factory=dict)
    given: Fields = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class NameForm(BaseModel):
    name: base.Name


def present(request: Request, shared: Shared) -> Visit | None:
    secret = sessions.secret_of(request, shared.settings)
    if secret is None:
        return None
    try:
        person = look_up(shared, secret, TokenKind.SESSION).person
    except errors.BadToken:
        return None
    return Visit(person, secret, shared.read(count_unread, person))


def visit(request: Request, shared: Shared, visitor: Annotated[Visit | None, Depends(present)]) -> Visit:
    """Return the signed-in visitor, and send others to sign in. Raises OverQuota."""
    if visitor is not None:
        shared.rates.write_by(request, visitor.person.id)
        return visitor
    raise sign_in_first(request, shared)


def sign_in_first(request: Request, shared: Shared) -> HTTPException:
    """Return a redirect to the sign-in page, and from there back to the requested page or the page with the
    posted form. If the browser's session ended with its account, that page says so.
    """
    came = _local_part(str(request.url)) if request.method in sessions.SAFE else came_from(request, shared)
    query = {"next": came or HOME}
    try:
        if secret := sessions.secret_of(request, shared.settings):
            look_up(shared, secret, TokenKind.SESSION)
    except errors.BadToken as error:
        if error.closed:
            query["closed"] = "1"
    return HTTPException(303, headers={"Location": f"/sign-in?{urlencode(query)}"})


async def fields(request: Request, shared: Shared) -> Fields:
    """Read the fields that a page of this site posted. All are plain text, including a file's."""
    sessions.must_be_ours(request, shared.settings)
    options = parse_options_header(request.headers.get("content-type"))[1]
    if options.get(b"charset", b"utf-8").lower() != b"utf-8":  # some of Python's codecs fail, or take long
        raise HTTPException(415, _("Send the form in UTF-8."))
    async with request.form(max_files=1, max_fields=MAX_FIELDS) as form:
        sent = {name: value if isinstance(value, str) else await _text(value) for name, value in form.items()}
    for name, value in sent.items():
        if not base.is_plain(value):
            raise HTTPException(422, f"{name!a}: {base.UNSEEN}")
    return {name: value.replace("\r\n", "\n") for name, value in sent.items()}  # forms send line breaks as CR LF


async def _text(file: UploadFile) -> str:
    """Return the text of a file, or "" if none was chosen. The limit on the body also limits its size."""
    try:
        return (await file.read()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise HTTPException(422, _("The file is not text in UTF-8.")) from None


def posted(visitor: Annotated[Visit, Depends(visit)], sent: Annotated[Fields, Depends(fields)]) -> Posted:
    sessions.must_match(visitor.secret, sent.get(sessions.CSRF_FIELD))
    return Posted(visitor, {name: value for name, value in sent.items() if name != sessions.CSRF_FIELD})


Present = Annotated[Visit | None, Depends(present)]
Visiting = Annotated[Visit, Depends(visit)]
Sent = Annotated[Fields, Depends(fields)]
Submitted = Annotated[Posted, Depends(posted)]


def checked(shape: type[_Shape], given: Mapping[str, Any]) -> _Shape:
    """Validate the form as one of the API's shapes. Empty fields count as omitted. Raises RequestValidationError."""
    kept = {name: value for name, value in given.items() if value != ""}
    try:
        return shape.model_validate(kept, context=base.TEXT)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


def picked(shape: type[_Shape], sent: Fields) -> _Shape:
    """Validate those fields of the form that the shape has. Raises RequestValidationError."""
    return checked(shape, {name: value for name, value in sent.items() if name in shape.model_fields})


def attempt(form: str, given: Fields, act: Callable[[], Response], again: Callable[[Complaint], Response]) -> Response:
    """Carry out a form, or show its page again with the complaints."""
    try:
        return act()
    except RequestValidationError as error:
        by_field = {str(complaint["loc"][0]): _in_words(complaint) for complaint in error.errors() if complaint["loc"]}
        whole = ". ".join(complaint["msg"] for complaint in error.errors() if not complaint["loc"])
        return again(Complaint(form, 422, whole or _("Please correct the marked fields."), by_field, _typed(given)))
    except errors.LeagueError as error:
        status = 403 if isinstance(error, errors.WrongCredentials) else STATUS[type(error)]
        if status >= 500:
            raise
        headers = (
            {"Retry-After": str(error.retry_after_seconds)}
            if isinstance(error, errors.OverQuota | errors.TooSoon)
            else {}
        )
        return again(Complaint(form, status, str(error), _marked(error), _typed(given), headers))


def posting(form: str, page: Callable[..., Response]) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    """Turn a function that carries out a form into a route (see `attempt`). `form` may name arguments of the
    route in braces. `page` shows the form again: it is called, by name, with the `complaint`, the `visit` of
    the signed-in visitor, and the route's arguments.
    """

    def decorate(act: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(act)
        def route(**given: Any) -> Response:
            own = {"visit": given["posted"].visit} if "posted" in given else {}
            typed = given["posted"].fields if own else given["sent"]

            def again(complaint: Complaint) -> Response:
                return page(complaint=complaint, **own, **given)

            return attempt(form.format_map(given), typed, lambda: act(**given), again)

        return route

    return decorate


def shows(router: APIRouter, path: str) -> Callable[[_Page], _Page]:
    """Let a page that may be shown with a complaint (see `posting`) also answer GET at this path. It then
    gets only those of its arguments that are `Annotated`, as for any route.
    """

    def decorate(page: _Page) -> _Page:
        def route(**given: Any) -> Response:
            return page(**given)

        own = inspect.signature(page, eval_str=True).parameters.values()
        kind = inspect.Parameter.KEYWORD_ONLY
        given = [each.replace(kind=kind) for each in own if get_origin(each.annotation) is Annotated]
        route.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
        router.get(path)(route)
        return page

    return decorate


def private(shared: Shared, name: str, visitor: Visit | None, complaint: Complaint | None, **values: Any) -> Response:
    content = render(shared, name, visit=visitor, complaint=complaint, **values)
    headers = {"Cache-Control": "no-store", **(complaint.headers if complaint else {})}
    return Response(content, complaint.status if complaint else 200, headers, "text/html")


def onward(path: str) -> Response:
    return RedirectResponse(path, 303, {"Cache-Control": "no-store"})


def local_path(path: str | None) -> str:
    """Return the path if it is on this site, or else the account's, because no link to us may lead people elsewhere."""
    if path is None or len(path) > MAX_NEXT:
        return HOME
    plain = path.isascii() and path.isprintable() and "\\" not in path
    return path if plain and path.startswith("/") and not path.startswith("//") else HOME


def _local_part(address: str) -> str:
    """Return the path and query of an address of this site."""
    parts = urlsplit(address)
    return local_path(f"{parts.path}?{parts.query}" if parts.query else parts.path)


def came_from(request: Request, shared: Shared) -> str | None:
    """Return the page from which the browser came, if on this site (a refused form's address takes only forms)."""
    address = request.headers.get("referer", "")
    try:
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(address))
        ours = sessions.is_own(origin, request, shared.settings)
    except ValueError:  # not an address
        return None
    asking = {"type": "http", "method": "GET", "path": urlsplit(address).path, "root_path": "", "headers": []}
    shown = ours and any(route.matches(asking)[0] is Match.FULL for route in request.app.routes)
    return _local_part(address) if shown else None


def _in_words(complaint: ErrorDetails) -> str:
    text = plainly(complaint)
    place = next((part + 1 for part in complaint["loc"][1:] if isinstance(part, int)), None)
    return text if place is None else _("Number %(place)s: %(text)s", place=place, text=text)


def _marked(error: errors.LeagueError) -> Fields:
    """Return the field to mark for a refusal, if it concerns a field."""
    match error:
        case errors.BadSetting():
            return {error.setting: SETTING.sub(_named, f"{error.why[:1].upper()}{error.why[1:]}.")}
        case errors.BadSeasonFile():
            marks: dict[str, str] = {}
            for mistake in error.mistakes:
                marks[mistake["path"]] = f"{marks.get(mistake['path'], '')} {mistake['why']}.".lstrip()
            return marks
        case errors.NotInvited(by_code=True):
            return {"code": _("Ask an organiser for it.")}
        case errors.NameTaken():
            return {"name": _("This name is already taken.")}
        case errors.BadUpload():
            return {"program": str(error)}
        case errors.NotAdmitted() | errors.WrongGame() | errors.WrongState():
            return {"season": str(error)}
        case _:
            return {}


SETTING = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
"""A word that may be the name of a setting."""


def _named(word: re.Match[str]) -> str:
    return setting_label(word[0]) if word[0] in TERMS else word[0]


def setting_label(name: str) -> str:
    """Return the name of a setting in forms, in quotation marks."""
    return f"\u201c{gettext(TERMS[name].setting.label)}\u201d"


def _typed(given: Fields) -> Fields:
    return {name: value for name, value in given.items() if "password" not in name}
