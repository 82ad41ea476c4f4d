"""The logins that `deadheat login` remembers: server and token by name, in the platform's usual place for settings.

Only the owner can read the file (mode 0600), and it is replaced as a whole, so no reader sees half of it. A token
belongs to the server that issued it: `cli.server.client` sends it nowhere else, whatever --server says.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_config_path
from pydantic import BaseModel, ConfigDict, ValidationError

DEFAULT_PROFILE = "default"
MAX_BYTES = 1024 * 1024


class Profile(BaseModel):
    """One login at a server."""

    model_config = ConfigDict(frozen=True)

    server: str
    name: str
    token: str
    token_id: int | None = None
    """The id by which to revoke the token; None: it was made elsewhere."""


class _File(BaseModel):
    profiles: dict[str, Profile] = {}


class BadProfiles(Exception):
    """The file cannot be used; the text says which and why."""


def path() -> Path:
    """Return where the file is or would be: on Linux below $XDG_CONFIG_HOME, else ~/.config."""
    return user_config_path("deadheat", appauthor=False) / "profiles.json"


def load() -> Mapping[str, Profile]:
    """Return all logins by name; none if there is no file.

    Raises:
        BadProfiles.
    """
    try:
        with path().open("rb") as stream:
            content = stream.read(MAX_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadProfiles(f"cannot read {path()}: {error.strerror}") from error
    try:
        return _File.model_validate_json(content).profiles
    except ValidationError as error:
        raise BadProfiles(f"{path()} is damaged; delete it and log in again") from error


def save(name: str, profile: Profile | None) -> None:
    """Save a login under a name, or with None delete it.

    Raises:
        BadProfiles.
    """
    profiles = {key: value for key, value in load().items() if key != name}
    if profile is not None:
        profiles[name] = profile
    content = _File(profiles=profiles).model_dump_json(indent=2).encode()
    partial = path().with_suffix(f".{secrets.token_hex(4)}")
    try:
        path().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content + b"\n")
        partial.replace(path())
    except OSError as error:
        raise BadProfiles(f"cannot write {path()}: {error.strerror}") from error
