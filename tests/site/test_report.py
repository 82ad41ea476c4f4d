"""The report of a tournament and a match in a file, opened from the disk as readers do."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from deadheat.cli.local.report import BANK
from deadheat.cli.tournament import report, times
from deadheat.cli.tournament.records import read
from deadheat.cli.tournament.report import write
from deadheat.cli.tournament.standings import standings_of
from tests.cli.command import invoke
from tests.site.conftest import PHONE, keeps_out, watched
from tests.site.leagues import TRANSCRIPTS
from tests.site.tournament import STRANGE, tournament

GAMES = ("yacht-auction", "yacht-auction-forfeit", "yacht-auction-busy", "yacht-auction-example")
FAULTY = 2


class Elements(HTMLParser):
    """The elements of a page: their attributes by name, and what scripts and styles contain."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.within = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.inside.append("")
        self.within = True

    def handle_endtag(self, tag: str) -> None:
        self.within = False

    def handle_data(self, data: str) -> None:
        if self.within:
            self.inside[-1] += data


def test_a_report_is_one_file_that_asks_for_nothing_and_runs_only_its_own(tmp_path: Path) -> None:
    page = Elements(write(tournament(tmp_path, GAMES)).read_text(encoding="utf-8"))
    contents = [
        (tag, attributes, inside)
        for (tag, attributes), inside in zip(page.found, page.inside, strict=True)
        if tag in {"script", "style"}
    ]
    data = {"application/json", "text/plain"}
    ours = [(tag, inside) for tag, attributes, inside in contents if attributes.get("type") not in data]
    assert [tag for tag, _ in ours] == ["style", "script"], "and no script of a name"
    policy = next(a["content"] for _, a in page.found if a.get("http-equiv") == "Content-Security-Policy")
    for tag, inside in ours:
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in (policy or "")
    assert "default-src 'none'" in (policy or "") and "unsafe" not in (policy or "")
    names = {name for _, attributes in page.found for name in attributes}
    assert not names & {"src", "style", "srcset"} and not {name for name in names if name.startswith("on")}
    links = {attributes.get("href") or "#" for _, attributes in page.found}
    assert all(link.startswith("#") for link in links)
    assert "url(" not in ours[0][1] and "@import" not in ours[0][1]


def test_a_torn_last_line_is_left_out_and_a_kept_game_that_is_gone_as_well(tmp_path: Path) -> None:
    folder = tournament(tmp_path, GAMES)
    with (folder / "games.jsonl").open("a") as log:
        log.write('{"number": 5, "pla')
    (folder / "games" / "000001.jsonl").unlink()
    (folder / "games" / "000003.jsonl").write_text("not a transcript\n")
    text = write(folder, tmp_path / "elsewhere.html").read_text(encoding="utf-8")
    assert "2 of 4 games can be watched here; 2 other transcripts would make this file too large, or cannot be" in text
    assert re.findall(r'id="kept-(\d)"', text) == ["2", "4"]


def test_games_with_faults_come_first_where_not_all_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_KEPT_BYTES", 1500)
    text = report.write(tournament(tmp_path, GAMES)).read_text(encoding="utf-8")
    assert re.findall(r'id="kept-(\d)"', text) == [str(FAULTY)]


def test_pairs_are_counted_by_the_dice_that_games_share(tmp_path: Path) -> None:
    met = standings_of(*read(tournament(tmp_path, [GAMES[0], GAMES[0], GAMES[2]]))).meetings
    won, lost = met[0, 1], met[1, 0]
    assert (sum(won.score), won.pairs[1], lost.pairs[1]) == (3, 0, 0)
    assert {won.pairs, lost.pairs} == {(1, 0, 0), (0, 0, 1)}, "the third game has no other half"


def test_a_time_bank_is_one_limit_for_all_answers_but_ready(tmp_path: Path) -> None:
    played = standings_of(*read(tournament(tmp_path, ["betris-large-bank"])))
    (game,) = played.games.values()
    answers = times.answers_of(game, 0, played.about.bank_ms)
    moves = [one for command, one in answers.items() if command not in {"READY", BANK}]
    used_ms = sum(value * count for one in moves for value, count in one.own_ms)
    ((value, count),) = answers[BANK].own_ms
    assert (answers[BANK].limit_ms, count) == (10_000, 1)
    assert value == pytest.approx(used_ms, rel=0.05) and used_ms > 0
    data = times.what_if(times.rows(played), played)
    assert len([moves for games in data["nearest"] for moves, _, _ in games]) == 2 - len(game.faults)


def wait_for_move(page: Page, place: int) -> None:
    expect(page.locator("[data-part=where]")).to_contain_text(f"move {place} of")


def test_a_report_is_read_watched_and_asked_what_if(browser: Browser, tmp_path: Path) -> None:
    file = write(tournament(tmp_path, GAMES))
    with watched(browser, tmp_path.as_uri()) as opens:
        page = opens(file.as_uri())
        expect(page.locator("#listed")).to_have_text("4 of 4 games.")
        _ask_what_if(page)
        page.locator("#list a", has_text=str(FAULTY)).click()
        expect(page.locator(".watched > h3")).to_contain_text(f"Game {FAULTY}: expert \u2013 \u2026")
        page.get_by_role("button", name="Fault").click()
        expect(page.locator("[data-part=words]")).to_contain_text("fails by malformed at SCORE")
        expect(page).to_have_url(re.compile(rf"#game-{FAULTY}-move-\d+$"))
        page.locator("#list a", has_text="4").click()
        wait_for_move(page, 18)
        page.keyboard.press("ArrowRight")
        wait_for_move(page, 19)
        page.get_by_text("Lines as sent").click()
        expect(page.locator("[data-part=lines] pre")).to_contain_text("<< ROLL")
        page.locator("#kind").select_option("fault")
        expect(page.locator("#list tbody tr")).to_have_count(1)
        page.locator(".score").first.click()
        expect(page.locator("#list tbody tr")).to_have_count(4)
        assert keeps_out(page, dark=True) == []  # it has mixed grounds
        page.set_viewport_size(PHONE)
        heights = page.locator("table").first.evaluate("one => [...one.tBodies[0].rows].map((row) => row.offsetHeight)")
        assert max(heights) < 60, "a cell out of sight does not stretch its row"


def _ask_what_if(page: Page) -> None:
    """Check that the page's answer follows from its data, by computing every answer and every game here."""
    told = page.locator("#whatif-told")
    expect(told).to_contain_text("0 more games lost.")
    page.locator("#limit").fill("-12")  # an eighth of each limit
    page.locator("#load").fill("2")
    data = json.loads(page.locator("#whatif").inner_text() or page.locator("#whatif").text_content() or "")
    answers = [
        (value * 2 > limit * (1 if command == "READY" else 2**-3), count)
        for _, command, limit, own in data["rows"]
        for value, count in own
    ]
    late, every = sum(count for is_late, count in answers if is_late), sum(count for _, count in answers)
    lost = sum(moves * 2 > 2**-3 or ready * 2 > 1 for games in data["nearest"] for moves, ready, _ in games)
    assert 0 < late < every and 0 < lost < 8
    expect(told).to_contain_text(f"({late} of {every}), {lost} more games lost.")
    assert page.locator(".spark .over").count() > 0
    page.get_by_role("button", name="As played").click()
    expect(told).to_contain_text("0 more games lost.")


@pytest.mark.parametrize("name", ["betris-large", "liars-dice-six", "yacht-auction-double-fault"])
def test_a_transcript_is_viewed_from_the_disk(browser: Browser, tmp_path: Path, name: str) -> None:
    file = tmp_path / "match.html"
    done = invoke("view", str(TRANSCRIPTS / f"{name}.jsonl"), "--output", str(file))
    assert (done.returncode, done.stdout) == (0, f"{file}\n"), done.stderr
    with watched(browser, tmp_path.as_uri()) as opens:
        page = opens(f"{file.as_uri()}#move-2")
        wait_for_move(page, 3)
        assert page.locator("[data-part=stage] *").count() > 10
        page.get_by_role("button", name="Last move").click()
        expect(page.locator("[data-part=words]")).to_have_text(page.locator(".result").inner_text())
        assert name != "yacht-auction-double-fault" or keeps_out(page) == []


def test_names_are_shown_with_their_marks(tmp_path: Path) -> None:
    text = write(tournament(tmp_path, GAMES[:1])).read_text(encoding="utf-8")
    assert "\u202e" in STRANGE and "\u202e" not in text and "\\u202e" in text
