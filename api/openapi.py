"""The OpenAPI document, which describes every error as a problem document."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from deadheat.api.edge.rates import FREE
from deadheat.api.errors import PROBLEM
from deadheat.api.schemas.base import Problem

_REF = "#/components/schemas/Problem"
LIST = re.compile(r"(?:Items|Paged)[_[](\w+?)[]_]")
"""The framework's name of a list, which is replaced by the plural of its items: `Items[Bot]` is Bots."""

OVER = "Over a limit; Retry-After says how many seconds to wait"


def install(app: FastAPI) -> None:
    """Make `app.openapi` return our version of the document."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the way the framework documents


def _document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    document: dict[str, Any] = json.loads(LIST.sub(r"\1s", json.dumps(made)))
    schemas = document["components"]["schemas"]
    assert len(schemas) == len(made["components"]["schemas"]), "two lists have one name"
    schemas["Problem"] = Problem.model_json_schema()
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if not path.startswith(FREE):
                operation["responses"].setdefault("429", {"description": OVER})
            if "application/json" in operation.get("requestBody", {}).get("content", {}):
                operation["responses"].setdefault("400", {"description": "The body is not JSON"})
            for status, response in operation["responses"].items():
                if status.isdigit() and int(status) >= 400 and "model" not in response and status != "503":
                    response["content"] = {PROBLEM: {"schema": {"$ref": _REF}}}
                    response["description"] = response.get("description") or HTTPStatus(int(status)).phrase
    return document
