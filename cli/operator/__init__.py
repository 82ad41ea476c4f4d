"""Commands for operators on a machine of the deployment.

A command imports the server's packages when it runs, so an author's install, which lacks them, still has the help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deadheat.league.config import Settings


def read_settings() -> Settings:
    from deadheat.league.config import Settings

    return Settings()
