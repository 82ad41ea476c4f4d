"""The table of settings in docs/operators.md, made from league/config.py:  python -m tests.docs.settings"""

from __future__ import annotations

import re

from league.config import Settings
from tests.cli.command import ROOT

PAGE = ROOT / "docs" / "operators.md"
HEAD = "| setting | default | what it is |\n|---|---|---|\n"


def table() -> str:
    """Every setting: its variable, its default, what the code says about it."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default in {None, ""} else f"`{field.default}`"
        rows.append(f"| `DEADHEAT_{name.upper()}` | {default} | {field.description} |\n")
    return HEAD + "".join(rows)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: table(), text), encoding="utf-8")
