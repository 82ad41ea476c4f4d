"""Matches: lists, evidence, transcripts, and what only authors see."""

import dataclasses

import obstore
import zstandard

from deadheat.engine.chance import commitment
from deadheat.engine.core import Message, Reply
from deadheat.engine.transcript import Exchange, Transcript, decode, encode
from deadheat.league.blobs import _path
from deadheat.league.jobs import Failure, MatchOutcome, SeriesJob
from deadheat.league.outcomes import latencies
from tests.api.site import Site
from tests.league.outcomes import abandoned, forfeited, won
from tests.league.people import GAME
from tests.league.world import release_series


def transcript(job: SeriesJob, number: int = 0) -> bytes:
    """Return the transcript of a very short match, won by its first seat as in `won`."""
    match = job.matches[number]
    events = ({"type": "roll", "round": 1, "a": "12345"}, {"type": "odd", "text": "<script>\u202e\x1b[31m"})
    exchange = Exchange((Message(0, "READY", 3_000_000_000),), {0: Reply("OK", 5_000_000)}, events)
    result = won(match).result
    assert result is not None
    about = {"match": match.match_id, "players": [job.programs[version].label for version in match.seats]}
    return encode(Transcript(GAME, 99, 2, match.seed, (exchange,), result, about, match.attempt))


def stored(site: Site, job: SeriesJob, number: int = 0) -> MatchOutcome:
    """Store that transcript, and return the outcome that agrees with it."""
    content = transcript(job, number)
    first = won(job.matches[number])
    return dataclasses.replace(first, transcript_sha256=site.blobs.put(content), latencies=latencies(decode(content)))


class Played:
    """A season with a finished series: a win, a forfeit with a void attempt before it, an abandoned match."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.ada, self.bob = site.author("ada"), site.author("bob")
        self.bots = []
        self.season = site.world.season(0, series_length=3, games_per_pair=3)
        for headers in (self.ada, self.bob):
            bot_id = site.bot(headers)
            site.version(headers, bot_id)
            site.ok(200, site.client.put(f"/v1/seasons/{self.season}/entries/{bot_id}", headers=headers))
            self.bots.append(bot_id)
        (self.series,) = site.world.tick()
        self.waiting = site.ok(200, site.client.get("/v1/matches"))["items"]
        job = site.world.claimed(self.series)
        self.job = job
        outcomes = [stored(site, job), forfeited(job.matches[1], 0), abandoned(job.matches[2])]
        assert site.world.finish(job, outcomes)
        self.ids = [match.match_id for match in job.matches]


def test_a_match_tells_how_it_ended(played: Played) -> None:
    site = played.site
    won_, lost, void = (site.ok(200, site.client.get(f"/v1/matches/{match_id}")) for match_id in played.ids)
    assert [seat["rank"] for seat in won_["seats"]] == [1, 2]
    assert [seat["points"] for seat in won_["seats"]] == ["2000", "1000"]
    assert [seat["author"] for seat in won_["seats"]] == ["ada", "bob"]
    slow = {"limit_ns": 3_000_000_000, "prompts": 1, "mean_ns": 5_000_000, "worst_ns": 5_000_000}
    assert won_["latencies"] == [slow | {"seat": 0, "command": "READY"}]
    late = {"fault": "timeout", "command": "ROLL", "elapsed_ms": 500.1, "why": "no line within 500 ms"}
    assert lost["seats"][0]["fault"] == late
    assert [seat["points"] for seat in lost["seats"]] == [None, None]
    assert [(attempt["cause"], attempt["evidence"]) for attempt in lost["attempts"]] == [
        ("referee-late", {"late_ns": 7}),
        ("played", {}),
    ]
    assert (void["state"], void["rated"], len(void["attempts"])) == ("abandoned", False, 3)


def test_a_seed_is_published_only_with_the_result(played: Played) -> None:
    assert [match["seed"] for match in played.waiting] == [None] * 3
    assert all(len(match["commitment"]) == 64 for match in played.waiting)
    found = played.site.ok(200, played.site.client.get("/v1/matches"))["items"]
    committed = {match["id"]: match["commitment"] for match in played.waiting}
    assert {match["id"]: match["commitment"] for match in found} == committed
    for match in found:
        if match["state"] == "abandoned":
            assert match["seed"] is None
        else:
            assert commitment(bytes.fromhex(match["seed"])) == match["commitment"]


def test_a_transcript_is_given_as_it_was_stored(played: Played) -> None:
    answer = played.site.client.get(f"/v1/matches/{played.ids[0]}/transcript")
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/x-ndjson"
    assert answer.content == transcript(played.job)
    decode(answer.content)
    unchanged = {"If-None-Match": answer.headers["etag"]}
    assert played.site.client.get(f"/v1/matches/{played.ids[0]}/transcript", headers=unchanged).status_code == 304


def test_a_match_under_other_rules_has_no_pictures_and_is_called_no_forgery(played: Played) -> None:
    site, path = played.site, f"/v1/matches/{played.ids[0]}"
    assert site.ok(200, site.client.get(f"{path}/replay"))["game"] == ""
    found = site.ok(200, site.client.get(f"{path}/verification"))
    assert (found["verified"], found["exchanges"]) == (None, 1)
    assert found["problem"].startswith("it was played under version 99 of the rules of yacht-auction")


def test_a_lost_transcript_is_our_failure(played: Played) -> None:
    answer = played.site.client.get(f"/v1/matches/{played.ids[1]}/transcript")
    played.site.problem(500, answer, "blob-missing")


def test_a_damaged_transcript_is_told_as_damaged(played: Played) -> None:
    path, blobs = f"/v1/matches/{played.ids[0]}/transcript", played.site.blobs
    sha256 = played.site.client.get(path).headers["etag"].strip('"')
    for content in (b"no zstd", zstandard.compress(b"something else")):
        obstore.put(blobs._store, _path(sha256), content)
        played.site.problem(500, played.site.client.get(path), "blob-damaged")


def test_lists_have_cursors_and_filters(played: Played) -> None:
    site = played.site
    seen: list[int] = []
    cursor = ""
    while True:
        page = site.ok(200, site.client.get(f"/v1/matches?limit=2&season={played.season}{cursor}"))
        seen += [match["id"] for match in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == sorted(played.ids, reverse=True)
    for query, count in (
        (f"bot={played.bots[0]}", 3),
        ("bot=999", 0),
        ("season=999", 0),
        ("state=abandoned", 1),
        (f"bot={played.bots[1]}&state=done&season={played.season}", 2),
        (f"bot={played.bots[1]}&limit=1", 1),
    ):
        assert len(site.ok(200, site.client.get(f"/v1/matches?{query}"))["items"]) == count


def test_what_befell_the_whole_series_is_shown_with_each_match(site: Site) -> None:
    site.world.season(2, games_per_pair=2)
    job = site.world.claimed()
    site.world.write(release_series, job, "w1", Failure("no-engine", "the engine does not answer", {"errno": 111}))
    (attempt,) = site.ok(200, site.client.get("/v1/matches/1"))["attempts"]
    assert (attempt["match_id"], attempt["cause"], attempt["evidence"]) == (None, "no-engine", {"errno": 111})
