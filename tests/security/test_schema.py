"""Every operation of the OpenAPI document, requested with what its schemas allow and with what they do not.

schemathesis makes up the values; the answer must be what the document says: a status that it names, a body of its
shape, a refusal of what its schemas forbid, and never an error of ours. Two examples each in the short lane; with
`--all` four, and the edges of every schema, which are ten times as many; hundreds by `./scripts/fuzz`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from starlette.types import Receive, Scope, Send

from deadheat.api.app import create_app
from deadheat.league.config import Settings
from tests.api.site import NotedQueue
from tests.lanes import Lane, scaled
from tests.security.planted import BY_RANK, PlantedLeague

FUZZING = "DEADHEAT_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("DEADHEAT_EXAMPLES") or scaled(4, 2))

GOOD = ["2xx", "3xx", "401", "403", "404", "409", "429"]
"""Answers to a request that its schema allows: success, or a refusal for now, of this person or of this object."""

MATCHES = "GET /v1/matches"
RULING = "POST /v1/appeals/{appeal_id}/ruling"

MAY_REFUSE = {
    # No schema can state rules between fields (dates in order, bounds of a test, sizes that fit the game, rounds of a
    # Swiss), which games and languages are there, or dates that no clock will tell. A season's file is TOML.
    "422": [
        "POST /v1/seasons",
        "POST /v1/season-files",
        "PUT /v1/seasons/{season_id}/file",
        "PATCH /v1/seasons/{season_id}",
        "POST /v1/bots/{bot_id}/versions",
        "POST /v1/challenges",
        "POST /v1/seasons/{season_id}/evaluations",
        RULING,
        MATCHES,
    ]
}

CONFIG: dict[str, Any] = {
    "phases": {"coverage": {"enabled": FUZZING or Lane.everything}},
    "checks": {"positive_data_acceptance": {"expected-statuses": GOOD}},
    "operations": [
        {
            "include-name": name,
            "checks": {
                "positive_data_acceptance": {
                    "expected-statuses": [*GOOD, *(status for status, names in MAY_REFUSE.items() if name in names)]
                }
            },
        }
        for name in sorted({name for names in MAY_REFUSE.values() for name in names})
    ],
}


@cache
def league() -> PlantedLeague:
    return PlantedLeague(Path(tempfile.mkdtemp(prefix="deadheat-fuzz-")))


@pytest.fixture(autouse=True, scope="module")
def nothing_left() -> Iterator[None]:
    yield
    league().close()
    shutil.rmtree(league().folder)


@pytest.fixture(autouse=True)
def as_it_was() -> None:
    """Restore the league before each operation."""
    league().restore()
    asked.app = league().site.app


class Asked:
    """Passes requests to the league's application, once there is one."""

    app: FastAPI

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


def document() -> dict[str, Any]:
    """Return the document of an application without a league: pytest needs it to collect the tests."""
    nowhere = Settings(database_url="postgresql:///nowhere", blob_url="memory:///")
    return create_app(nowhere, queue=NotedQueue()).openapi()


asked = Asked()
schema = schemathesis.openapi.from_dict(document(), config=schemathesis.Config.from_dict(CONFIG))
schema.app = asked  # loading it from there would start a thread, and copies of this process have none of its threads


@pytest.mark.parametrize("role", [*BY_RANK, "owner"])
@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not FUZZING,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_an_operation_keeps_to_its_description(case: Case[Any], role: str) -> None:
    case.call_and_validate(headers=league().tokens[role])
