"""Season files are read, refused as a whole, applied and written."""

import re
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from itertools import product
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deadheat.league import season_file
from deadheat.league.errors import BadSeasonFile, NotAllowed, NotFound
from deadheat.league.pairing.notation import ABSENT, COVERED, MEANINGS, SETTINGS, STAGE_WORDS, Kind, stages
from deadheat.league.records.seasons import Declared
from deadheat.league.season_file import PATHS
from deadheat.league.service.ground.audit import audit_log
from deadheat.league.service.seasons.admission import invited_to_season
from deadheat.league.service.seasons.declared import apply_file, preview_file, season_as_file
from deadheat.league.service.seasons.entries import entries
from deadheat.league.service.seasons.seasons import season_info
from deadheat.league.states import Admission, FinalsFormat, SeasonState
from deadheat.league.tables import Season
from deadheat.league.terms import TERMS, Term
from deadheat.league.timetable import timetable
from tests.league.people import GAME
from tests.league.world import World

NAMED = f'[season]\nname = "Winter"\ngame = "{GAME}"\n'

WHOLE = f"""
[season]
name = "Code Battle"
game = "{GAME}"
[matches]
series_length = 20
games_per_pair = "none"
[dates]
timezone = "Asia/Seoul"
opens_at = 2027-08-01T15:00:00
freezes_at = 2027-08-10T21:00:00
finals_at = 2027-08-11T00:00:00Z
[finals]
finals = "swiss"
finals_rounds = 50
closes_when_done = false
[entry]
admission = "invited"
invited = ["bob", "ADA"]
languages = ["c", "python"]
[quotas]
versions_per_day = 24
[[divisions]]
name = "First"
size = 8
[[divisions]]
name = "Second"
"""


def applied(world: World, text: str, season_id: int | None = None) -> Declared:
    return world.write(apply_file, world.boss, text, season_id)


def refused(world: World, text: str, season_id: int | None = None) -> dict[str, str]:
    with pytest.raises(BadSeasonFile) as caught:
        applied(world, text, season_id)
    with pytest.raises(BadSeasonFile, match=str(caught.value).splitlines()[0][:20]):
        world.read(preview_file, world.boss, text, season_id)
    return {one["path"]: one["why"] for one in caught.value.mistakes}


def whole(world: World) -> int:
    for name in ("ada", "bob", "carl"):
        world.author(name)
    found = applied(world, WHOLE)
    assert found.season_id is not None
    return found.season_id


def test_a_file_makes_the_season_that_it_declares(world: World) -> None:
    season_id = whole(world)
    season = world.read(season_info, season_id)
    assert (season.name, season.game, season.series_length, season.games_per_pair) == ("Code Battle", GAME, 20, None)
    assert season.opens_at == datetime(2027, 8, 1, 6, tzinfo=UTC)
    assert (season.finals, season.finals_rounds, season.closes_when_done) == (FinalsFormat.SWISS, 50, False)
    assert (season.admission, season.languages) == (Admission.INVITED, ["c", "python"])
    assert [(one.name, one.size) for one in season.divisions] == [("First", 8), ("Second", None)]
    assert world.read(invited_to_season, world.boss, season_id) == ["ada", "bob"]


def test_applied_again_it_changes_nothing_and_notes_nothing(world: World) -> None:
    season_id = whole(world)
    noted = len(world.read(audit_log))
    again = applied(world, WHOLE, season_id)
    assert (again.applied, again.changes) == (False, [])
    assert len(world.read(audit_log)) == noted


def test_a_preview_tells_what_differs_and_changes_nothing(world: World) -> None:
    season_id = whole(world)
    before = world.read(season_info, season_id)
    other = WHOLE.replace("length = 20", "length = 40").replace('"ADA"', '"carl"').replace("finals_rounds = 50\n", "")
    told = world.read(preview_file, world.boss, other, season_id)
    assert {one.path: (one.now, one.then) for one in told.changes} == {
        "matches.series_length": (20, 40),
        "finals.finals_rounds": (50, None),
        "entry.invited": (["ada", "bob"], ["bob", "carl"]),
    }
    finals = ("Finals begin", datetime(2027, 8, 11, tzinfo=UTC))
    assert [(one.label, one.at) for one in told.timetable][2:] == [finals, ("Closes", None)]
    assert (told.applied, told.timezone) == (False, "Asia/Seoul")
    assert world.read(season_info, season_id) == before
    assert [one.path for one in applied(world, other, season_id).changes] == [one.path for one in told.changes]
    assert world.read(invited_to_season, world.boss, season_id) == ["bob", "carl"]


def test_a_new_seasons_preview_tells_what_is_not_the_default(world: World) -> None:
    told = world.read(preview_file, world.boss, NAMED + "[matches]\nseries_length = 10\ngames_per_pair = 4\n")
    new = {"season.name": "Winter", "season.game": GAME, "matches.games_per_pair": 4}
    assert {one.path: (one.now, one.then) for one in told.changes} == {path: (None, then) for path, then in new.items()}
    assert told.season_id is None
    with pytest.raises(NotFound):
        world.read(season_info, 1)


def test_every_mistake_is_said_at_once_with_its_key(world: World) -> None:
    text = f"""
    [season]
    game = "{GAME}"
    [matches]
    seats = 7
    series_length = "10"
    finals_top = 8
    [dates]
    opens_at = 2027-01-02T00:00:00Z
    freezes_at = 2027-01-01T00:00:00Z
    finals_at = 2027-01-01T00:00:00
    closes_at = "2027-01-01T00:00:00Z"
    [final]
    finals = "swiss"
    [finals]
    final_top = 8
    promoted = true
    [entry]
    languages = ["c", "cobol"]
    invited = ["nobody"]
    entries_per_author = 0
    [[divisions]]
    name = "First"
    size = 1
    """
    assert {path: why.split("; ")[-1] for path, why in refused(world, text).items()} == {
        "season.name": "this is required",
        "matches.seats": f"{GAME} is for 2 players",
        "matches.series_length": "it should be a whole number",
        "matches.finals_top": "it belongs in the table [finals]",
        "dates.freezes_at": "it must come after opens_at",
        "dates.finals_at": "write, for example, 2027-01-01T00:00:00+09:00, or set timezone in [dates]",
        "dates.closes_at": "write date and time without quotation marks, such as 2026-12-01T18:00:00+09:00",
        "final": "did you mean finals",
        "finals.final_top": "did you mean finals_top",
        "finals.promoted": "it should be a whole number",
        "entry.languages": mock.ANY,
        "entry.invited": "there are no such authors: nobody",
        "entry.entries_per_author": "it should be at least 1",
        "divisions": "number 1, size: it should be at least 2",
    }


@pytest.mark.parametrize(
    ("text", "path", "why"),
    [
        ("[season", "", "it is not TOML"),
        ("x = " + "[" * 20_000, "", "more deeply nested"),
        ("x = " + "9" * 5000, "", "it is not TOML"),
        ("name = '\ud800'", "", "it is not UTF-8"),
        ("season = 3", "season", "write [season]"),
        (NAMED + "[dates]\ntimezone = 'Asia'", "dates.timezone", "no such time zone"),
        (NAMED + "[dates]\ntimezone = '../../etc/passwd'", "dates.timezone", "no such time zone"),
        (NAMED + "[dates]\nopens_at = 2027-01-01", "dates.opens_at", "such as 2027-01-01T18:00:00+09:00"),
        (NAMED + "[dates]\nopens_at = 0001-01-01T00:00:00+09:00", "dates.opens_at", "at least"),
        (NAMED + "[matches]\nseries_length = inf", "matches.series_length", "whole number"),
        (NAMED + "[matches]\nseries_length = 2027-01-01", "matches.series_length", "whole number"),
        (NAMED + "[matches]\nseries_length = 'none'", "matches.series_length", "whole number"),
        (NAMED.replace(GAME, "chess"), "season.game", "there is no such game"),
        (NAMED + '[entry]\ninvited = ["\\u0000"]', "entry.invited", "there are no such authors"),
        ("[season]\nname = 'x'", "season.game", "a season needs a game"),
        ("[season]\nname = 'x'\nprevious_id = 7", "season.previous_id", "there is no season 7"),
    ],
)
def test_what_cannot_be_read_is_told(world: World, text: str, path: str, why: str) -> None:
    assert why in refused(world, text)[path]


@pytest.mark.parametrize("local", ["2027-03-28T02:30:00", "2027-10-31T02:30:00"])
def test_a_local_time_that_never_comes_or_comes_twice_needs_its_offset(world: World, local: str) -> None:
    text = f"{NAMED}[dates]\ntimezone = 'Europe/Berlin'\nopens_at = {local}"
    assert "clocks of Europe/Berlin" in refused(world, text)["dates.opens_at"]
    applied(world, f"{text}+02:00")


def test_what_can_no_longer_change_is_refused_together(world: World) -> None:
    season_id = whole(world)
    world.set_state(season_id, SeasonState.OPEN)
    other = (
        WHOLE.replace("[matches]", '[matches]\nranks = "wins"')
        .replace("size = 8", "size = 16")
        .replace("08-01", "08-02")
    )
    found = refused(world, other, season_id)
    assert found.keys() == {"matches.ranks", "dates.opens_at", "divisions"}
    assert all("because the season is open" in why for why in found.values())
    assert applied(world, WHOLE.replace("length = 20", "length = 30"), season_id).applied


def test_a_name_belongs_to_one_season_and_a_game_is_for_ever(world: World) -> None:
    applied(world, NAMED)
    assert "season 1 has this name" in refused(world, NAMED)["season.name"]
    found = refused(world, NAMED.replace(GAME, "betris") + "previous_id = 3", 1)
    assert found.keys() == {"season.game", "season.previous_id"}
    assert all("cannot be changed" in why for why in found.values())


def test_a_file_continues_a_season(world: World) -> None:
    season_id = world.season(2, games_per_pair=2, series_length=2, promoted=3)
    world.play_all()
    world.publish(season_id)
    text = f'[season]\nname = "Next"\nprevious_id = {season_id}\n[matches]\nseries_length = 4\n'
    assert "keeps its divisions" in refused(world, f'{text}[[divisions]]\nname = "A"\n')["divisions"]
    told = applied(world, text)
    assert told.season_id is not None
    assert {one.path: one.now for one in told.changes} == {
        "season.name": None,
        "season.previous_id": None,
        "matches.series_length": 2,
    }
    made = world.read(season_info, told.season_id)
    assert (made.promoted, made.games_per_pair, made.series_length) == (3, 2, 4)
    assert len(world.read(entries, made.id)) == 2
    assert not applied(world, text, made.id).changes
    assert not applied(world, world.read(season_as_file, world.boss, made.id), made.id).changes
    other = f'{text}games_per_pair = "none"\n'
    assert [one.path for one in applied(world, other, made.id).changes] == ["matches.games_per_pair"]


def test_an_evaluation_that_the_finals_would_cut_off_is_told_before_anybody_has_entered(world: World) -> None:
    day = (world.clock() + timedelta(days=9)).date()
    text = f"""{NAMED}
[[contests]]
kind = "finals"
format = "round-robin"
at = {day}T12:00:00Z
[[contests]]
kind = "evaluation"
name = "Early"
format = "round-robin"
at = [{day}T03:00:00Z]
[[contests]]
kind = "evaluation"
name = "Close"
format = "round-robin"
at = [{day}T11:50:00Z, {day}T12:00:00Z]
"""
    told = [words for words in world.read(preview_file, world.boss, text).warnings if "evaluations:" in words]
    begin = f"the finals begin at {day} 12:00 UTC."
    assert told == [
        f"evaluations: Close, due {day} 12:00 UTC, is not played: {begin}",
        f"evaluations: Close, due {day} 11:50 UTC, is cancelled if it is not over when {begin}",
    ]


def test_what_is_probably_a_mistake_is_told(world: World) -> None:
    past = (world.clock() - timedelta(days=1)).isoformat()
    told = world.read(preview_file, world.boss, f'{NAMED}[dates]\nopens_at = {past}\n[entry]\nadmission = "invited"')
    assert told.warnings == [
        "dates.opens_at has passed: the season will be opened at once.",
        "entry.invited is empty, so no author can enter yet.",
    ]
    world.author("ada")
    told = world.read(preview_file, world.boss, f'{NAMED}[entry]\ninvited = ["ada"]')
    assert told.warnings == ["entry.invited has no effect while entry.admission is everyone."]
    by_hand, by_date = EVALUATED, EVALUATED.replace("[dates]\n", "[dates]\nopens_at = 2030-01-01T00:00:00\n")
    assert "[dates]" in by_hand
    warnings = (str(world.read(preview_file, world.boss, text).warnings) for text in (by_hand, by_date))
    assert ["until you open the season" in text for text in warnings] == [True, False]


def test_only_organisers_see_and_apply_files(world: World) -> None:
    season_id, ada = whole(world), world.author("dora")
    for act in (preview_file, apply_file):
        world.refused(NotAllowed, act, ada, NAMED, None)
    with pytest.raises(NotAllowed):
        world.read(season_as_file, ada, season_id)


def test_an_export_changes_nothing_and_explains_each_setting(world: World) -> None:
    season_id = whole(world)
    text = world.read(season_as_file, world.boss, season_id)
    assert text == world.read(season_as_file, world.boss, season_id)
    assert not applied(world, text, season_id).changes
    words = dict(of for kind in SETTINGS.values() for of in zip(kind.values(), kind, strict=True))
    for term in TERMS.values():
        assert "\n" not in term.words
        explained = f"# {term.words}\n{words.get(term.name, term.name)} = " in text
        assert explained or term.name in {*ABSENT, "panel_games", "panel_minimum", "panel_test"}
    assert "opens_at = 2027-08-01T06:00:00Z\n" in text


def values(term: Term) -> st.SearchStrategy[Any]:
    """Return a strategy that draws any value of a setting."""
    if term.kind is datetime:
        zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
        first, last = datetime(2001, 1, 1), datetime(2199, 1, 1)  # noqa: DTZ001  # in the zone drawn
        found: st.SearchStrategy[Any] = st.datetimes(first, last, timezones=zones)
    elif term.kind is bool:
        found = st.booleans()
    elif term.kind is int:
        found = st.integers(term.least, term.most)
    elif term.name == "panel":
        names = st.text("abz09-_", min_size=1, max_size=32).map(lambda name: f"A{name[1:]}")
        found = st.lists(st.tuples(names, names).map("/".join), min_size=1, max_size=50)
    elif term.name == "stages":
        numbers = st.integers(1, 99_999).map(lambda number: f"round-robin keep={number}")
        found = st.lists(numbers, min_size=1, max_size=20)
    elif term.name == "variant":
        found = st.lists(st.integers(0, 999_999_999).map("dice={}".format), min_size=1, max_size=20)
    elif term.name == "panel_test":
        found = st.lists(st.integers(-1000, 1000).map(str), min_size=2, max_size=2)
    elif term.kind is list:
        found = st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=32), min_size=1)
    else:
        assert issubclass(term.kind, StrEnum)
        found = st.sampled_from(list(term.kind))
    return st.none() | found if term.optional else found


@given(st.fixed_dictionaries({name: values(term) for name, term in TERMS.items()}))
def test_what_is_written_is_read(terms: dict[str, Any]) -> None:
    if terms["finals"] is not FinalsFormat.STAGES:
        terms["stages"] = None
    elif not terms["stages"]:
        terms["finals"] = FinalsFormat.NONE
    season = {
        "name": "Winter",
        "game": GAME,
        "previous_id": 3,
        "invited": ["ada"],
        "divisions": [("A", 2), ("B", None)],
        "evaluations": [],
    }
    read = season_file.read(season_file.write({**season, **terms}))
    if terms["languages"] is not None and len(terms["languages"]) > 50:
        assert [path for path, _ in read.mistakes] == ["entry.languages"]
        return
    assert read.mistakes == ()
    told = {name: getattr(read.declared, name) for name in terms}
    assert stages(told.pop("stages")) == stages(terms.pop("stages"))
    assert told == terms
    assert [(one.name, one.size) for one in read.declared.divisions or ()] == season["divisions"]


EVALUATED = """
[season]
name = "Contest"
game = "yacht-auction"

[dates]
timezone = "Asia/Seoul"

[[evaluations]]
name = "Online"
format = "swiss"
rounds = 20
tie_breaks = ["opponents_points", "rounds_won"]
at = [2026-03-01T15:00:00, 2026-03-01T21:00:00]

[[evaluations]]
name = "Final"
format = "round-robin"
matches = 4
every_minutes = 15
from = 2026-04-01T09:00:00
until = 2026-04-01T15:00:00
counts = true
"""


def test_a_file_declares_evaluations_in_local_time_and_says_them_again(world: World) -> None:
    made = world.write(apply_file, world.boss, EVALUATED)
    assert made.season_id is not None
    online, final = timetable(world.row(Season, made.season_id).evaluations)
    assert [at.astimezone(UTC).hour for at in online.at] == [6, 12]
    assert (final.every_minutes, final.matches, final.counts) == (15, 4, True)
    assert (online.tie_breaks, final.tie_breaks) == (["opponents_points", "rounds_won"], None)
    (_, seen) = next(change.then for change in made.changes if change.path == "evaluations")[0].split("; ")
    assert seen == "ties by Opponents, then Rounds won"
    text = world.read(season_as_file, world.boss, made.season_id)
    assert world.read(preview_file, world.boss, text, made.season_id).changes == []
    gone = text[: text.index(f"# {MEANINGS[Kind.EVALUATION]}")]
    (change,) = world.read(preview_file, world.boss, gone, made.season_id).changes
    assert (change.path, change.then) == ("evaluations", [])
    assert world.write(apply_file, world.boss, gone, made.season_id).applied
    assert timetable(world.row(Season, made.season_id).evaluations) == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("rounds = 20", "", "Online: a Swiss needs rounds"),
        ("21:00:00]", "21:00:00, 5]", "number 1, at: write date and time"),
        ("every_minutes = 15", "every_minutes = 0", "number 2, every_minutes"),
        ('name = "Final"', 'name = "online"', "two of them have the same name"),
        ("from =", "form =", "number 2, form"),
        ('"rounds_won"', '"coin"', "Online: there is no tie-break coin; choose from rounds_won"),
        ('"rounds_won"', '"opponents_points"', "Online: list each tie-break only once"),
    ],
)
def test_a_mistake_in_an_evaluation_is_said(world: World, before: str, after: str, said: str) -> None:
    with pytest.raises(BadSeasonFile) as caught:
        world.read(preview_file, world.boss, EVALUATED.replace(before, after))
    (mistake,) = caught.value.mistakes
    assert mistake["path"] == "evaluations"
    assert said in mistake["why"]


DEEP = f"[{'[' * 300}{']' * 300}]"
DOTTED = f"{'a.' * 300}a = 1"
NESTED = {
    "brackets": f"a = {DEEP}",
    "brackets in a known list": f"evaluations = {DEEP}",
    "tables in tables": f"a = {'{a = ' * 300}1{'}' * 300}",
    "dots": DOTTED,
    "quoted parts": '"a" . ' * 300 + "a = 1",
    "a table's name": f"[{'a.' * 300}a]",
    "behind a string with quotes": f'a = ["""b"""", {DEEP}]',
    "behind a literal string with quotes": f"a = ['''b''''', {DEEP}]",
    "behind an escaped quote": f'a = ["b\\"", {DEEP}]',
    "behind the mark of a comment in a string": f'a = ["#", {DEEP}]',
    "behind a comment": f'# "\n{DOTTED}',
    "length": "#" * (season_file.MAX_CHARACTERS + 1),
}


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_what_would_take_long_to_read_is_refused_before(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tomllib.loads", mock.Mock(side_effect=AssertionError))
    (mistake,) = season_file.read(text).mistakes
    assert mistake == ("", "it is longer or more deeply nested than any season's file")


@pytest.mark.parametrize("quote", ['"', "'", '"""', "'''"])
def test_brackets_and_dots_in_texts_and_comments_are_not_nested(quote: str) -> None:
    text = "[.{" * 20
    read = season_file.read(f"{NAMED}[entry]\ninvited = [{quote}{text}{quote}] # {text}")
    assert read.mistakes == (("entry.invited", "number 1: it should have at most 32 characters"),)


def test_only_so_many_mistakes_are_told() -> None:
    text = NAMED + "\n".join(f"{number} = 1" for number in range(1000))
    assert len(season_file.read(text).mistakes) == season_file.MOST_MISTAKES


CONTESTS = """
[season]
name = "Contest"
game = "yacht-auction"

[[contests]]
kind = "ladder"
matches = 20

[[contests]]
kind = "panel"
against = ["boss/rex"]
matches = 4
minimum = 3

[[contests]]
kind = "gate"
matches = 200

[[contests]]
kind = "evaluation"
name = "Noon"
format = "swiss"
rounds = 20
at = [2027-08-02T12:00:00Z]
counts = true

[[contests]]
kind = "stage"
at = 2027-08-11T09:00:00Z
top = 16
format = "swiss"
rounds = 9
keep = 4

[[contests]]
kind = "stage"
format = "knockout"
matches = 10
further = 20
third_place = true
"""

OLD = """
[season]
name = "Contest"
game = "yacht-auction"
[matches]
games_per_pair = 20
[dates]
finals_at = 2027-08-11T09:00:00Z
[finals]
finals = "stages"
finals_top = 16
stages = ["swiss rounds=9 keep=4", "knockout matches=10 further=20 third-place"]
[entry]
panel = ["boss/rex"]
panel_games = 4
panel_minimum = 3
[quotas]
challenge_games = 200
[[evaluations]]
name = "Noon"
format = "swiss"
rounds = 20
at = [2027-08-02T12:00:00Z]
counts = true
"""


def test_contests_say_what_settings_of_version_0_2_said(world: World) -> None:
    world.bot("rex", owner=world.boss)
    made = applied(world, CONTESTS)
    told = world.read(preview_file, world.boss, OLD, made.season_id)
    old = [path for name, path in PATHS.items() if name in COVERED and f"{name}" in OLD]
    assert told.changes == []
    assert told.warnings == [
        ", ".join(old) + ": say this in [[contests]]; `deadheat season export` writes it so.",
        *made.warnings,
    ]
    assert made.season_id is not None
    text = world.read(season_as_file, world.boss, made.season_id)
    assert world.read(preview_file, world.boss, text, made.season_id).changes == []
    for kind in (Kind.LADDER, Kind.PANEL, Kind.GATE, Kind.EVALUATION, Kind.STAGE):
        assert f'[[contests]]\nkind = "{kind}"\n' in text
    assert not re.search("^(ladder|finals|stages|panel|challenge_games|finals_at) =", text, re.MULTILINE)


def test_a_panel_is_judged_by_a_test_in_the_words_of_commands(world: World) -> None:
    world.bot("rex", owner=world.boss)
    made = applied(world, CONTESTS.replace("minimum = 3", 'test = "-5, 20.5"'))
    assert made.season_id is not None
    assert world.read(season_info, made.season_id).panel_test == ["-5", "20.5"]
    assert 'test = "-5,20.5"\n' in world.read(season_as_file, world.boss, made.season_id)
    half = CONTESTS.replace("minimum = 3", 'test = "20"')
    with pytest.raises(BadSeasonFile, match=r"contests\.2\.test"):
        applied(world, half)


def test_what_is_not_among_the_contests_is_not_played(world: World) -> None:
    kept = f"contests = []\n{NAMED}"
    made = applied(world, kept)
    assert made.season_id is not None
    season = world.read(season_info, made.season_id)
    assert (season.ladder, season.challenge_games, season.finals, season.panel) == (False, 0, FinalsFormat.NONE, None)
    assert world.read(season_as_file, world.boss, made.season_id).splitlines()[2] == "contests = []"
    finals = (
        f'{NAMED}[[contests]]\nkind = "gate"\n[[contests]]\nkind = "finals"\nformat = "swiss"\nranked_by = "finals"'
    )
    assert applied(world, finals, made.season_id).applied
    season = world.read(season_info, made.season_id)
    assert (season.challenge_games, season.finals, season.finals_log) == (1000, "swiss", "finals")


@pytest.mark.parametrize(
    ("before", "after", "path", "said"),
    [
        ("matches = 20\n", "matches = 0\n", "contests.1.matches", "line 8: it should be at least 1"),
        (
            "matches = 20\n",
            "rounds = 0\n",
            "contests.1.rounds",
            "line 8: there is no such key; there are kind",
        ),
        ('kind = "gate"', 'kind = "gait"', "contests.3.kind", "line 17: choose one of ladder, panel"),
        ('kind = "gate"', 'kind = "ladder"', "contests.3", "line 16: there is a ladder already"),
        ('against = ["boss/rex"]', "", "contests.2.against", "line 10: this is required"),
        ('["boss/rex"]', '["boss/max"]', "contests.2.against", "line 12: "),
        ("rounds = 20", "", "contests.4", "line 20: a Swiss needs rounds"),
        ("rounds = 20", "rounds = 'x'", "contests.4.rounds", "line 24: it should be a whole number"),
        ("12:00:00Z]", "12:00:00]", "contests.4.at", "line 25: it has no offset"),
        ("09:00:00Z", "09:00:00", "contests.5.at", "line 30: it has no offset"),
        ("rounds = 9", "rounds = 900", "contests.5", "line 28: rounds is at most 200"),
        ("rounds = 9", "round = 9", "contests.5.round", "line 33: there is no such key; did you mean rounds"),
        ("keep = 4", "keep = '4'", "contests.5.keep", 'line 34: “keep="4"” needs a whole number'),
        ("further = 20", "further = 2", "contests.6.further", "line 40: “further” must be at least “matches”"),
        ("further = 20", "at = 2027-08-12T09:00:00Z", "contests.6.at", "line 40: there is no such key"),
        ("[[contests]]", "[matches]\nladder = true\n[[contests]]", "contests", "they decide matches.ladder"),
        ('"knockout"', '"league"', "contests.6.format", "line 38: choose one of swiss, round-robin, knockout"),
        ('"knockout"', '"round-robin"', "contests.6", "line 36: only a knock-out has a match for third place"),
    ],
)
def test_a_mistake_in_a_contest_is_at_its_line(world: World, before: str, after: str, path: str, said: str) -> None:
    world.bot("rex", owner=world.boss)
    assert before in CONTESTS
    found = refused(world, CONTESTS.replace(before, after, 1))
    assert said in found[path]


def test_mistakes_are_told_in_the_order_of_the_lines(world: World) -> None:
    text = "[entry]\nrank = 3\n" + CONTESTS.replace("matches = 20\n", "matches = 0\n", 1).replace(
        '"knockout"', '"league"'
    )
    found = list(refused(world, text + "\n[dates]\nopens_at = 3\n"))
    assert found[0] == "entry.rank" and found[-1] == "dates.opens_at", found
    assert found.index("contests.1.matches") < found.index("contests.2.against") < found.index("contests.6.format")


VALUES = ('"swiss"', '"none"', '"a b"', "3", "-1", "0", "true", "inf", '["x"]', "[3]", "{a = 1}", "2027-08-02")


@pytest.mark.parametrize("kind", Kind)
def test_any_value_of_a_word_is_read_or_refused(kind: Kind) -> None:
    for word, value in product({"kind", "name", "at", "from", "counts", *STAGE_WORDS, *SETTINGS.get(kind, {})}, VALUES):
        about = {"kind": f'"{kind}"', word: value}
        read = season_file.read(f"{NAMED}[[contests]]\n" + "\n".join(f"{key} = {about[key]}" for key in about))
        assert all(why for _, why in read.located(read.mistakes))


def test_finals_are_of_one_kind_and_contests_are_tables(world: World) -> None:
    both = f'{CONTESTS}[[contests]]\nkind = "finals"\nformat = "swiss"'
    assert "choose one" in str(season_file.read(both).mistakes)
    assert season_file.read(f"contests = 3\n{NAMED}").mistakes[0][1].startswith("it is a list of tables")
