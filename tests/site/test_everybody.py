"""Every page, as everybody who may see it: accessible in light and dark, on desktop and phone.

The pages are those of the table that says who may see which (`tests/security/table.py`), in its league full of
everything. Added are matches that have real transcripts or wait for an organiser.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, StorageState
from sqlmodel import select

from deadheat.api.pages.texts.markdown import PAGES
from deadheat.engine.games import GAMES
from deadheat.league.jobs import MatchJob
from deadheat.league.service.rankings.standings import refit
from deadheat.league.service.rulings import closing
from deadheat.league.service.series.carrying_out import finish_series
from deadheat.league.service.views.former import evaluations
from deadheat.league.service.views.matches import match_detail
from deadheat.league.states import EvaluationState
from deadheat.league.tables import Series, User
from tests.api.served import served
from tests.lanes import Lane
from tests.league.outcomes import void, won
from tests.security.planted import BY_RANK, NAMES, PlantedLeague
from tests.security.table import TABLE
from tests.security.test_access import path
from tests.site.conftest import League, keeps_out, signed_in_as, watched
from tests.site.leagues import furnish

OTHERWISE = re.compile(
    r"^/(v1|api|healthz|readyz|metrics)\b|/(kits|events|document|stderr|feed|card)\b|^/download/|^/(skill\.md|llms\.txt)$"
)
"""Routes that do not answer with a page."""


class Everything(League):
    """A league in which every page has something to show: the league of the table of access, furnished."""

    def __init__(self, planted: PlantedLeague, url: str) -> None:
        super().__init__(planted.site, furnish(planted.site), url)
        self.planted = planted
        self.held = self._held()
        self.site.world.write(closing.ban, closing.OPERATOR, NAMES["stranger"], "wrote insults")

    def paths(self, role: str) -> list[str]:
        """Return the pages to visit in that role. Only strangers visit theirs, because others see the same there."""
        lines = [line for line in TABLE if line.method == "GET" and not OTHERWISE.search(line.route)]
        alone = [line for line in lines if role == "anonymous" or not line.statuses.startswith("200")]
        shown = [path(self.planted, line) for line in alone if line.status(role) == "200"]
        return [*dict.fromkeys([*shown, *(self._added() if role == "anonymous" else ())])]

    def _added(self) -> list[str]:
        """Return the pages of matches with real transcripts, of the held match and of all games."""
        matches = [f"/matches/{match_id}" for match_id in (*self.matches.values(), self.held)]
        return [*matches, f"/matches/{self.matches['yacht-auction']}#move-3", *(f"/games/{game}" for game in GAMES)]

    def played(self) -> list[str]:
        """Return the pages of a season with a real transcript, its finished evaluation, a bot and an author in it."""
        match = self.site.world.read(match_detail, self.matches["yacht-auction"])
        first, second = match.seats
        season, bot = f"/seasons/{match.season_id}", f"/bots/{first.bot_id}"
        (evaluation,) = self.site.world.read(evaluations, match.season_id)
        assert evaluation.state is EvaluationState.DONE
        of_season = ("", "?q=expert", "/statistics", "/contests", "/participants", "/matches", "/timeouts")
        of_bot = ("", f"/matches?opponent={second.bot_id}", "/opponents")
        pages = [*(f"{season}{page}" for page in of_season), *(f"{bot}{page}" for page in of_bot)]
        return [*pages, f"/contests/{evaluation.id}", f"/authors/{first.author}"]

    def signed_in(self, role: str) -> StorageState | None:
        if role == "anonymous":
            return None
        with self.site.world.db.reading() as session:
            user_id = session.exec(select(User.id).where(User.name == NAMES[role])).one()
        return signed_in_as(self, user_id)

    def _held(self) -> int:
        """Return a held match, which failed twice by our fault while the same seat was to answer."""
        world = self.site.world
        season = world.season(2, series_length=6, games_per_pair=6)
        world.tick()
        with world.db.reading() as session:
            series_id = session.exec(select(Series.id).where(Series.season_id == season)).one()
        spoilt: list[MatchJob] = []
        for last in (False, True):
            job = world.claimed(series_id or 0, f"{world.host.name}:7")
            *spoilt, whole = job.matches
            outcomes = [void(match, seat=1, peak_bytes=5) for match in spoilt] + [won(whole)] * last
            assert world.write(finish_series, job, f"{world.host.name}:7", outcomes)
        world.write(refit, season)
        return spoilt[0].match_id


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Everything]:
    planted = PlantedLeague(tmp_path_factory.mktemp("everything"))
    with served(planted.site.app) as url:
        yield Everything(planted, url)
    planted.close()


IN_KOREAN = pytest.param("ko-KR", marks=pytest.mark.all)


@pytest.mark.parametrize("locale", ["en-US", IN_KOREAN])
@pytest.mark.parametrize("role", ["anonymous", "owner", *BY_RANK])
def test_no_page_keeps_anybody_out(browser: Browser, everything: Everything, role: str, locale: str) -> None:
    """Contrasts are computed from the palette (`test_colours`), and measured in runs of everything."""
    paths = everything.paths(role)
    assert len(paths) >= 7
    dark = Lane.everything and locale == "en-US"
    with watched(browser, everything.url) as opens:
        page = opens("/docs/how-to/rule-on-results", storage_state=everything.signed_in(role), locale=locale)
        assert page.locator("html").get_attribute("lang") == locale[:2]
        problems = []
        for each in paths:
            page.goto(each)
            problems += [f"{each}: {problem}" for problem in keeps_out(page, dark=dark)]
    assert problems == []


@pytest.mark.all
def test_texts_searches_and_a_season_that_was_played_keep_nobody_out(browser: Browser, everything: Everything) -> None:
    texts = [f"/docs/{name}" for name in PAGES]
    with watched(browser, everything.url) as opens:
        page = opens("/docs")
        problems = []
        for each in (*texts, "/search?q=timeout", "/bots?q=author", *everything.played()):
            answer = page.goto(each)
            assert answer is not None and answer.ok, each
            problems += [f"{each}: {problem}" for problem in keeps_out(page)]
    assert problems == []


@pytest.mark.parametrize(("role", "asked"), [("anonymous", "/nothing"), ("owner", "/desk")])
def test_a_refusal_keeps_nobody_out(browser: Browser, everything: Everything, role: str, asked: str) -> None:
    with browser.new_context(base_url=everything.url, storage_state=everything.signed_in(role)) as context:
        page = context.new_page()
        page.goto(asked)
        assert keeps_out(page) == []
