"""Makes the tree that bots play in, /play, out of the judge image's own files:  play.py PACKAGE...

Run inside the new image. The tree has the files of these packages and of those that they depend on, as hard links, so
it adds nothing to the image; whoever keeps it in memory pays for what is played with and not for compilers.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

PLAY = Path("/play")
NOT_TO_PLAY = {
    "binutils",
    "ca-certificates",
    "ca-certificates-java",
    "coreutils",
    "debconf",
    "dpkg",
    "fontconfig-config",
}
NOT_TO_PLAY |= {
    "libasound2",
    "libcups2",
    "libpcsclite1",
    "openssl",
    "perl-base",
    "ucf",
    "util-linux",
    "util-linux-extra",
}
"""Packages that others want while they are installed, or for what nobody can do without a network."""
NOT_READ = ("/usr/share/doc", "/usr/share/lintian", "/usr/share/locale", "/usr/share/man", "/usr/share/applications")
MADE = ("/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/alternatives")
"""Files that no package owns: they came with installing."""
PLACES = {"tmp": 0o1777, "bot": 0o755, "proc": 0o755, "sys": 0o755, "dev": 0o755}
DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}


def installed() -> dict[str, set[str]]:
    """What each installed package depends on; of alternatives all that are there."""
    rows = _query("-f", "${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n", "-W").splitlines()
    split = [row.split("\t") for row in rows]
    owners: dict[str, set[str]] = {}
    for name, provides, _ in split:
        for word in {name, *_names(provides)}:
            owners.setdefault(word, set()).add(name)
    return {name: {owner for word in _names(needs) for owner in owners.get(word, ())} for name, _, needs in split}


def _names(field: str) -> set[str]:
    words = (re.match(r"[a-z0-9.+-]+", word.strip()) for word in re.split(r"[,|]", field))
    return {word[0] for word in words if word}


def _query(*arguments: str) -> str:
    return subprocess.run(["dpkg-query", *arguments], check=True, capture_output=True, text=True).stdout


def closure(wanted: set[str], needs: dict[str, set[str]]) -> set[str]:
    """These packages and all that they need."""
    found: set[str] = set()
    while wanted:
        found |= wanted
        wanted = {name for package in wanted for name in needs[package]} - found - NOT_TO_PLAY
    return found


def paths(package: str) -> set[Path]:
    """Where the package's files really are: /lib may be a link to /usr/lib."""
    listed = [Path(line) for line in _query("-L", package).splitlines() if line.startswith("/") and line != "/."]
    return {Path(os.path.realpath(path.parent), path.name) for path in listed}


def place(path: Path) -> None:
    """Link one file into the tree, with the folders above it."""
    target = PLAY / path.relative_to("/")
    if str(path).startswith(NOT_READ) or not os.path.lexists(path) or os.path.lexists(target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        target.symlink_to(path.readlink())
    elif path.is_dir():
        target.mkdir()
    else:
        os.link(path, target)


def place_made(folders: set[Path], owned: set[Path]) -> None:
    """Link what installing made in folders that are played with: compiled modules, archives of classes."""
    for folder in folders:
        for entry in folder.iterdir():
            if entry not in owned:
                for path in [entry, *(entry.rglob("*") if entry.is_dir() and not entry.is_symlink() else ())]:
                    place(path)


def place_links() -> None:
    """Link the commands that are chosen by /etc/alternatives and are there, and drop the choices that are not."""
    for link in Path("/usr/bin").iterdir():
        chosen = link.is_symlink() and str(link.readlink()).startswith("/etc/alternatives/")
        if chosen and (PLAY / Path(os.path.realpath(link)).relative_to("/")).exists():
            place(link)
    for choice in (PLAY / "etc/alternatives").iterdir():
        if not (PLAY / Path(os.path.realpath(choice)).relative_to("/")).exists():
            choice.unlink()


def main() -> None:
    """See the top of this file."""
    needs = installed()
    played = closure(set(sys.argv[1:]), needs)
    owned = {name: paths(name) for name in needs}
    mine: set[Path] = set().union(*(owned[name] for name in played))
    others: set[Path] = set().union(*(owned[name] for name in needs if name not in played))
    shutil.rmtree(PLAY, ignore_errors=True)
    PLAY.mkdir()
    for path in sorted(mine):
        place(path)
    folders = {path for path in mine - others if path.is_dir() and not path.is_symlink()}
    place_made(folders, mine | others)
    for made in map(Path, MADE):
        place(made)
    for choice in Path("/etc/alternatives").iterdir():
        place(choice)
    place_links()
    for top in Path("/").iterdir():
        if top.is_symlink():
            place(top)
    for name, mode in PLACES.items():
        (PLAY / name).mkdir(exist_ok=True)
        (PLAY / name).chmod(mode)
    for name, numbers in DEVICES.items():
        os.mknod(PLAY / "dev" / name, stat.S_IFCHR, os.makedev(*numbers))
        (PLAY / "dev" / name).chmod(0o666)
    sys.stdout.write(f"/play has {', '.join(sorted(played))}\n")


main()
