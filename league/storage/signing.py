"""Signatures of back-ups, so that nobody who can write to their folder can make a restore accept what they like.

A signature is the HMAC-SHA256 of the manifest, which names everything else by its hash. The key is a setting, or a file
in the data directory that the first back-up makes. It is in no back-up.
"""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from deadheat.league.config import Settings

SIGNATURE, KEY_FILE = "signature", "backup.key"


def sign(settings: Settings, manifest: Path) -> Path:
    """Write the manifest's signature beside it, and return its path."""
    signature = manifest.with_name(SIGNATURE)
    signature.write_text(_signature(_key(settings) or _made(settings), manifest) + "\n", "ascii")
    return signature


def doubt(settings: Settings, manifest: Path) -> tuple[str, bool]:
    """Return why it is not certain that our key signed this manifest ("": it is), and whether we have a key at all."""
    key = _key(settings)
    try:
        found = manifest.with_name(SIGNATURE).read_text("ascii").strip()
    except FileNotFoundError:
        return "It has no signature: an older version made it, or somebody removed the signature.", key is not None
    if key is None:
        return "Its signature cannot be checked, because the key is missing: anybody may have changed it.", False
    right = hmac.compare_digest(_signature(key, manifest).encode(), found.encode())
    return "" if right else "Its signature is wrong: it was changed, or another key signed it.", True


def _signature(key: bytes, manifest: Path) -> str:
    return hmac.digest(key, manifest.read_bytes(), "sha256").hex()


def _key(settings: Settings) -> bytes | None:
    file = settings.data_dir / KEY_FILE
    text = settings.backup_key or (file.read_text("ascii").strip() if file.exists() else "")
    return text.encode() or None


def _made(settings: Settings) -> bytes:
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = secrets.token_hex(32)
    with open(settings.data_dir / KEY_FILE, "x", opener=lambda path, how: os.open(path, how, 0o600)) as file:
        file.write(key + "\n")
    return key.encode()
