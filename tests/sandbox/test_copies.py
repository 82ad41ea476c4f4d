"""A plain bot finds its folder as it was built, in every match."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.sandbox import copies
from deadheat.sandbox.box import Limits, Program
from deadheat.sandbox.copies import Copies, Copy
from deadheat.sandbox.local import LocalSandbox
from tests.sandbox.boxes import asker, stop

REMEMBERS = """
import os
input()
try:
    open("seen", "a").write("x")
    os.chmod("main.py", 0o600)
    open("main.py", "a").write("#")
    os.mkdir("new")
except PermissionError: print("read-only", flush=True)
else: print(open("seen").read(), open("main.py").read(), flush=True)
"""


def program(folder: Path) -> Program:
    folder.mkdir()
    (folder / "main.py").write_text("built")
    (folder / "parts").mkdir()
    (folder / "parts" / "weights").write_text("1")
    return Program(folder, (sys.executable, "-ISc", REMEMBERS), "test")


def test_what_a_bot_writes_is_gone_in_its_next_match(tmp_path: Path) -> None:
    bot = program(tmp_path / "built")
    with closing(LocalSandbox(tmp_path / "copies").open(bot, Limits())) as box:
        for _ in range(3):
            assert asker(box)("GO").line == ("x built#" if os.geteuid() == 0 else "read-only")
            stop(box)
    assert sorted(path.name for path in bot.directory.rglob("*")) == ["main.py", "parts", "weights"]
    assert (bot.directory / "main.py").read_text() == "built"


def test_an_ordinary_users_bot_cannot_write_to_its_folder(tmp_path: Path) -> None:
    ordinary = ["setpriv", "--reuid=65534"] if os.geteuid() == 0 else []
    bot, place = program(tmp_path / "built"), tmp_path / "copies"
    copy = Copy(bot.directory, place)
    folder = copy.fresh()
    for path in (tmp_path, *tmp_path.parents)[:-2]:
        path.chmod(path.stat().st_mode | 0o055)
    folder.parent.chmod(0o755)
    for command in ("touch new", "touch parts/new", "rm main.py", "echo x >parts/weights"):
        done = subprocess.run([*ordinary, "sh", "-c", command], check=False, cwd=folder, capture_output=True)
        assert done.returncode != 0 and b"ermission denied" in done.stderr, command
    assert copy.fresh() == folder, "nothing has changed"
    copy.close()
    assert not folder.parent.exists()


@pytest.mark.parametrize(
    "damage",
    ["rm -r parts", "echo 2 >parts/weights", "touch parts/new", "chmod 777 main.py", "ln -s / parts/root", "rm -r ."],
)
def test_a_copy_that_was_changed_is_made_anew(damage: str, tmp_path: Path) -> None:
    copy = Copy(program(tmp_path / "built").directory, tmp_path / "copies")
    folder = copy.fresh()
    folder.parent.chmod(0o755)
    subprocess.run(
        ["sh", "-c", f"chmod -R u+w .; {damage.replace('rm -r .', f'rm -r {folder}')}"], cwd=folder, check=True
    )
    new = copy.fresh()
    assert (new / "parts" / "weights").read_text() == "1" and not (new / "parts" / "new").exists()
    assert [path.name for path in (tmp_path / "copies").iterdir()] == [new.parent.name], "the old one is gone"


def test_copies_serve_the_next_box_of_the_same_program_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST_KEPT", 2)
    kept, folders = Copies(tmp_path / "copies"), [program(tmp_path / str(n)).directory for n in range(3)]
    mine, other = kept.take(folders[0]), kept.take(folders[0])
    assert mine.fresh() != other.fresh(), "two seats never share a folder"
    kept.give_back(mine)
    assert kept.take(folders[1]) is not mine
    assert kept.take(folders[0]) is mine
    for copy in (mine, other, kept.take(folders[2])):
        copy.fresh()
        kept.give_back(copy)
    assert len([*(tmp_path / "copies").iterdir()]) == 2, "the oldest is removed"
    shutil.rmtree(tmp_path / "copies")
