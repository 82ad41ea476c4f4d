"""Functions of scripts/lib.sh, with stubs for the machine's commands."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

LIB = Path(__file__).resolve().parents[2] / "scripts" / "lib.sh"
NEEDED = "this kernel has AppArmor, and without its parser no container starts: apparmor\n"


def run(tmp_path: Path, script: str) -> str:
    """Return the script's output; its path is `tmp_path`, with `cat` and `dirname`."""
    (tmp_path / "cat").symlink_to("/bin/cat")
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    stub = 'need_packages() { echo "$1: ${*:2}"; return 1; }'
    return subprocess.run(
        ["/bin/bash", "-euc", f"source {LIB}; {stub}; apparmor_enabled={tmp_path}/enabled; {script}; echo on"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize(
    ("enabled", "parser", "said"), [("Y\n", False, NEEDED), ("Y\n", True, ""), ("N\n", False, ""), (None, False, "")]
)
def test_the_parser_of_apparmor_is_installed_where_the_kernel_has_it_and_nothing_else_has(
    enabled: str | None, parser: bool, said: str, tmp_path: Path
) -> None:
    if enabled is not None:
        (tmp_path / "enabled").write_text(enabled)
    if parser:
        (tmp_path / "apparmor_parser").symlink_to("/bin/true")
    assert run(tmp_path, "need_apparmor_parser") == f"{said}on\n"
    (tmp_path / "cat").unlink()
    (tmp_path / "dirname").unlink()
    stubs = "id() { echo 0; }; engine_answers() { true; }; start_engine() { exit 9; }"
    assert said in run(tmp_path, f"{stubs}; root=/nowhere; ready_engine || true"), "an engine that answers is no excuse"
