"""Languages as data: how to recognise, build and start a bot. Another language is one more entry in `LANGUAGES`.

An upload is a single source file, recognised by its suffix, or a zip. The language of a zip follows from the files at
its root (``main.py``, ``main.c``, ...), or from a file ``deadheat.toml`` there::

    language = "python"
    entry = "src/bot.py"      # optional

This module is pure: nothing here starts a program or touches a file.
"""

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from deadheat.engine.language import N_, _

MANIFEST = "deadheat.toml"
MAX_MANIFEST_BYTES = 4 * 1024  # the time to parse one may grow with the square of its size, to 0.15 s here


class LanguageError(Exception):
    """The sources cannot be built; `reason` is a stable word, and the text says what to change, with the `values`."""

    def __init__(self, reason: str, detail: str, **values: object) -> None:
        self.reason = reason
        self.detail = _(detail, file=MANIFEST, **values)
        super().__init__(self.detail)


@dataclass(frozen=True, slots=True)
class Recipe:
    """One language. `build` is a shell line run in the sources' directory; all that it leaves there is the program.

    `run` is started in the program's directory. `entries` are names, then patterns; one of them must be at an archive's
    root. A single file is stored under the first of them with its suffix. In `build` and `run`, ``{entry}`` stands for
    the first file, ``{stem}`` for its path without the suffix, and ``{class}`` for that path with dots between folders;
    in `LANGUAGES` all of them stand for the usual file. A language without `suffixes` is chosen only by a manifest.
    `tools` (usually what `run` starts) must be in an image; `version` is a shell line that prints their versions
    (usually that of the first).
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    entries: tuple[str, ...]
    build: str
    run: tuple[str, ...] = ("./bot",)
    tools: tuple[str, ...] = ()
    version: str = ""

    def starting_with(self, entry: str) -> "Recipe":
        """Return the recipe for a bot whose first file is `entry` ("": the usual one)."""
        if entry in {"", self.entries[0]}:
            return self
        table = _TABLE[self.name]
        if not table.needs_entry:
            return self
        others = tuple(name for name in self.entries if name != entry)
        return replace(_filled(table, entry), entries=(entry, *others))

    def started_by(self, interpreter: str) -> "Recipe":
        """Return the recipe with this interpreter in place of the first of its tools."""
        usual = self.tools[0]
        assert self.run[0] == usual
        quoted = shlex.quote(interpreter)
        return replace(
            self,
            build=self.build.replace(usual, quoted),
            run=(interpreter, *self.run[1:]),
            tools=(interpreter,),
            version=self.version.replace(usual, quoted),
        )

    @property
    def needs_entry(self) -> bool:
        """Say whether the commands name the first file; otherwise all files at the root are equal."""
        return any(mark in part for part in (self.build, *self.run) for mark in ("{entry}", "{stem}", "{class}"))


def _filled(recipe: Recipe, entry: str) -> Recipe:
    """Return the commands with the first file's name in place of its placeholders."""
    stem = entry[: entry.rfind(".")] if "." in entry.rsplit("/", 1)[-1] else entry
    values = {"{entry}": entry, "{stem}": stem, "{class}": stem.replace("/", ".")}
    build, run, tools = recipe.build, list(recipe.run), recipe.tools or recipe.run[:1]
    for mark, value in values.items():
        build = build.replace(mark, shlex.quote(value))
        run = [part.replace(mark, value) for part in run]
    version = recipe.version or f"{tools[0]} --version"
    return replace(recipe, build=build, run=tuple(run), tools=tools, version=version)


# The virtual machines keep three quarters of a box's gigabyte (sandbox.box.BOT_MEMORY_BYTES) for a program's own data.
# A box has one processor, so machines that would not detect this are told to collect garbage on the program's own
# thread.
_TYPES = "--skipLibCheck --typeRoots /usr/share/nodejs/@types --types node"
_RECIPES = (
    Recipe(
        name="python",
        title="Python 3",
        suffixes=(".py",),
        entries=("main.py",),
        # Compiling now finds syntax errors, and saves every process of every match from compiling its modules. -I: none
        # of the author's files is imported, not even a module that shares its name with one of the compiler's.
        build="/usr/bin/python3 -I -m compileall -q --invalidation-mode unchecked-hash .",
        run=("/usr/bin/python3", "{entry}"),
    ),
    Recipe(
        name="pypy",
        title="PyPy 3",
        suffixes=(),  # its programs cannot be told from Python's
        entries=("main.py",),
        build="/usr/bin/pypy3 -I -m compileall -q --invalidation-mode unchecked-hash .",
        run=("/usr/bin/pypy3", "{entry}"),
        version=(
            "/usr/bin/pypy3 -c 'import platform, sys;"
            ' print("PyPy %d.%d.%d, Python" % sys.pypy_version_info[:3], platform.python_version())\''
        ),
    ),
    Recipe(
        name="c",
        title="C",
        suffixes=(".c",),
        entries=("main.c", "*.c"),
        build="gcc -O2 -std=gnu17 -o bot ./*.c -lm",
        tools=("gcc",),
    ),
    Recipe(
        name="cpp",
        title="C++ 20",
        suffixes=(".cpp", ".cc", ".cxx"),
        entries=("main.cpp", "main.cc", "main.cxx", "*.cpp", "*.cc", "*.cxx"),
        build=(
            "find . -maxdepth 1 '(' -name '*.cpp' -o -name '*.cc' -o -name '*.cxx' ')'"
            " -exec g++ -O2 -std=gnu++20 -o bot {} +"
        ),
        tools=("g++",),
    ),
    Recipe(
        name="java",
        title="Java",
        suffixes=(".java",),
        entries=("Main.java",),
        build="find . -name '*.java' -exec javac -J-Xmx512m -J-XX:+UseSerialGC -encoding UTF-8 -d . {} +",
        # No file of performance counters in /tmp, and no messages of the virtual machine on the bot's output, where its
        # warnings go by default.
        run=(
            *("/usr/bin/java", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx768m", "-Xss64m"),
            *("-Xlog:disable", "-Xlog:all=warning:stderr", "-XX:+DisplayVMOutputToStderr", "-cp", ".", "{class}"),
        ),
        tools=("javac", "/usr/bin/java"),
        version="/usr/bin/java --version",
    ),
    Recipe(
        name="javascript",
        title="JavaScript (Node.js)",
        suffixes=(".js", ".mjs", ".cjs"),
        entries=("main.js", "main.mjs", "main.cjs"),
        build="/usr/bin/node --check {entry}",
        run=("/usr/bin/node", "--max-old-space-size=768", "--single-threaded-gc", "{entry}"),
        version='echo "node $(/usr/bin/node --version)"',
    ),
    Recipe(
        name="typescript",
        title="TypeScript (Node.js)",
        suffixes=(".ts",),
        entries=("main.ts",),
        build=f"tsc --target es2022 --module commonjs --esModuleInterop {_TYPES} {{entry}}",
        run=("/usr/bin/node", "--max-old-space-size=768", "--single-threaded-gc", "{stem}.js"),
        tools=("tsc", "/usr/bin/node"),
        version='echo "tsc $(tsc --version), node $(/usr/bin/node --version)"',
    ),
    Recipe(
        name="rust",
        title="Rust",
        suffixes=(".rs",),
        entries=("main.rs",),
        build="rustc --edition 2021 --crate-name bot -C opt-level=3 -C strip=symbols -o bot {entry}",
        tools=("rustc",),
    ),
    Recipe(
        name="go",
        title="Go",
        suffixes=(".go",),
        entries=("main.go", "*.go"),
        build=("if [ ! -f go.mod ]; then go mod init bot; fi && GOPROXY=off go build -buildvcs=false -o bot ."),
        tools=("go",),
        version="go version",
    ),
    Recipe(
        name="csharp",
        title="C# (Mono)",
        suffixes=(".cs",),
        entries=("Program.cs", "Main.cs", "*.cs"),
        build="mcs -optimize+ -r:System.Numerics -out:bot.exe -recurse:'*.cs'",
        run=("/usr/bin/mono", "--gc-params=max-heap-size=768m", "bot.exe"),
        tools=("mcs", "/usr/bin/mono"),
    ),
)

_TABLE: Mapping[str, Recipe] = {recipe.name: recipe for recipe in _RECIPES}
LANGUAGES: Mapping[str, Recipe] = {recipe.name: _filled(recipe, recipe.entries[0]) for recipe in _RECIPES}
_BY_SUFFIX = tuple(recipe for recipe in _RECIPES if recipe.suffixes)


def detect(filename: str, names: Sequence[str], toml_text: str | None) -> tuple[str, str]:
    """Detect an upload's language and first file, from the `filename` if `names` is only this name, else from the names
    of an archive's files, with ``/`` between folders, and its manifest, if there is one. Raises LanguageError: no
    language or first file fits, several do, or the manifest is not valid.
    """
    if list(names) == [filename]:
        return _of_single_file(filename)
    language, entry = ("", "") if toml_text is None else _read_manifest(toml_text)
    if language:
        recipe = LANGUAGES[language]
        return language, _entry(recipe, entry, names)
    for exact in (True, False):
        fitting = {recipe.name: hit for recipe in _BY_SUFFIX if (hit := _match(recipe, names, exact=exact))}
        if len(fitting) > 1:
            text = N_('This could be %(names)s; choose with a line in %(file)s: language = "...".')
            raise LanguageError("ambiguous", text, names=_or(sorted(fitting)))
        if fitting:
            return fitting.popitem()
    wanted = [recipe.entries[0] for recipe in _BY_SUFFIX]
    deeper = sorted(name for name in names if name.rsplit("/", 1)[-1] in wanted)
    text = N_("The archive has no %(names)s at its root, and no %(file)s that names another file.")
    if deeper:
        text = N_(
            "The archive has no %(names)s at its root, only %(found)r: pack the folder's content, not the folder, or "
            "name it in %(file)s."
        )
    raise LanguageError("no-entry", text, names=_or(wanted), found="".join(deeper[:1]))


def _of_single_file(filename: str) -> tuple[str, str]:
    for recipe in _BY_SUFFIX:
        for suffix in recipe.suffixes:
            if filename.lower().endswith(suffix):
                usual = (name for name in recipe.entries if name.endswith(suffix))
                return recipe.name, next(usual, recipe.entries[0])
    known = [suffix for recipe in _BY_SUFFIX for suffix in recipe.suffixes]
    text = N_("%(name)r has no known language: send a .zip, or a single file %(known)s.")
    raise LanguageError("unknown-language", text, name=filename, known=_or(known))


def _read_manifest(text: str) -> tuple[str, str]:
    if len(text) > MAX_MANIFEST_BYTES:
        raise LanguageError("bad-manifest", N_("%(file)s is larger than %(most)s bytes."), most=MAX_MANIFEST_BYTES)
    try:
        manifest = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # the parser also raises errors not of its own class
        raise LanguageError("bad-manifest", N_("%(file)s is not TOML: %(why)s."), why=error) from error
    if unknown := sorted(set(manifest) - {"language", "entry"}):
        raise LanguageError("bad-manifest", N_("%(file)s has unknown keys: %(keys)s."), keys=", ".join(unknown)[:200])
    language, entry = manifest.get("language", ""), manifest.get("entry", "")
    if not isinstance(language, str) or not isinstance(entry, str):
        raise LanguageError("bad-manifest", N_("In %(file)s, language and entry are strings."))
    if not language:
        raise LanguageError("bad-manifest", N_("%(file)s does not name a language."))
    if language not in LANGUAGES:
        text = N_("%(file)s asks for %(language)r; known: %(known)s.")
        raise LanguageError("unknown-language", text, language=language[:40], known=", ".join(LANGUAGES))
    return language, entry


def _entry(recipe: Recipe, entry: str, names: Sequence[str]) -> str:
    if not entry:
        entry = _match(recipe, names, exact=True) or _match(recipe, names, exact=False)
        if not entry:
            text = N_("A %(language)s bot needs %(names)s at the archive's root.")
            raise LanguageError("no-entry", text, language=recipe.name, names=_or(recipe.entries))
    if entry not in names:
        text = N_("%(file)s names the entry %(entry)r, which is not in the archive.")
        raise LanguageError("no-entry", text, entry=entry[:200])
    if "/" in entry and not _TABLE[recipe.name].needs_entry:
        text = N_("The entry of a %(language)s bot must be at the archive's root.")
        raise LanguageError("no-entry", text, language=recipe.name)
    return entry


def _match(recipe: Recipe, names: Sequence[str], *, exact: bool) -> str:
    """Return the file with which the recipe starts, or "" if there is none."""
    at_root = sorted(name for name in names if "/" not in name)
    for pattern in recipe.entries:
        for name in at_root:
            if name == pattern if exact else fnmatchcase(name, pattern):
                return name
    return ""


def _or(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else _("%(most)s or %(last)s", most=", ".join(words[:-1]), last=words[-1])
