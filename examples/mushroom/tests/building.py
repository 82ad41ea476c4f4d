"""The package as it is built and installed, and the surroundings of a process that finds it there."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def install(folder: Path) -> tuple[Path, list[str]]:
    """Build the wheel and unpack it into a folder, with the tools that are here: nothing is downloaded. Return where
    its modules are, and the names in the wheel.
    """
    subprocess.run(
        [*PIP, "wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder, PACKAGE], check=True
    )
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*PIP, "install", "--no-deps", "--no-index", "--target", folder / "site", wheel], check=True)
    return folder / "site", zipfile.ZipFile(wheel).namelist()


def around(site: Path, home: Path) -> dict[str, str]:
    """Return the variables of a process beside which the package is installed, and nothing else of it can be found."""
    locks = home / "locks"
    locks.mkdir(exist_ok=True)
    beside = [path for path in sys.path if path and not Path(path).is_relative_to(PACKAGE)]
    return {
        "PYTHONPATH": ":".join([str(site), *beside]),
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "DEADHEAT_LOCK_DIR": str(locks),
        "TMPDIR": str(locks),
    }
