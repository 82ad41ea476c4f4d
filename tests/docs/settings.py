"""Write what pages repeat from the code:

    python -m tests.docs.settings

writes every setting from league/config.py to docs/operators.md and deploy/env.example, and from league/states.py a
season's states to docs/export.md and the commands that lead to them to docs/client.md.
"""

import re
from pathlib import Path

from deadheat.league.config import Settings
from deadheat.league.states import SEASON_STEPS, SeasonState
from tests.cli.command import ROOT

PAGE = ROOT / "docs" / "operators.md"
EXPORT = ROOT / "docs" / "export.md"
CLIENT = ROOT / "docs" / "client.md"
EXAMPLE = ROOT / "deploy" / "env.example"
HEAD = "| setting | default | what it is |\n|---|---|---|\n"


def states() -> str:
    """Return a season's states as the table of its export lists them."""
    return f"| `state` | {', '.join(f'`{state}`' for state in SeasonState)} |\n"


def steps() -> str:
    """Return the commands that move a season to another state, in their order."""
    return ", ".join(f"`season {step.command}`" for step in SEASON_STEPS.values())


def table() -> str:
    """Return a table of all settings: variable, default and description."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default in {None, ""} else f"`{field.default}`"
        rows.append(f"| `DEADHEAT_{name.upper()}` | {default} | {field.description} |\n")
    return HEAD + "".join(rows)


def example(text: str) -> str:
    """Return an updated env.example: headings stay, and a new setting follows the one before it."""
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


def rewrite(page: Path, old: str, new: str) -> None:
    """Replace what the pattern `old` finds once on a page."""
    text, found = re.subn(old, lambda _: new, page.read_text(encoding="utf-8"))
    assert found == 1, f"{page} has {old} {found} times"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    rewrite(PAGE, re.escape(HEAD) + r"(\|.*\n)*", table())
    rewrite(EXPORT, r"\| `state` \| `scheduled`, `open`.*\n", states())
    rewrite(CLIENT, r"`season open`.*`season close`", steps())
    EXAMPLE.write_text(example(EXAMPLE.read_text(encoding="utf-8")), encoding="utf-8")
