"""Strangers' archives: what is refused, and that unpacking never leaves its folder."""

import contextlib
import io
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.sandbox.archive import BadArchive, Bounds, extract_program, extract_upload, inspect_zip
from deadheat.sandbox.languages import LANGUAGES
from tests.hostile.making import MIB, ended, entry, member, overlapping, tarred, zipped

PYTHON = LANGUAGES["python"]


def inspect(data: bytes, bounds: Bounds | None = None) -> tuple[tuple[str, ...], str | None]:
    return inspect_zip(io.BytesIO(data), bounds or Bounds())


def refused(data: bytes, bounds: Bounds | None = None) -> str:
    with pytest.raises(BadArchive) as caught:
        inspect(data, bounds)
    assert caught.value.detail.endswith(".")
    return caught.value.reason


def test_a_plain_archive_is_listed_with_its_manifest() -> None:
    data = zipped(("main.py", b"print()"), ("lib/", b""), ("lib/a.py", b""), ("deadheat.toml", b'language = "python"'))
    assert inspect(data) == (("main.py", "lib/a.py", "deadheat.toml"), 'language = "python"')


UNSAFE = r"/etc/passwd ../main.py a/../../b a/./b a//b .. a\..\b \\host\share C:\x ./main.py"
FOOLING = ("a\nb", "a\x1bb", "a\x7fb", "\u202egnp.py", "a\u200bb", "x" * 256, "/".join("d" * 600), "")
NO_ZIP = (b"", b"PK", b"not a zip at all" * 100, b"PK\x05\x06", b"PK\x03\x04" + bytes(100), b"\x1f\x8b" + bytes(50))
RARE = (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
LONG = ("main.py", b"x" * 100)
BOTH = (("a", "a/b"), ("a/b", "a"), ("a/b/c", "a/b"))


def stored() -> bytes:
    return zipped(("main.py", b"print('hello')"), method=zipfile.ZIP_STORED)


def not_utf8() -> bytes:
    return zipped((entry("caf\u00e9.py"), b"x")).replace("caf\u00e9.py".encode(), b"caf\xe9\xe9.py")


REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    **{f"the path {name!r}": (partial(zipped, (entry(name), b"x")), "unsafe-path") for name in UNSAFE.split()},
    **{
        f"the name {name[:9]!r}": (partial(zipped, ("main.py", b""), (entry(name), b"x")), "bad-name")
        for name in FOOLING
    },
    **{f"{both}": (partial(zipped, *((name, b"x") for name in both)), "duplicate") for both in BOTH},
    **{f"no zip: {data[:9]!r}": (partial(bytes, data), "not-an-archive") for data in NO_ZIP},
    **{f"method {method}": (partial(zipped, LONG, method=method), "unsupported") for method in RARE},
    "a name that is not UTF-8": (not_utf8, "bad-name"),
    "a bomb, by its ratio": (lambda: zipped(("main.py", bytes(32 * MIB))), "bomb"),
    "a local header that says another name": (
        lambda: zipped(("main.py", b"x")).replace(b"main.py", b"../a.py", 1),
        "damaged",
    ),
    "a changed byte of content": (lambda: stored().replace(b"hello", b"jello"), "damaged"),
}
"""Functions that make an archive, so that collecting tests holds none, and why it is refused."""


@pytest.mark.parametrize(("make", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_with_an_archive_is_its_reason(make: Callable[[], bytes], reason: str) -> None:
    assert refused(make()) == reason


def test_a_name_with_a_nul_byte_is_refused() -> None:
    data = zipped(("mainXpy", b"x")).replace(b"mainXpy", b"main\0py")
    assert refused(data) in {"bad-name", "not-an-archive", "damaged"}


def test_names_in_other_scripts_are_fine() -> None:
    assert inspect(zipped(("main.py", b""), ("données/größe.txt", b"")))[0] == ("main.py", "données/größe.txt")


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (stat.S_IFLNK | 0o777, "link"),
        (stat.S_IFIFO | 0o644, "special-file"),
        (stat.S_IFCHR | 0o644, "special-file"),
        (stat.S_IFBLK | 0o644, "special-file"),
        (stat.S_IFSOCK | 0o644, "special-file"),
        (stat.S_IFDIR | 0o755, "special-file"),
    ],
)
@pytest.mark.parametrize("system", [3, 0])
def test_only_regular_files_are_taken(mode: int, reason: str, system: int) -> None:
    assert refused(zipped((entry("main.py", mode, system=system), b"/etc/passwd"))) == reason


def test_a_name_that_comes_twice_is_refused() -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zipped(("main.py", b"1"), ("main.py", b"2"))
    assert refused(data) == "duplicate"


def test_an_encrypted_entry_is_refused() -> None:
    data = bytearray(zipped(("main.py", b"x")))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + offset] |= 1
    assert refused(bytes(data)) == "encrypted"


def test_too_many_files_are_refused() -> None:
    data = zipped(*((f"f{number}", b"") for number in range(11)))
    assert refused(data, Bounds(files=10)) == "too-many-files" and len(inspect(data, Bounds(files=11))[0]) == 11


def test_a_huge_directory_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    data = zipped(*((f"f{number}", b"") for number in range(30_000)))
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("it was parsed"))
    assert refused(data) == "too-many-files"


def test_an_archive_that_unpacks_to_too_much_is_refused() -> None:
    data = zipped(("a", b"x" * 600), ("b", b"y" * 600), method=zipfile.ZIP_STORED)
    assert refused(data, Bounds(total_bytes=1199)) == "too-large"
    inspect(data, Bounds(total_bytes=1200))


def test_a_bomb_that_lies_about_its_size_is_not_unpacked_beyond_what_it_says() -> None:
    data = bytearray(zipped(("main.py", bytes(8 * MIB))))
    for magic, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<L", data, data.index(magic) + offset, 1000)
    assert refused(bytes(data)) == "damaged"


def test_entries_that_share_their_content_are_refused() -> None:
    one = zipped(("a", b"x" * 500_000))
    at, end = one.index(b"PK\x01\x02"), one.index(b"PK\x05\x06")
    assert refused(ended(one[:at], one[at:end] + one[at:end].replace(b"a", b"b"), 2)) == "bomb"


def test_entries_that_quote_the_headers_of_the_next_are_refused() -> None:
    data = overlapping((f"f{number}" for number in range(100)), b"print()\n" * 1000)
    assert len(data) < 20_000
    assert zipfile.ZipFile(io.BytesIO(data)).getinfo("f0").file_size > 8000
    assert refused(data) == "bomb"


def test_a_cut_archive_is_refused() -> None:
    data = zipped(("main.py", b"print()" * 100), method=zipfile.ZIP_STORED)
    assert refused(data[:-30]) == "not-an-archive"
    assert refused(data[:60] + data[300:]) in {"not-an-archive", "damaged"}


def test_an_archive_in_the_64_bit_format_is_refused() -> None:
    data = zipped(("main.py", b"x"))
    at = data.index(b"PK\x05\x06")
    assert refused(data[:at] + struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1) + data[at:]) == "not-an-archive"


@given(st.binary(max_size=400), st.integers(0, 400), st.binary(max_size=8))
def test_no_bytes_raise_anything_else(noise: bytes, at: int, patch: bytes) -> None:
    valid = zipped(("main.py", b"print()"), ("lib/a.py", b"x" * 50))
    for data in (noise, valid[:at] + patch + valid[at + len(patch) :], valid[:at] + patch + valid[at:]):
        try:
            names, _ = inspect(data)
        except BadArchive:
            continue
        assert all(not name.startswith("/") and ".." not in name.split("/") for name in names)


def test_an_upload_is_unpacked_as_it_was_inspected(tmp_path: Path) -> None:
    data = zipped(("main.py", b"1"), (entry("tools/run.sh", stat.S_IFREG | 0o755), b"2"), ("empty/", b""))
    extract_upload(data, "bot.zip", PYTHON, tmp_path / "sources")
    found = {path.relative_to(tmp_path / "sources").as_posix() for path in (tmp_path / "sources").rglob("*")}
    assert found == {"main.py", "tools", "tools/run.sh", "empty"}
    assert (tmp_path / "sources/tools/run.sh").stat().st_mode & 0o111
    assert not (tmp_path / "sources/main.py").stat().st_mode & 0o111


def test_a_single_file_is_stored_under_its_usual_name(tmp_path: Path) -> None:
    extract_upload(b"print()", "my-bot.py", PYTHON, tmp_path / "sources")
    assert [path.name for path in (tmp_path / "sources").iterdir()] == ["main.py"]


@pytest.mark.parametrize("bad", ["../evil", "/evil"])
def test_unpacking_looks_for_itself(tmp_path: Path, bad: str) -> None:
    with pytest.raises(BadArchive):
        extract_upload(zipped((entry(bad), b"x")), "bot.zip", PYTHON, tmp_path / "sources")
    assert not list((tmp_path / "sources").iterdir())
    assert not (tmp_path / "evil").exists()


def test_a_program_is_unpacked(tmp_path: Path) -> None:
    data = tarred(
        [
            (member("./", tarfile.DIRTYPE), b""),
            (member("./bot", mode=0o755), b"\x7fELF"),
            (member("./data/", tarfile.DIRTYPE), b""),
            (member("./data/weights.bin"), b"w" * 1000),
        ]
    )
    extract_program(data, tmp_path, 10_000)
    assert (tmp_path / "data/weights.bin").read_bytes() == b"w" * 1000
    assert (tmp_path / "bot").stat().st_mode & 0o111


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (member("link", tarfile.SYMTYPE, link="/etc/passwd"), "special-file"),
        (member("hard", tarfile.LNKTYPE, link="bot"), "special-file"),
        (member("fifo", tarfile.FIFOTYPE), "special-file"),
        (member("dev", tarfile.CHRTYPE), "special-file"),
        (member("../up"), "unsafe-path"),
        (member("/abs"), "unsafe-path"),
        (member("./a/../../up"), "unsafe-path"),
        (member("a\nb"), "bad-name"),
    ],
)
def test_a_program_holds_only_files_and_folders(tmp_path: Path, info: tarfile.TarInfo, reason: str) -> None:
    with pytest.raises(BadArchive) as caught:
        extract_program(tarred([(member("bot"), b"x"), (info, b"")]), tmp_path / "", 10_000)
    assert caught.value.reason == reason
    assert not list(tmp_path.iterdir()), "nothing is written before everything was looked at"


def test_a_link_then_a_file_through_it_writes_nothing_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    data = tarred([(member("d", tarfile.SYMTYPE, link=str(outside)), b""), (member("d/evil"), b"x")])
    with pytest.raises(BadArchive):
        extract_program(data, inside, 10_000)
    assert not list(outside.iterdir())


def test_a_program_has_a_largest_size(tmp_path: Path) -> None:
    data = tarred([(member("a"), b"x" * 600), (member("b"), b"x" * 600)])
    with pytest.raises(BadArchive, match="more than 1199 bytes"):
        extract_program(data, tmp_path, 1199)
    extract_program(data, tmp_path, 1200)


@pytest.mark.parametrize("data", [b"", b"x" * 1024, b"\x1f\x8b" + bytes(600)])
def test_what_is_no_tar_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadArchive, match="Not a readable tar"):
        extract_program(data, tmp_path, 10_000)
    assert not list(tmp_path.iterdir())


@given(st.integers(0, 3000), st.binary(max_size=20))
def test_no_tar_raises_anything_else(tmp_path_factory: pytest.TempPathFactory, at: int, patch: bytes) -> None:
    valid = tarred([(member("bot"), b"x" * 700), (member("data/w"), b"y" * 700)])
    folder = tmp_path_factory.mktemp("program")
    with contextlib.suppress(BadArchive):
        extract_program(valid[:at] + patch + valid[at + len(patch) :], folder, 10_000)
