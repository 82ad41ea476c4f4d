"""A match as only the owners of its bots see it: why it was lost, and what was written to stderr."""

from __future__ import annotations

import dataclasses
import html
import re
from pathlib import Path

import pytest
from sqlmodel import select

from deadheat.engine.core import NS_PER_MS, Fault
from deadheat.engine.transcript import Transcript, decode, encode
from deadheat.engine.verdicts import VERDICTS
from deadheat.league.tables import Match, Participant
from deadheat.sandbox.box import Exit
from tests.api.browser import Browser
from tests.api.site import Site
from tests.api.test_matches import Played
from tests.engine.busy import on_a_busy_host
from tests.league.outcomes import attempt, forfeited

TRANSCRIPTS = Path(__file__).parent.parent / "transcripts"

HOSTILE = "</pre><script>alert(1)</script>\n\x1b[31mred\x1b]0;title\x07 \u202egnp.exe \u200b\r\0 end\n"


class Watched(Played):
    """A finished series, and a signed-in browser for each author."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.browsers = {name: Browser(site).sign_in(name) for name in ("ada", "bob")}

    def mine(self, name: str, number: int = 0, status: int = 200) -> str:
        """Return the page of a match as a signed-in person sees it."""
        self.browsers[name].get(f"/matches/{self.ids[number]}/mine", status)
        return html.unescape(self.browsers[name].answer.text)

    def won_by_ada(self, transcript: Transcript) -> int:
        """Play one more match, which Ada wins, with this transcript; return its index in `ids`."""
        number = self.another()
        with self.site.world.db.transaction() as session:
            match = session.exec(select(Match).where(Match.id == self.ids[number])).one()
            match.transcript_sha256 = self.site.blobs.put(encode(transcript))
            for seat in session.exec(select(Participant).where(Participant.match_id == match.id)):
                seat.fault, seat.rank = None, seat.seat + 1
        return number

    def another(self, **endings: str) -> int:
        """Play one more match, in which Ada is too slow on seat 0; return its index in `ids`. `endings`: stderrs."""
        site = self.site
        season = site.world.season(0, series_length=1, games_per_pair=1)
        for headers, bot_id in zip((self.ada, self.bob), self.bots, strict=True):
            site.ok(200, site.client.put(f"/v1/seasons/{season}/entries/{bot_id}", headers=headers))
        job = site.world.claimed()
        exits = {
            seat: Exit(None, 9, True, endings.get(f"seat{seat}", "").encode(), cpu_ns=5, peak_memory_bytes=6)
            for seat in (0, 1)
        }
        told = {"seat": 0, "limit_ns": 500 * NS_PER_MS, "wall_ns": 510 * NS_PER_MS, "own_ns": 509 * NS_PER_MS}
        about = attempt("played", timeouts=[told | {"stolen_ns": NS_PER_MS, "cpu_ns": 3 * NS_PER_MS, "signal": "psi"}])
        outcome = dataclasses.replace(forfeited(job.matches[0], 0), exits=exits, attempts=(about,))
        assert site.world.finish(job, [outcome])
        self.ids.append(outcome.match_id)
        return len(self.ids) - 1


@pytest.fixture
def watched(site: Site) -> Watched:
    return Watched(site)


def test_who_shares_a_bot_sees_it_too_and_nobody_afterwards(watched: Watched) -> None:
    site = watched.site
    eve = site.author("eve")
    watched.browsers["eve"] = Browser(site).sign_in("eve")
    assert "stderr of" not in watched.mine("eve", status=404)
    team = site.ok(201, site.client.post("/v1/teams", json={"name": "lovelace"}, headers=watched.ada))["id"]
    path = f"/v1/teams/{team}"
    site.ok(200, site.client.post(f"{path}/invitations", json={"name": "eve"}, headers=watched.ada))
    site.ok(200, site.client.post(f"{path}/join", headers=eve))
    state = {"state": "frozen"}, {"state": "closed", "force": True}
    for body in state:
        site.ok(200, site.client.patch(f"/v1/seasons/{watched.season}", json=body, headers=site.organiser()))
    site.ok(200, site.client.patch(f"/v1/bots/{watched.bots[0]}", json={"team_id": team}, headers=watched.ada))
    assert "stderr of seat 0" in watched.mine("eve")
    site.ok(200, site.client.delete(f"{path}/members/eve", headers=eve))
    assert "stderr of" not in watched.mine("eve", status=404)


def test_what_is_private_is_kept_nowhere(watched: Watched) -> None:
    """Neither the server nor anybody on the way keeps it for the next reader of the same address."""
    path = f"/matches/{watched.ids[0]}/mine"
    public = f"/matches/{watched.ids[0]}"
    for _ in range(2):
        watched.mine("ada")
        assert watched.browsers["ada"].answer.headers["cache-control"] == "no-store"
        assert "etag" not in watched.browsers["ada"].answer.headers
        assert watched.browsers["ada"].client.get(f"{path}/0/stderr").headers["cache-control"] == "no-store"
        for address in (path, f"{path}/0/stderr"):
            anonymous = watched.site.client.get(address, headers={"Accept": "text/html"})
            sent_to = f"/sign-in?next={address.replace('/', '%2F')}"
            assert (anonymous.status_code, anonymous.headers["location"]) == (303, sent_to)
        assert "stderr of seat 0" not in watched.mine("bob")
        everybody = watched.browsers["ada"].client.get(public).text
        assert everybody == watched.site.client.get(public).text
        assert f'href="{path}"' in everybody and "stderr of seat" not in everybody
    bodies = watched.site.app.state.services.bodies
    assert not [address for address, _ in bodies._addresses if address.startswith(path)]


def test_a_lost_match_is_explained_with_its_evidence_and_cure(watched: Watched) -> None:
    told = " ".join(watched.mine("ada", watched.another(seat0="weights loaded")).split())
    assert "<strong>timeout</strong> at <code>ROLL</code>" in told and VERDICTS[Fault.TIMEOUT].happened in told
    assert VERDICTS[Fault.TIMEOUT].cure[1:] in told and "no line within 500 ms" in told
    assert "limit 500 ms, 510 ms passed, 509 ms of it your program's own" in told
    assert "1.0 ms taken from it by the host, 3.0 ms of CPU time used" in told
    assert "Signal 9 ended it." in told and "still running a second after" in told and 'href="/about/verdicts"' in told
    assert f'href="/bots/{watched.bots[0]}/versions/1"' in told


def test_slow_answers_are_told_by_own_time_with_what_the_host_took(watched: Watched) -> None:
    number = watched.won_by_ada(on_a_busy_host(decode((TRANSCRIPTS / "yacht-auction.jsonl").read_bytes())))
    told = " ".join(watched.mine("ada", number).split())
    assert "The host took 280 ms from 2 replies; 1 counted past the deadline. That cost your bot nothing" in told
    rows = re.findall(r"<code>ROLL [^/]*</code></td>(.*?)</tr>", told)
    cells = [re.sub(r"<[^>]+>", " ", row).split() for row in rows]
    assert ["480", "ms", "150", "ms", "500", "ms", "96.0", "%", "90.0", "ms"] in cells
    other = watched.mine("bob", number)
    assert "The host took" not in other and '<th class="number">The host took' not in other
    page = watched.site.client.get(f"/matches/{watched.ids[number]}", headers={"Accept": "text/html"}).text
    assert "480.0 of 500 ms (the host took 150.0 ms more, so it counted past its deadline)" in page


@pytest.mark.parametrize(("name", "own", "other"), [("ada", 0, 1), ("bob", 1, 0)])
def test_a_match_without_faults_shows_where_its_points_are_from(watched: Watched, name, own: int, other: int) -> None:
    number = watched.won_by_ada(decode((TRANSCRIPTS / "yacht-auction-example.jsonl").read_bytes()))
    told = watched.mine(name, number)
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr>.*?</tr>", told, re.DOTALL)]
    four, total = (["44444", "20,000"], ["44455", "12,000"]), ("282,824", "195,500")
    assert ["four", *four[own], *four[other], "+8,000" if own == 0 else "\N{MINUS SIGN}8,000"] in rows
    assert ["total", total[own], total[other], "+87,324" if own == 0 else "\N{MINUS SIGN}87,324"] in rows
    assert told.index("+87,324" if own == 0 else "\N{MINUS SIGN}87,324") < told.index('id="replay"')
    assert '<details class="record"><summary>Its response times' in told


def test_who_won_is_not_told_the_others_evidence(watched: Watched) -> None:
    told = watched.mine("bob", watched.another(seat0="of ada"))
    assert "Won." in told and "of ada" not in told and "your program's own" not in told and "500.1" not in told


def test_people_count_seats_from_one_and_programs_from_zero(watched: Watched) -> None:
    number = watched.another(seat0="of ada", seat1="of bob")
    match_id = watched.ids[number]
    for seat, name in enumerate(("ada", "bob")):
        told = watched.mine(name, number)
        assert f"Seat {seat + 1}: " in watched.browsers[name].page.text
        assert f'aria-label="Stderr of seat {seat + 1}"' in told
        assert f'href="/matches/{match_id}/mine/{seat}/stderr"' in told
    told = watched.site.client.get(f"/matches/{match_id}").text
    assert re.findall(r'<tr><td class="number">(\d)</td><th scope="row">', told) == ["1", "2"]
    assert [seat["seat"] for seat in watched.site.client.get(f"/v1/matches/{match_id}").json()["seats"]] == [0, 1]


def test_a_match_that_was_not_played_says_so(watched: Watched) -> None:
    assert "Not played and not rated." in watched.mine("ada", 2)


def test_hostile_stderr_is_text(watched: Watched) -> None:
    """Control characters are spelled out, tags are text, and a megabyte is cut."""
    number = watched.another(seat0=HOSTILE + "x" * 1_000_000 + HOSTILE)
    watched.mine("ada", number)
    page = watched.browsers["ada"].page
    raw = watched.browsers["ada"].answer.text
    assert len(raw) < 100_000
    assert page.tags.count("script") == 2, "those of every page: the name, and times"
    assert "</pre><script>alert(1)</script>" in page.text
    assert r"\x1b[31mred\x1b]0;title\x07 \u202egnp.exe \u200b\r� end" in page.text
    assert not set(raw) & set("\x1b\x07\u202e\u200b\0")
    saved = watched.browsers["ada"].client.get(f"/matches/{watched.ids[number]}/mine/0/stderr")
    assert saved.headers["content-type"] == "text/plain; charset=utf-8"
    assert saved.headers["content-disposition"] == f'attachment; filename="match-{watched.ids[number]}.seat1.stderr"'
    assert saved.headers["x-content-type-options"] == "nosniff" and saved.text.endswith(HOSTILE.replace("\0", "\ufffd"))


def test_the_store_may_have_lost_the_transcript(watched: Watched) -> None:
    """The page still shows what the database has (the second match never had a transcript)."""
    told = watched.mine("bob", 1)
    assert VERDICTS[Fault.TIMEOUT].happened in told
    assert "See it in the replay" not in told and "deadheat explain" not in told
