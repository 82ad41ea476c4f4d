"""Recognising what an author sent."""

import shlex

import pytest

from deadheat.sandbox.languages import LANGUAGES, LanguageError, detect


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("bot.py", ("python", "main.py")),
        ("BOT.PY", ("python", "main.py")),
        ("bot.c", ("c", "main.c")),
        ("bot.cpp", ("cpp", "main.cpp")),
        ("bot.cc", ("cpp", "main.cc")),
        ("Whatever.java", ("java", "Main.java")),
        ("bot.js", ("javascript", "main.js")),
        ("bot.mjs", ("javascript", "main.mjs")),
        ("bot.ts", ("typescript", "main.ts")),
        ("bot.rs", ("rust", "main.rs")),
        ("bot.go", ("go", "main.go")),
        ("bot.cs", ("csharp", "Program.cs")),
    ],
)
def test_a_single_file_is_known_by_its_suffix(filename: str, expected: tuple[str, str]) -> None:
    assert detect(filename, [filename], None) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["main.py", "lib/a.py"], ("python", "main.py")),
        (["main.py", "fast.c"], ("python", "main.py")),
        (["main.c", "board.c", "board.h"], ("c", "main.c")),
        (["bot.c", "board.c"], ("c", "board.c")),
        (["main.cc"], ("cpp", "main.cc")),
        (["solver.cpp", "README.md"], ("cpp", "solver.cpp")),
        (["Main.java", "game/Board.java"], ("java", "Main.java")),
        (["main.mjs", "board.mjs"], ("javascript", "main.mjs")),
        (["main.ts", "board.ts", "package.json"], ("typescript", "main.ts")),
        (["main.rs", "board.rs"], ("rust", "main.rs")),
        (["go.mod", "bot.go"], ("go", "bot.go")),
        (["Bot.cs", "game/Board.cs"], ("csharp", "Bot.cs")),
    ],
)
def test_an_archive_is_known_by_what_is_at_its_root(names: list[str], expected: tuple[str, str]) -> None:
    assert detect("bot.zip", names, None) == expected


@pytest.mark.parametrize(
    ("names", "manifest", "expected"),
    [
        (["main.py", "main.c"], 'language = "c"', ("c", "main.c")),
        (["src/bot.py"], 'language = "python"\nentry = "src/bot.py"', ("python", "src/bot.py")),
        (["main.py"], 'language = "python"', ("python", "main.py")),
        (["main.py"], 'language = "pypy"', ("pypy", "main.py")),
        (["main.ts", "main.js"], 'language = "javascript"', ("javascript", "main.js")),
        (["ada/Bot.java"], 'language = "java"\nentry = "ada/Bot.java"', ("java", "ada/Bot.java")),
    ],
)
def test_a_manifest_decides(names: list[str], manifest: str, expected: tuple[str, str]) -> None:
    assert detect("bot.zip", [*names, "deadheat.toml"], manifest) == expected


@pytest.mark.parametrize(
    ("filename", "names", "manifest", "reason"),
    [
        ("bot.exe", ["bot.exe"], None, "unknown-language"),
        ("bot", ["bot"], None, "unknown-language"),
        ("bot.zip", [], None, "no-entry"),
        ("bot.zip", ["README.md"], None, "no-entry"),
        ("bot.zip", ["mybot/main.py"], None, "no-entry"),
        ("bot.zip", ["main.py", "main.c"], None, "ambiguous"),
        ("bot.zip", ["a.c", "b.cpp"], None, "ambiguous"),
        ("bot.zip", ["main.ts", "main.js"], None, "ambiguous"),
        ("bot.zip", ["Bot.java"], None, "no-entry"),
        ("bot.zip", ["main.py"], 'language = "cobol"', "unknown-language"),
        ("bot.zip", ["main.py"], 'language = "c"', "no-entry"),
        ("bot.zip", ["main.py"], 'language = "python"\nentry = "x.py"', "no-entry"),
        ("bot.zip", ["src/main.c"], 'language = "c"\nentry = "src/main.c"', "no-entry"),
        ("bot.zip", ["main.py"], "language =", "bad-manifest"),
        ("bot.zip", ["main.py"], "", "bad-manifest"),
        ("bot.zip", ["main.py"], "language = 3", "bad-manifest"),
        ("bot.zip", ["main.py"], 'language = "python"\nflags = "-O3"', "bad-manifest"),
        ("bot.zip", ["main.py"], "a = " + "[" * 4000, "bad-manifest"),
        ("bot.zip", ["main.py"], "a = " + "9" * 4090, "bad-manifest"),
        ("bot.zip", ["main.py"], "a" + ".a" * 2000 + " = 1", "bad-manifest"),
        ("bot.zip", ["main.py"], "#" * 5000, "bad-manifest"),
    ],
)
def test_what_is_unclear_is_refused_with_a_reason(filename, names, manifest: str | None, reason: str) -> None:
    with pytest.raises(LanguageError) as caught:
        detect(filename, names, manifest)
    assert caught.value.reason == reason and caught.value.detail.endswith(".")


def test_a_packed_folder_is_recognised_and_explained() -> None:
    with pytest.raises(LanguageError, match=r"'mybot/main\.py': pack the folder's content"):
        detect("bot.zip", ["mybot/main.py", "mybot/x.py"], None)


@pytest.mark.parametrize(
    ("language", "entry", "in_build", "in_run"),
    [
        ("python", "src/bot.py", "", "src/bot.py"),
        ("pypy", "src/bot.py", "", "src/bot.py"),
        ("java", "ada/Bot.java", "", "ada.Bot"),
        ("javascript", "main.mjs", "main.mjs", "main.mjs"),
        ("typescript", "src/bot.ts", "src/bot.ts", "src/bot.js"),
        ("rust", "src/main.rs", "src/main.rs", "./bot"),
        ("rust", "my $(bot).rs", "'my $(bot).rs'", "./bot"),
    ],
)
def test_another_entry_changes_the_commands(language: str, entry: str, in_build: str, in_run: str) -> None:
    recipe = LANGUAGES[language].starting_with(entry)
    assert in_build in recipe.build and recipe.run[-1] == in_run
    assert recipe.entries[0] == entry  # the name that a single file gets


def test_the_usual_entry_changes_nothing() -> None:
    for recipe in LANGUAGES.values():
        assert recipe.starting_with("") is recipe.starting_with(recipe.entries[0]) is recipe
    assert LANGUAGES["c"].starting_with("bot.c") is LANGUAGES["c"]


def test_recipes_are_consistent() -> None:
    suffixes = [suffix for recipe in LANGUAGES.values() for suffix in recipe.suffixes]
    assert len(suffixes) == len(set(suffixes))
    for name, recipe in LANGUAGES.items():
        assert name == recipe.name
        assert not recipe.suffixes or recipe.entries[0].endswith(recipe.suffixes)
        assert shlex.split(recipe.build) and shlex.split(recipe.version)
        assert "{entry}" not in recipe.build and not any("{" in part for part in recipe.run)
        # init starts programs by their path, without a search.
        assert recipe.run[0].startswith(("/usr/bin/", "./"))
        assert recipe.run[0] in {*recipe.tools, "./bot"}
