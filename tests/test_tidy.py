"""Conventions that a machine can check; each failure names its place as file:line."""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("api", "cli", "engine", "games", "league", "sandbox", "training", "workers")
FUNCTION_LINES = 60  # the damage of long functions is always in the tail, and in the most important place
FOLDER_MODULES = 20

ANYTHING = frozenset({*PACKAGES, "tests"})
PURE = frozenset({"sandbox.archive", "sandbox.attribution", "sandbox.box", "sandbox.images", "sandbox.languages"})
"""Modules that start nothing and touch no engine."""

MAY_IMPORT = {
    "engine": frozenset({"engine"}),
    "games": frozenset({"games", "engine", "cli.console", "cli.replays.pages", "training.view"}),
    "sandbox": frozenset({"sandbox", "engine"}),
    "league": frozenset({"league", "engine", *PURE}),
    "training": frozenset({"training", "engine"}),
    "workers": frozenset({"workers", "sandbox", "league", "engine"}),
    "api": frozenset({"api", "league", "engine", "workers.broker.queue", *PURE}),
    "cli": ANYTHING - {"tests", "games"},
    "tests": ANYTHING,
}
NOT_IN_ENGINE = frozenset({"asyncio", "os", "select", "socket", "subprocess", "threading", "time"})
"""Modules that would tie a match to the machine that re-simulates it."""

DOCUMENTS = (
    *(ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef),
    *(ast.Assign, ast.AnnAssign, ast.AugAssign),
)
"""The statements that a string alone may document."""

OF_FEWER = frozenset({"terminal.py", "training.py"})
"""Modules of a game that not every process imports; the others are its rules and their descriptions."""

# Written in pieces so that this file does not find itself.
INDEX = re.compile(
    r"https?://\S+/simple" + r"\b|--(extra-)?" + r"index-url|--find" + r'-links|"resolved": ' + r'*"http'
)
HOME = re.compile(r"(?<![\w.$}>-])/(home|Users)/" + r"(?!\w*[<$*{])\w+/|/root/" + r"\w|/wo" + r"rk/(main|shared)")


@cache
def project_files() -> tuple[Path, ...]:
    """Return all files that are or would be committed."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = {ROOT / name for name in listed.stdout.split("\0") if name}
    return tuple(sorted(path for path in paths if path.is_file()))


@cache
def python_files() -> tuple[Path, ...]:
    return tuple(path for path in project_files() if path.suffix == ".py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def place(path: Path, node: ast.stmt | ast.expr) -> str:
    return f"{path.relative_to(ROOT)}:{node.lineno}"


def imports(path: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Yield each module that a file imports anywhere, with the import; `from a import b` gives `a.b` if that is our
    module, else `a`. Our modules are named as folders are: `engine.core` for `deadheat.engine.core`.
    """
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, folder_name(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = folder_name(node.module or "")
            if node.level:
                above = path.relative_to(ROOT).parts[: -node.level]
                module = ".".join((*above, module)).rstrip(".")
            for alias in node.names:
                full = f"{module}.{alias.name}"
                is_module = (ROOT / full.replace(".", "/")).is_dir() or (
                    ROOT / f"{full.replace('.', '/')}.py"
                ).is_file()
                yield node, full if is_module else module


def folder_name(module: str) -> str:
    assert module.partition(".")[0] not in PACKAGES, f"{module} is imported as deadheat.{module}"
    return module.removeprefix("deadheat.")


def is_within(module: str, allowed: frozenset[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in allowed)


def package_files(package: str) -> list[Path]:
    """Return a package's files without the games' bots, which are its data."""
    bots = re.compile(r"games/\w+/bots/")
    return [
        path
        for path in python_files()
        if path.is_relative_to(ROOT / package) and not bots.match(path.relative_to(ROOT).as_posix())
    ]


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_a_package_imports_only_what_the_table_allows(package):
    wrong = [
        f"{place(path, node)} imports {module}"
        for path in package_files(package)
        for node, module in imports(path)
        if module.partition(".")[0] in ANYTHING and not is_within(module, MAY_IMPORT[package])
    ]
    assert not wrong, "\n".join(wrong)


def test_the_engine_and_rules_need_the_standard_library_only_and_nothing_of_the_machine():
    finder = ROOT / "games" / "__init__.py"  # finds games, and is none
    of_games = [path for path in package_files("games") if path.name not in OF_FEWER and path != finder]
    assert of_games
    wrong = [
        f"{place(path, node)} imports {module}"
        for path in package_files("engine") + of_games
        for node, module in imports(path)
        if (top := module.partition(".")[0]) not in {"engine", path.relative_to(ROOT).parts[0]}
        and (top not in sys.stdlib_module_names or top in NOT_IN_ENGINE)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_pure_modules_of_the_sandbox_bring_no_docker_with_them():
    files = [ROOT / f"{module.replace('.', '/')}.py" for module in sorted(PURE)] + [ROOT / "sandbox" / "__init__.py"]
    wrong = [
        f"{place(path, node)} imports {module}"
        for path in files
        if path.exists()
        for node, module in imports(path)
        if module.partition(".")[0] not in sys.stdlib_module_names and not is_within(module, PURE | {"engine"})
    ]
    assert not wrong, "\n".join(wrong)


def test_enqueueing_brings_no_sandbox_into_the_api():
    wrong = [
        f"{place(path, node)} imports {module}"
        for path in (ROOT / "workers" / "queue.py", ROOT / "workers" / "__init__.py")
        if path.exists()
        for node, module in imports(path)
        if is_within(module, frozenset({"sandbox", "docker", "workers"})) and module != "workers.broker.queue"
    ]
    assert not wrong, "\n".join(wrong)


def test_records_are_light_enough_for_every_command():
    light = (
        "causes",
        "complaints",
        *(f"pairing.{name}" for name in ("evidence", "figures", "formats", "notation", "pairs", "rounds", "seating")),
        *(f"pairing.{name}" for name in ("knockout", "round_robin", "swiss", "tournament")),
        "records",
        "season_file",
        "states",
        "terms",
        "timetable",
        "words",
    )
    league = frozenset(f"league.{name}" for name in light)
    allowed = frozenset({"pydantic", "engine", *league})
    wrong = [
        f"{place(path, node)} imports {module}"
        for path in package_files("league")
        if is_within(".".join(path.relative_to(ROOT).with_suffix("").parts), league)
        for node, module in imports(path)
        if module.partition(".")[0] not in sys.stdlib_module_names and not is_within(module, allowed)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_function_is_too_long():
    wrong = [
        f"{place(path, node)} {node.name}: {lines} lines"
        for path in python_files()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert not wrong, "\n".join(wrong)


def test_no_text_stands_outside_of_its_statement():
    """A string alone is a docstring: it begins a body, or follows an assignment. Any other has lost its brackets."""
    wrong = [
        place(path, text)
        for path in python_files()
        for node in ast.walk(parsed(path))
        for body in (getattr(node, "body", ()), getattr(node, "orelse", ()), getattr(node, "finalbody", ()))
        for before, text in pairwise((node, *body) if isinstance(body, list) else ())
        if isinstance(text, ast.Expr)
        and (isinstance(text.value, ast.JoinedStr) or isinstance(getattr(text.value, "value", None), str))
        and not isinstance(before, DOCUMENTS)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_folder_holds_too_many_modules():
    modules = Counter(
        path.parent
        for path in python_files()
        if path.relative_to(ROOT).parts[0] in PACKAGES and path.name != "__init__.py"
    )
    wrong = [
        f"{folder.relative_to(ROOT)}: {count} modules"
        for folder, count in modules.items()
        if count > FOLDER_MODULES and folder.name != "versions"
    ]
    assert not wrong, "\n".join(wrong)


DOCUMENTED = (
    "cli",
    "engine",
    "games",
    "league/errors.py",
    "league/pairing",
    "league/ratings",
    "league/verification",
    "sandbox",
    "training",
)
"""Places whose public docstrings can be read alone; extend as packages are done."""

FRAGMENT = re.compile(r"(The same|Of|That|As|By|For|Those|What|Where|Which|Who|Whoever|Whose)\b")
"""Beginnings of docstrings that only their place explains, or that are riddles."""

DIALECT = re.compile(r"\b(whoever|anew|of (?:ours|theirs)|goes on|by now)\b", re.IGNORECASE)
"""Words for which a docstring names the person, or says it plainly: again, our, continues, so far."""


def docstrings(path: Path) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the first paragraphs of docstrings of a file's public names."""
    bodies: list[ast.Module | ast.ClassDef] = [parsed(path)]
    for owner in bodies:
        defined = [
            node
            for node in owner.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_")
        ]
        bodies += [node for node in defined if isinstance(node, ast.ClassDef)]
        for node in defined:
            if text := ast.get_docstring(node):
                yield node, text.partition("\n\n")[0]


@pytest.mark.parametrize("package", DOCUMENTED)
def test_a_public_docstring_can_be_read_alone(package):
    wrong = [
        f"{place(path, node)} {text!r}"
        for path in package_files(package)
        for node, text in docstrings(path)
        if not text.startswith("See `") and len(text.split()) < 4
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_public_docstring_is_plain_english(package):
    wrong = [
        f"{place(path, node)} {text!r}"
        for path in package_files(package)
        for node, text in docstrings(path)
        if FRAGMENT.match(text) or DIALECT.search(" ".join(text.split()))
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_outside_a_games_folder_names_a_game():
    """A game is its folder. (Docs describe our games, and tests play them.)"""
    words = {word for folder in (ROOT / "games").glob("*/rules.py") for word in [folder.parent.name.partition("_")[0]]}
    assert words
    named = re.compile("|".join(word.rstrip("s") for word in words), re.IGNORECASE)
    ours = (*(name for name in PACKAGES if name != "games"), "dashboards", "src")
    wrong = [
        f"{path.relative_to(ROOT)}:{number} {line.strip()[:100]}"
        for path in project_files()
        if path.relative_to(ROOT).parts[0] in ours and path.suffix in {".py", ".js", ".html", ".css", ".sql", ".svg"}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if named.search(f"{path.name} {line}")
    ]
    assert not wrong, "\n".join(wrong)


def test_every_metric_on_a_dashboard_exists_in_the_code():
    strings = {
        node.value
        for package in PACKAGES
        for path in package_files(package)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("deadheat_")
    }
    suffixes = ("", "_total", "_bucket", "_sum", "_count", "_created", "_info")
    known = {name + suffix for name in strings for suffix in suffixes}
    wrong = [
        f"{path.relative_to(ROOT)}:{number} {name}"
        for path in project_files()
        for folder in ("grafana", "prometheus")
        if path.is_relative_to(ROOT / "dashboards" / folder)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for name in re.findall(r"(?<![\w:/-])deadheat_\w+(?![\w:-])", line)
        if name not in known
    ]
    assert not wrong, "\n".join(wrong)


def test_only_pages_know_what_lies_in_examples():
    """Examples are found like anybody's game: none of our code, tests and scripts names them."""
    examples = ROOT / "examples"
    named = {folder.name for folder in examples.iterdir() if folder.is_dir()}
    assert named
    ours = [path for path in project_files() if not path.is_relative_to(examples) and path.suffix != ".md"]
    wrong = [
        f"{path.relative_to(ROOT)}:{number} {line.strip()[:100]}"
        for path in ours
        if path.suffix in {"", ".css", ".html", ".js", ".json", ".py", ".sh", ".toml", ".yml"}
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if any(name in line.lower() for name in named)
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_names_a_developers_machine_or_a_package_index():
    here = f"{ROOT}/"
    wrong = []
    for path in project_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # an image or an archive
        for number, line in enumerate(text.splitlines(), 1):
            if here in line or HOME.search(line) or INDEX.search(line):
                wrong.append(f"{path.relative_to(ROOT)}:{number} {line.strip()[:100]}")
    assert not wrong, "\n".join(wrong)
