"""Every operation of the OpenAPI document, requested with what its schemas allow and with what they forbid.

schemathesis makes up the values; the answer must be what the document says: a status that it names, a body of its
shape, a refusal of what its schemas forbid, and never an error of ours, on both databases. The short lane tries two
examples of each on SQLite; `--all` four, and the edges of every schema, which are ten times as many; `./scripts/fuzz`
hundreds.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
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
from tests.league.conftest import DATABASES, postgres_url
from tests.security.planted import BY_RANK, PlantedLeague

__all__ = ["postgres_url"]

FUZZING = "DEADHEAT_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("DEADHEAT_EXAMPLES") or scaled(4, 2))

GOOD = ["2xx", "3xx", "401", "403", "404", "409", "429"]
"""Statuses for a request that its schema allows: success, or a refusal for now, of this person or of this object."""

MATCHES = "GET /v1/matches"
RULING = "POST /v1/appeals/{appeal_id}/ruling"

MAY_REFUSE = {
    # A schema cannot say rules between fields (dates in order, bounds of a test, sizes that fit the game, rounds of a
    # Swiss), which games, languages and moves are there, or dates that no clock will reach. A season's file is TOML.
    "422": [
        "POST /v1/seasons",
        "POST /v1/season-files",
        "PUT /v1/seasons/{season_id}/file",
        "PATCH /v1/seasons/{season_id}",
        "POST /v1/bots/{bot_id}/versions",
        "POST /v1/challenges",
        "POST /v1/seasons/{season_id}/evaluations",
        "POST /v1/tables",
        "POST /v1/tables/{table_id}/turns/{turn}",
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


_leagues: list[PlantedLeague] = []


def league() -> PlantedLeague:
    return _leagues[-1]


@pytest.fixture(autouse=True, scope="module", params=DATABASES)
def planted_league(request: pytest.FixtureRequest) -> Iterator[None]:
    folder = Path(tempfile.mkdtemp(prefix="deadheat-fuzz-"))
    _leagues.append(PlantedLeague(folder, "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")))
    yield
    _leagues.pop().close()
    shutil.rmtree(folder)


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
schema.app = asked  # loading the schema from it would start a thread, which copies of this process would lack


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
