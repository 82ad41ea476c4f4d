"""The pages: what they say, that hostile text stays text, and that nothing comes from elsewhere."""

import dataclasses
import io
import json
import re
from html.parser import HTMLParser

import pytest
from sqlmodel import select

from deadheat.api.pages import bot, game
from deadheat.api.pages.render import ms, shown
from deadheat.api.pages.texts.markdown import PAGES
from deadheat.api.services import SITE
from deadheat.engine.figures import bars, nice
from deadheat.engine.games import GAMES
from deadheat.league.jobs import FaultRecord, Latency
from deadheat.league.records.rankings import TALLIES
from deadheat.league.service.rankings.standings import leaderboard, refit
from deadheat.league.service.rulings.rulings import rejudge_match, void_match
from deadheat.league.service.seasons.divisions import assign_division
from deadheat.league.service.seasons.entries import enter
from deadheat.league.states import Ranks, SeasonState
from deadheat.league.tables import Participant
from deadheat.league.time_buckets import bucket
from deadheat.sandbox.archive import Bounds, inspect_zip
from deadheat.sandbox.languages import detect
from tests.api.site import Site
from tests.api.test_live_matches import a_second_passes
from tests.api.test_matches import Played
from tests.league.outcomes import forfeited, won
from tests.league.people import GAME

HTML = {"Accept": "text/html"}


class Page(HTMLParser):
    """Collects the parts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "action"}]

    def handle_data(self, data: str) -> None:
        self.text += data


def page(site: Site, path: str, status: int = 200) -> Page:
    answer = site.client.get(path, headers=HTML)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    found = Page(answer.text)
    assert found.tags.count("h1") == 1 and "style" not in found.tags
    assert not any(name == "style" or name.startswith("on") for name in found.attributes)
    found.links = [link for link in found.links if not link.startswith("#")]
    assert all(link.startswith("/") and not link.startswith("//") for link in found.links)
    return found


def test_every_link_of_every_page_leads_somewhere(played: Played) -> None:
    site = played.site
    site.world.write(refit, played.season)
    todo, done = ["/"], set[str]()
    while todo:
        path = todo.pop()
        if path in done:
            continue
        done.add(path)
        answer = site.client.get(path, headers=HTML)
        if path.startswith("/language/"):
            continue  # redirects to where the request came from
        if path == f"/v1/matches/{played.ids[1]}/transcript":
            continue  # this test never stored its transcript
        if answer.status_code == 303:  # only for people who have signed in
            assert answer.headers["location"].startswith("/sign-in"), path
            continue
        assert answer.status_code == 200, path
        if answer.headers["content-type"].startswith("text/html"):
            todo += page(site, path).links
    assert {f"/seasons/{played.season}", f"/matches/{played.ids[0]}", "/static/site.css"} <= done


def test_a_leaderboard_shows_ratings_with_their_intervals(site: Site) -> None:
    season = site.world.season(3, series_length=2, games_per_pair=2)
    assert "No ranking yet" in page(site, f"/seasons/{season}").text
    assert "No ranking" in page(site, f"/seasons/{season}/statistics").text
    site.world.play_all()
    site.world.write(refit, season)
    site.app.state.services.bodies._seconds = lambda: 10**9
    found = page(site, f"/seasons/{season}")
    assert found.tags.count("svg") == 6  # an interval and a bar of results for each
    assert "±" in found.text
    assert "1=" in found.text and "1\u20133" in found.text  # a tie, and its interval
    assert {"/docs/why/ratings", f"/seasons/{season}/statistics"} <= set(found.links)
    beside = page(site, f"/seasons/{season}/statistics")
    assert "What a seat is worth" in beside.text and "Who took points from whom" in beside.text
    assert beside.text.count("1/2") == 6
    assert {"/bots/1", "/bots/2", "/bots/3"} <= set(beside.links)
    assert "6 matches ranked" in found.text


@pytest.mark.parametrize("ranked", [False, True])
def test_matches_that_do_not_count_are_counted_apart(site: Site, ranked: bool) -> None:
    season = site.world.season(3, series_length=2, games_per_pair=2)
    site.world.play_all()
    site.world.write(void_match, site.world.boss, 1, "a cosmic ray")
    site.world.write(rejudge_match, site.world.boss, 2, "another")
    if ranked:
        site.world.write(refit, season)
    told = f"4 matches {'ranked' if ranked else 'played'}, 1 to come, 2 that do not count"
    assert told in page(site, f"/seasons/{season}").text


@pytest.mark.parametrize(("seats", "ranks"), [(3, Ranks.PLACEMENT), (3, Ranks.WINS), (2, Ranks.PLACEMENT)])
def test_at_tables_of_three_and_more_pages_say_what_is_counted(site: Site, seats: int, ranks: Ranks) -> None:
    season = site.world.ranked(3, game="liars-dice", seats=seats, ranks=ranks, series_length=seats, games_per_pair=2)
    for path in (f"/seasons/{season}", "/bots/1"):
        text = page(site, path).text
        assert [told in text for told in TALLIES.values()] == [seats > 2 and ranks is one for one in TALLIES]


def test_divisions_stand_apart_and_have_pages_of_their_own(site: Site) -> None:
    season = site.world.season(4, series_length=2, games_per_pair=2, divisions=[("Gold", None), ("Silver", None)])
    with site.world.db.transaction() as session:
        for bot_id in (1, 2):
            assign_division(session, site.world.boss, season, bot_id, 1)
    site.world.play_all()
    site.world.write(refit, season)
    text = page(site, f"/seasons/{season}").text
    assert text.index("Gold") < text.index("Silver") and "1\u20132" in text
    alone = site.client.get(f"/seasons/{season}?division=1").text
    board = alone[alone.index('id="board"') : alone.index('id="newest"')]
    assert set(re.findall(r"/bots/(\d+)\"", board.split("<details>")[0])) == {"1", "2"}


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("start/author", "/docs/reference/verdicts"),
        ("start/player", "/games/liars-dice"),
        ("start/organiser", "/docs/reference/season-file"),
    ],
)
def test_what_people_should_know_has_a_page_that_the_index_leads_to(site: Site, name: str, link: str) -> None:
    assert "/docs" in page(site, "/").links and f"/docs/{name}" in page(site, "/docs").links
    assert link in page(site, f"/docs/{name}").links


OF_DEVELOPERS = {
    "how-to/change-the-code",
    "reference/commands",
    "how-to/add-a-game",
    "why/architecture",
    "start/contributor",
}
"""Pages for people who have the files."""


@pytest.mark.parametrize("path", [*(f"/docs/{name}" for name in PAGES), *(f"/games/{name}" for name in GAMES)])
def test_no_text_sends_people_to_a_file(site: Site, path: str) -> None:
    found = page(site, path)
    named = re.findall(r"\b[\w-]+\.md\b", found.text)
    assert path.removeprefix("/docs/") in OF_DEVELOPERS or not named
    for address in found.links:
        assert site.client.get(address, headers=HTML).status_code in {200, 303}, address


def test_a_match_page_tells_everything(played: Played) -> None:
    site = played.site
    text = re.sub(r"\s+", " ", page(site, f"/matches/{played.ids[0]}").text)
    assert "ada/greedy won." in text and f"deadheat verify {played.ids[0]}" in text
    assert text.count("5.00") >= 2 and "0.2 %" in text  # the mean, the slowest, and its share of the limit
    assert "roll" in text and "12345" in text
    text = re.sub(r"\s+", " ", page(site, f"/matches/{played.ids[2]}").text)
    assert "from running (host-unknown)" in text
    assert "stolen_ms 1.5" in text


def test_a_fault_is_explained_word_for_word(site: Site) -> None:
    site.world.season(2, series_length=1, games_per_pair=1)
    job = site.world.claimed()
    why = "<script>alert(1)</script> \u202e\x1b[31m & 500 ms"
    plain = forfeited(job.matches[0], 1)
    told = FaultRecord(1, plain.faults[0].fault, "ROLL", 500.1, why)
    sha256 = site.blobs.put(b"")
    assert site.world.finish(job, [dataclasses.replace(plain, faults=(told,), transcript_sha256=sha256)])
    text = page(site, "/matches/1").text  # although the stored bytes are no transcript
    assert "<script>alert(1)</script> \\u202e\\x1b[31m & 500 ms" in text and "timeout" in text and "500.100 ms" in text
    assert "<script>" not in site.client.get("/matches/1").text
    (found,) = site.ok(200, site.client.get("/v1/matches"))["items"]
    assert found["seats"][1]["fault"]["why"] == why


def test_hostile_text_stays_text(played: Played) -> None:
    site = played.site
    answer = site.client.get(f"/matches/{played.ids[0]}")
    assert "<script>" not in answer.text and "&lt;script&gt;\\u202e\\x1b[31m" in answer.text
    assert "\u202e" not in answer.text and "\x1b" not in answer.text


def test_a_browser_gets_a_page_for_what_is_not_there(site: Site) -> None:
    hidden = [f"/about/{name}" for name in ("decisions", "..%2Fpyproject", "leaderboard")]
    hidden += [f"/docs/{name}" for name in ("decisions/site", "..%2F..%2Fpyproject", "why/..%2F..%2FREADME", "x/y")]
    for path in ("/seasons/99", "/matches/99", "/nothing", *hidden):
        assert "404" in page(site, path, 404).text
    for path in ("/bots/abc", "/matches/-1", "/seasons/1e9/matches", "/authors/" + "a" * 33, "/nothing"):
        assert "is no page at this address." in page(site, path, 404).text
    assert "<script>" not in site.client.get("/<script>", headers=HTML).text


def test_no_template_or_style_names_another_host() -> None:
    for path in SITE.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        for unfetched in ("http://www.w3.org/2000/svg", "such as https://discord.com/"):
            text = text.replace(unfetched, "")
        assert not re.search(r"https?:|//cdn|@import|url\(", text), path


def test_control_and_direction_marks_are_spelled_out() -> None:
    assert shown("a\x1b[0m\u202eb\u2066\n") == "a\\x1b[0m\\u202eb\\u2066\\n"
    assert shown("größe 猫") == "größe 猫"
    assert shown([1, {"a": None}]) == '[1, {"a": null}]'
    assert shown("x" * 1000) == "x" * 300 + "..."


@pytest.mark.parametrize(
    ("nanoseconds", "text"), [(0, "0.00"), (1_234_567, "1.23"), (45_678_900, "45.7"), (3e9, "3000")]
)
def test_milliseconds_have_three_figures(nanoseconds: float, text: str) -> None:
    assert ms(nanoseconds) == text


def test_bars_share_one_scale() -> None:
    rows = [{"low": 1400, "elo": 1500, "high": 1600}, {"low": 1200, "elo": 1300, "high": 1400}]
    assert [(bar.low, bar.middle, bar.high) for bar in bars(rows)] == [(50, 75, 100), (0, 25, 50)]
    assert bars([]) == []


def test_the_audit_page_shows_faults_failures_and_decisions(site: Site) -> None:
    played = Played(site)
    site.world.write(refit, played.season)
    boss = site.organiser()
    why = {"reason": "<b>the host</b> \u202e"}
    site.ok(200, site.client.post(f"/v1/matches/{played.ids[0]}/void", json=why, headers=boss))
    title = {"title": "<i>News</i>", "text": "one\ntwo"}
    site.ok(201, site.client.post("/v1/announcements", json=title, headers=boss))
    page = site.client.get("/audit").text
    assert f'voided <a href="/matches/{played.ids[0]}">match {played.ids[0]}</a>' in page
    assert "&lt;b&gt;the host&lt;/b&gt; \\u202e" in page
    assert "50.0 %" in page, "one time-out in two matches"
    assert "&lt;b&gt;the host&lt;/b&gt;" in site.client.get(f"/matches/{played.ids[0]}").text
    for address in ("/", f"/seasons/{played.season}"):
        assert "&lt;i&gt;News&lt;/i&gt;" in site.client.get(address).text
    site.problem(422, site.client.get("/audit?cursor=x", headers={"accept": "application/json"}), "bad-cursor")


def test_a_leaderboard_is_searched_filtered_and_paged(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deadheat.api.pages.season.ROWS", 2)
    season = site.world.ranked(5, series_length=2, games_per_pair=2)
    rows = site.world.write(leaderboard, season).standings["rows"]

    def names(query: str) -> list[str]:
        links = page(site, f"/seasons/{season}{query}").links
        shown = [int(link.removeprefix("/bots/")) for link in links if re.fullmatch(r"/bots/\d+", link)]
        return [row["bot"] for row in rows if row["bot_id"] in shown]

    monkeypatch.setattr("deadheat.api.pages.season.RECENT_MATCHES", 0)
    everybody = [row["bot"] for row in rows]
    assert [names(f"?page={number}") for number in (1, 2, 3)] == [everybody[:2], everybody[2:4], everybody[4:]]
    assert f"/seasons/{season}?page=3" in page(site, f"/seasons/{season}").links
    one = rows[3]
    assert names(f"?q={one['author'].upper()}") == [one["bot"]]
    assert "None of the 5 bots matches" in page(site, f"/seasons/{season}?q=nobody").text
    assert names("?language=python") == everybody[:2]
    assert names("?language=cobol") == []
    assert f"/seasons/{season}?page=2&language=python" in page(site, f"/seasons/{season}?language=python").links


def test_hostile_searches_stay_text(site: Site) -> None:
    season = site.world.ranked(2, series_length=2, games_per_pair=2)
    answer = site.client.get(f"/seasons/{season}", params={"q": '"><script>&'})
    assert '"><script>' not in answer.text
    assert site.client.get(f"/seasons/{season}?q={'x' * 65}").status_code == 422


def test_a_bots_page_tells_what_its_author_wants_to_know(played: Played) -> None:
    site = played.site
    with site.world.db.transaction() as session:
        refit(session, played.season)
        of_loser = (Participant.match_id == played.ids[1], Participant.seat == 0)
        loser = session.exec(select(Participant.bot_id).where(*of_loser)).one()
    [other] = set(played.bots) - {loser}
    found = page(site, f"/bots/{loser}")
    text = re.sub(r"\s+", " ", found.text)
    author = "ada" if loser == played.bots[0] else "bob"
    assert f"by {author}" in text and "1 version" in text
    assert "timeout 1: v1 1" in text and "no line within 500 ms" in text
    assert f"/matches/{played.ids[1]}" in found.links
    assert {f"/bots/{other}", f"/authors/{author}", f"/seasons/{played.season}"} <= set(found.links)
    assert f"/bots/{loser}/opponents?season={played.season}" in found.links
    assert "greedy" in page(site, "/authors/ADA").text
    for path in ("/bots/99", "/authors/nobody", f"/bots/{played.bots[0]}?season=99", "/games/chess"):
        page(site, path, 404)


def test_a_bots_opponents_are_listed_page_by_page(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    season = site.world.season(3, series_length=4, games_per_pair=4)
    site.world.play_all()
    path = f"/bots/1/opponents?season={season}"
    monkeypatch.setattr(bot, "OPPONENTS", 1)
    first, second = (page(site, f"{path}&page={number}") for number in (1, 2))
    assert {f"/bots/1?season={season}", f"/bots/1/opponents?page=2&season={season}"} <= set(first.links)
    met = [[link for link in one.links if "opponent=" in link] for one in (first, second)]
    links = sorted(link for links in met for link in links)
    assert links == [f"/bots/1/matches?opponent={number}" for number in (2, 3)]
    assert met[0] != met[1] and "the bot's newest 5,000" in first.text
    assert "None in this season." in page(site, f"{path}&page=3").text
    page(site, "/bots/1/opponents?season=99", 404)


def test_response_times_are_told_as_shares_of_their_limit(site: Site) -> None:
    season = site.world.season(2, series_length=1, games_per_pair=1)
    job = site.world.claimed()
    limit = 500_000_000
    counts = {bucket(2_000_000, limit): 98, bucket(310_000_000, limit): 2}
    timed = Latency(0, "ROLL", limit, 100, 816_000_000, 310_000_000, counts)
    assert site.world.finish(job, [dataclasses.replace(won(job.matches[0]), latencies=(timed,))])
    with site.world.db.transaction() as session:
        refit(session, season)
        [bot_id] = session.exec(select(Participant.bot_id).where(Participant.seat == 0)).all()
    text = re.sub(r"\s+", " ", page(site, f"/bots/{bot_id}").text)
    share = re.search(r"ROLL: 99 % of its answers use up to (\d+) % of the limit", text)
    assert share is not None
    assert 62 <= int(share[1]) <= 68
    assert site.client.get(f"/seasons/{season}").text.count('class="spark"') == 1


def test_a_bots_history_is_drawn(site: Site) -> None:
    season = site.world.season(2, games_per_pair=None)
    for _ in range(3):
        assert site.world.finish(site.world.claimed(site.world.tick()[0]))
        site.world.clock.turn(60)
        assert site.world.write(refit, season)
    text = site.client.get("/bots/1").text
    line = re.search(r'class="rating" points="([^"]+)"', text)
    band = re.search(r'class="band" points="([^"]+)"', text)
    assert line is not None and band is not None and len(line[1].split()) == 3
    assert len(band[1].split()) == 6
    assert ">v1</text>" in text


def test_a_games_page_has_its_rules_and_kits_that_could_be_uploaded(site: Site) -> None:
    for name in GAMES:
        found = page(site, f"/games/{name}")
        assert "for bot authors" in found.text
        kits = [link for link in found.links if link.endswith(".zip")]
        assert f"/games/{name}/kits/starter.zip" in kits
        for link in kits:
            files, manifest = inspect_zip(io.BytesIO(site.client.get(link).content), Bounds())
            detect("kit.zip", files, manifest)  # raises LanguageError
    for path in ("/games/yacht-auction/kits/none.zip", "/games/yacht-auction/kits/..zip"):
        assert site.client.get(path).status_code == 404


def test_round_numbers_enclose_what_is_drawn() -> None:
    assert list(nice(1432, 1571)) == [1400, 1450, 1500, 1550, 1600]
    assert list(nice(0.1, 0.2, 2)) == pytest.approx([0.1, 0.15, 0.2])
    assert len(list(nice(5, 5))) == 2


def test_home_tells_what_is_going_on(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deadheat.api.pages.home.SEASONS", 2)
    seasons = [site.world.season(2) for _ in range(3)]
    [series_id, *_] = site.world.tick()
    assert site.world.claim(series_id) is not None
    found = page(site, "/")
    text = re.sub(r"\s+", " ", found.text)
    assert "2 matches in" in text
    assert re.search(r"bot\d+ v1 by author\d+ ready", text)
    assert f"/seasons/{seasons[2]}" in found.links and f"/?before={seasons[1]}" in found.links
    older = page(site, f"/?before={seasons[1]}")
    assert f"/seasons/{seasons[0]}" in older.links and "Being played" not in older.text


def test_a_bots_own_tables_are_for_download(site: Site) -> None:
    season = site.world.season(4, series_length=2, games_per_pair=2)
    site.world.play_all()
    address = f"/v1/seasons/{season}/export/participants.jsonl"
    everything = site.client.get(address).text.splitlines()
    own = [json.loads(line) for line in site.client.get(f"{address}?bot=1").text.splitlines()]
    assert len(everything) == 2 * 12 and len(own) == 2 * 6
    matches: dict[int, set[int]] = {}
    for row in own:
        matches.setdefault(row["match_id"], set()).add(row["bot_id"])
    assert all(len(bots) == 2 and 1 in bots for bots in matches.values()), "with whom it met"
    for table, rows in (("matches", 6), ("latencies", 12), ("attempts", 6), ("entries", 1)):
        answer = site.client.get(f"/v1/seasons/{season}/export/{table}.jsonl?bot=1")
        assert len(answer.text.splitlines()) == rows, table
        assert f"season-{season}-bot-1-{table}.jsonl" in answer.headers["content-disposition"]
    assert f"/v1/seasons/{season}/export/participants.csv?bot=1" in page(site, "/bots/1").links


def test_a_reader_by_keyboard_can_skip_the_menu(site: Site) -> None:
    text = site.client.get("/games").text
    body = text[text.index("<body>") :]
    assert body.index('href="#live"') < body.index("<header") and 'id="live" tabindex="-1"' in body


def test_a_bots_page_opens_on_the_season_with_most_of_its_matches(site: Site) -> None:
    world = site.world
    bots = [world.bot() for _ in range(2)]
    long, short = (world.season(0, series_length=2, games_per_pair=games) for games in (8, 2))
    for season in (long, short):
        for owner, bot_id in bots:
            world.write(enter, owner, season, bot_id)
    world.play_all()
    for season in (long, short):
        world.write(refit, season)
    text = site.client.get("/bots/1").text
    assert f"/v1/seasons/{long}/export/participants.csv" in text

    world.set_state(long, SeasonState.CLOSED)
    a_second_passes(site)
    assert f"/v1/seasons/{short}/export/participants.csv" in site.client.get("/bots/1").text, "it runs"


def test_a_leaderboard_divides_faults_by_all_matches_that_the_version_finished(site: Site) -> None:
    season = site.world.season(2, series_length=4, games_per_pair=4)
    job = site.world.claimed()
    assert site.world.finish(job, [*(forfeited(one, 0, 1) for one in job.matches[:3]), won(job.matches[3])])
    site.world.write(refit, season)
    assert site.client.get(f"/seasons/{season}").text.count('<span class="note">75.0 %</span><svg') == 2


def test_a_game_names_a_season_that_has_no_results_yet_or_what_to_do_until_then(site: Site) -> None:
    assert {f"/games/{name}#kits" for name in GAMES} <= set(page(site, "/games").links)
    site.world.season(0)
    a_second_passes(site)
    found = page(site, "/games")
    assert "/seasons/1" in found.links and f"/games/{GAME}#kits" not in found.links


@pytest.mark.parametrize("name", GAMES)
def test_a_game_begins_with_what_it_is_and_what_one_can_do(site: Site, name: str) -> None:
    begun = page(site, f"/games/{name}")
    assert " players " in begun.text[: begun.text.index("Play it now")] and "Watch" not in begun.text
    assert f"/play#{name}" in begun.links and f"/sign-up?next=/submit%3Fgame%3D{name}" in begun.links
    site.world.season(2, game=name)
    site.world.play_all()
    a_second_passes(site)
    newest = page(site, f"/games/{name}")
    assert "Watch" in newest.text and newest.links.count("/matches/4") == 2
    assert game.sentence(name, "ko") != game.sentence(name, "en")


def test_a_season_says_how_many_bots_it_waits_for(site: Site) -> None:
    season = site.world.season(2, game="liars-dice", seats=4)
    assert "A match takes 4 bots: 2 seats are still open." in page(site, f"/seasons/{season}").text
    assert "a match takes 4 bots, and 2 are missing" in page(site, "/bots/1").text
    site.world.entrant(season, game="liars-dice")
    site.world.entrant(season, game="liars-dice")
    a_second_passes(site)
    assert "still open" not in page(site, f"/seasons/{season}").text


def test_a_kit_that_this_server_would_refuse_is_not_offered() -> None:
    offered = {kit.name for _, group in game.grouped(game.kits("yacht-auction"), {"python"}) for kit in group}
    assert "hello-python" in offered and not offered & {"hello-c", "hello-rust", "hello-java"}


def test_an_empty_league_says_what_it_is(site: Site) -> None:
    assert "This is a league for programs" in page(site, "/").text
    other = site.beside()
    other.world.season(2)
    assert "This is a league for programs" not in page(other, "/").text
