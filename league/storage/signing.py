"""Signatures of back-ups, so that nobody who can write to their folder can make a restore accept what they like.

A signature is the HMAC-SHA256 of the manifest, which names everything else by its hash. The key is a setting, or a file
in the data directory that the first back-up makes. It is in no back-up.
"""

import hmac
import os
import secrets
from pathlib import Path

from deadheat.league.config import Settings

SIGNATURE, KEY_FILE = "signature", "backup.key"


def sign(settings: Settings, manifest: Path) -> Path:
    """Write the manifest's signature beside it, and return its path. Without a key, make one."""
    if not (key := key_of(settings)):
        key = secrets.token_hex(32)
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        private = os.open(settings.data_dir / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(private, "w") as file:
            file.write(key)
    signature = manifest.with_name(SIGNATURE)
    signature.write_text(_signature(key, manifest.read_bytes()), "ascii")
    return signature


def doubt(settings: Settings, signature: Path, manifest: bytes) -> str:
    """Return why it is not certain that our key signed this manifest; "" if it did."""
    key = key_of(settings)
    if not signature.exists():
        return "It has no signature: an older version made it, or somebody removed the signature."
    if not key:
        return "Its signature cannot be checked, because the key is missing: anybody may have changed it."
    if not hmac.compare_digest(signature.read_bytes(), _signature(key, manifest).encode()):
        return "Its signature is wrong: it was changed, or another key signed it."
    return ""


def key_of(settings: Settings) -> str:
    """Return the key; "" if there is none."""
    file = settings.data_dir / KEY_FILE
    return settings.backup_key or (file.read_text("ascii") if file.exists() else "")


def _signature(key: str, manifest: bytes) -> str:
    return hmac.digest(key.encode(), manifest, "sha256").hex()
