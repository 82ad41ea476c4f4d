"""Every setting in docs/operators.md and deploy/env.example, from league/config.py:  python -m tests.docs.settings"""

from __future__ import annotations

import re

from deadheat.league.config import Settings
from tests.cli.command import ROOT

PAGE = ROOT / "docs" / "operators.md"
EXAMPLE = ROOT / "deploy" / "env.example"
HEAD = "| setting | default | what it is |\n|---|---|---|\n"


def table() -> str:
    """Return a table of all settings: variable, default and description."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default in {None, ""} else f"`{field.default}`"
        rows.append(f"| `DEADHEAT_{name.upper()}` | {default} | {field.description} |\n")
    return HEAD + "".join(rows)


def example(text: str) -> str:
    """Return the example brought up to date: headings stay, and a new setting follows the one before it."""
    parts = text.rstrip("\n").split("\n\n")
    place = 0
    for name, field in Settings.model_fields.items():
        line = f"#DEADHEAT_{name.upper()}="
        here = [number for number, part in enumerate(parts) if f"\n{line}" in part]
        if not here:
            parts.insert(place + 1, "")
        place = here[0] if here else place + 1
        parts[place] = f"# {field.description}\n{line}{'' if field.default is None else field.default}"
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: table(), text), encoding="utf-8")
    EXAMPLE.write_text(example(EXAMPLE.read_text(encoding="utf-8")), encoding="utf-8")
