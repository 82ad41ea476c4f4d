"""The logins that `deadheat login` remembers: server and token by name, in the platform's usual place for settings.

Only the owner can read the file (mode 0600), and it is replaced as a whole, so no reader sees half of it. A token
belongs to the server that issued it: `cli.server.client` sends it nowhere else, whatever --server says.
"""

import os
import secrets
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

import typer

DEFAULT_PROFILE = "default"
MAX_BYTES = 1024 * 1024

chosen = ContextVar("profile", default=DEFAULT_PROFILE)


@dataclass(frozen=True, slots=True)
class Profile:
    server: str
    name: str
    token: str
    token_id: int | None = None
    """The id with which to revoke the token; None: it was created elsewhere."""


@dataclass(frozen=True, slots=True)
class _File:
    profiles: dict[str, Profile] = field(default_factory=dict)


class BadProfiles(Exception):
    """The file is unusable; the text names it and says why."""


def path() -> Path:
    """Return the path of the file, which may not exist: on Linux below $XDG_CONFIG_HOME if that is an absolute path, as
    its specification demands, else ~/.config.
    """
    if sys.platform != "linux":
        return Path(typer.get_app_dir("deadheat")) / "profiles.json"
    named = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  pathlib's raises for a user without a home
    return (named if named.is_absolute() else home / ".config") / "deadheat" / "profiles.json"


def load() -> Mapping[str, Profile]:
    """Return all logins by name, or none if there is no file. Raises BadProfiles."""
    from pydantic import TypeAdapter, ValidationError

    try:
        with path().open("rb") as stream:
            content = stream.read(MAX_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadProfiles(f"cannot read {path()}: {error.strerror}") from error
    try:
        return TypeAdapter(_File).validate_json(content).profiles
    except ValidationError as error:
        raise BadProfiles(f"{path()} is damaged; delete it and log in again") from error


def save(name: str, profile: Profile | None) -> None:
    """Save a login under a name, or delete it if None. Raises BadProfiles."""
    from pydantic import TypeAdapter

    profiles = {key: value for key, value in load().items() if key != name}
    if profile is not None:
        profiles[name] = profile
    content = TypeAdapter(_File).dump_json(_File(profiles), indent=2)
    if len(content) >= MAX_BYTES:  # `load` would not read it
        raise BadProfiles(f"cannot write {path()}: this login is too large")
    partial = path().with_suffix(f".{secrets.token_hex(4)}")
    try:
        path().parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content + b"\n")
        partial.replace(path())
    except OSError as error:
        raise BadProfiles(f"cannot write {path()}: {error.strerror}") from error
