"""Look for known vulnerabilities in the locked packages:  python -m tests.security.audit [LOCK]

pip-audit asks a service that knows them. If that cannot be reached, or is a mirror that knows packages but no
vulnerabilities, pip-audit still succeeds and says "No known vulnerabilities found". So only its list counts here: a
package that it passed over was not checked. Then this says NOT CHECKED, in capitals, and has an exit code of its own.
With DEADHEAT_AUDIT=required that is a failure; otherwise it is not, because formatting a file needs no service.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).parents[2] / "requirements-dev.lock"
"""The development lock contains everything in the runtime lock, at the same versions."""

NOT_CHECKED = 3
SECONDS = 300
LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def locked(text: str) -> set[str]:
    return {_plain(name) for name, _ in LOCKED.findall(text)}


def verdict(report: str, wanted: set[str]) -> tuple[bool | None, str]:
    """Return whether the wanted packages are free of known vulnerabilities (None: unknown), and a text about it."""
    try:
        found = json.loads(report)["dependencies"]
        holes = [
            f"  {package['name']} {package['version']}: {hole['id']}, mended in {hole['fix_versions']}"
            for package in found
            for hole in package.get("vulns", ())
        ]
        looked_at = {_plain(package["name"]) for package in found if "vulns" in package}
    except (ValueError, KeyError, TypeError):
        holes, looked_at = [], set()
    if holes:
        return False, "Known vulnerabilities in what is locked:\n" + "\n".join(holes)
    missed = wanted - looked_at
    if missed or not wanted:
        which = "none of them" if not looked_at & wanted else f"all but {len(missed)} of them"
        return None, f"DEPENDENCIES NOT CHECKED for known vulnerabilities: {which} could be asked about from here."
    return True, f"No known vulnerability in {len(wanted)} packages."


def main(lock: Path = LOCK) -> int:
    """Return 0 if none is known, 1 if one is or a required check was impossible, else `NOT_CHECKED`."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(lock), "--disable-pip", "--require-hashes"]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", "5"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        report, why = done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        report, why = "", f"no answer within {SECONDS} s"
    good, text = verdict(report, locked(lock.read_text(encoding="utf-8")))
    print(text, file=sys.stdout if good else sys.stderr)
    if good is None and why:
        print(f"  pip-audit: {why.strip().splitlines()[-1][:300]}", file=sys.stderr)
    if good is None and os.environ.get("DEADHEAT_AUDIT") != "required":
        return NOT_CHECKED
    return 0 if good else 1


def _plain(name: str) -> str:
    """Normalise a name for comparison (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
