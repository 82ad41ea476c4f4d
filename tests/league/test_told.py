"""People are told of the service's failures in its own words, never in a library's."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import select

from deadheat.league.causes import DROPPED, Cause, Trait, told, told_evidence, told_findings, told_reasons
from deadheat.league.jobs import AttemptRecord, Failure, MatchOutcome
from deadheat.league.service.bots.bots import build_log
from deadheat.league.service.jobs.builds import claim_build, give_back_build
from deadheat.league.service.series.hosts import hosts, record_check, unfit_reasons
from deadheat.league.service.views.matches import match_detail
from deadheat.league.tables import Attempt, BotVersion
from tests.league.ground import settings
from tests.league.world import World, release_series

ROOT = Path(__file__).resolve().parents[2]
INNER = 'connection to server at "10.20.30.40", port 5432 failed: /var/lib/deadheat w3.example:41'
FAILURES = {"SandboxError", "TransportError"}
OF_PEOPLE = {Cause.NO_WORKER, Cause.LEFT, Cause.RESIGNED}
"""Causes of people's matches, which are in no ledger."""


def raised() -> Iterator[tuple[str, ast.Call, frozenset[str]]]:
    """Yield the calls that make our failures, each with its place and the names in its function that may hold a
    library's words: handled errors, and what is assigned in their handlers.
    """
    for folder in ("engine", "sandbox", "workers"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield from _raised(str(path.relative_to(ROOT)), ast.parse(path.read_text()), frozenset())


def _raised(path: str, node: ast.AST, handled: frozenset[str]) -> Iterator[tuple[str, ast.Call, frozenset[str]]]:
    if isinstance(node, ast.FunctionDef):
        handlers = [inner for inner in ast.walk(node) if isinstance(inner, ast.ExceptHandler)]
        names = [name for handler in handlers for name in ast.walk(handler) if isinstance(name, ast.Name)]
        assigned = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        handled |= assigned | {handler.name for handler in handlers if handler.name}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FAILURES:
        yield f"{path}:{node.lineno}", node, handled
    for child in ast.iter_child_nodes(node):
        yield from _raised(path, child, handled)


def test_no_detail_that_may_be_told_has_the_words_of_a_library_in_it() -> None:
    looked = 0
    for place, call, handled in raised():
        cause, detail = call.args[:2]
        names = {node.id for node in ast.walk(detail) if isinstance(node, ast.Name)}
        if handled & names and not isinstance(cause, ast.Attribute):  # otherwise it passes on another of our failures
            assert isinstance(cause, ast.Constant) and Trait.TOLD not in Cause(str(cause.value)).traits, place
            looked += 1
    assert looked > 5


def test_every_failure_of_ours_has_a_sentence_or_its_own_words() -> None:
    causes = {str(call.args[0].value) for _, call, _ in raised() if isinstance(call.args[0], ast.Constant)}
    assert len(causes) > 8
    assert causes <= set(Cause)
    assert all(cause.phrase for cause in Cause)
    assert all(cause.sentence for cause in set(Cause) - Cause.having(Trait.TOLD) - OF_PEOPLE)
    assert Cause.having(Trait.TOLD) >= DROPPED


@pytest.mark.parametrize(
    ("cause", "detail", "public"),
    [
        ("watch-ended", "seat 1 was kept from running for 7.0 ms", "seat 1 was kept from running for 7.0 ms"),
        ("host-starved", "seat 1 was kept from running for 7.0 ms", "seat 1 was kept from running for 7.0 ms"),
        ("database-away", INNER, Cause("database-away").sentence),
        ("lease-expired", INNER, Cause("lease-expired").sentence),
        ("OperationalError", INNER, Cause.UNKNOWN.sentence),
        ("thought-of-tomorrow", INNER, Cause.UNKNOWN.sentence),
        ("host-unfit", f"It could not be checked: {INNER}", Cause("host-unfit").sentence),
        ("host-unfit", "The clock counts in ticks.", "The clock counts in ticks."),
    ],
)
def test_only_what_we_wrote_ourselves_is_told(cause: str, detail: str, public: str) -> None:
    assert told(cause, detail) == public


def test_an_attempt_is_told_without_inner_words_and_the_ledger_has_them(world: World) -> None:
    world.season(games_per_pair=2)
    (series,) = world.tick()
    job = world.claimed(series, "w3.example:41")
    match = job.matches[0].match_id
    void = AttemptRecord(1, 2, "engine", INNER, {"stolen_ns": 5})
    with world.db.transaction() as session:
        tried = [MatchOutcome(match, None, None, attempts=(void,))]
        release_series(session, job, "w3.example:41", Failure("OperationalError", INNER), tried)
    shown = world.read(match_detail, match).attempts
    kept = world.rows(select(Attempt.detail).where(Attempt.series_id == series))
    assert {attempt.detail for attempt in shown} == {Cause.UNKNOWN.sentence, Cause("engine").sentence}
    assert [attempt.evidence for attempt in shown if attempt.match_id] == [{"stolen_ns": 5}]
    assert set(kept) == {INNER}


def test_a_machine_that_could_not_be_checked_says_why_to_operators_alone(world: World) -> None:
    world.write(record_check, world.host, {}, [f"It could not be checked: {INNER}", "No clock."], 60)
    reasons = world.read(unfit_reasons, world.host)
    assert world.read(hosts)[0].reasons == reasons == (f"It could not be checked: {INNER}", "No clock.")
    assert (told_reasons(reasons), told_reasons([])) == (("It could not be checked.", "No clock."), ())


def test_why_an_unfit_machine_judged_is_told_without_inner_words_and_the_ledger_has_them(tmp_path: Path) -> None:
    world = World(settings(tmp_path, judge_unfit=True))
    world.season(games_per_pair=2)
    (series,) = world.tick()
    world.write(record_check, world.host, {}, [f"It could not be checked: {INNER}", "No clock."], 60)
    job = world.claimed(series)
    assert world.finish(job)
    (shown,) = world.read(match_detail, job.matches[0].match_id).attempts
    kept = world.one(select(Attempt.evidence).where(Attempt.match_id == job.matches[0].match_id))
    assert shown.evidence == {Cause.HOST_UNFIT: ["It could not be checked.", "No clock."]}
    assert kept == {Cause.HOST_UNFIT: [f"It could not be checked: {INNER}", "No clock."]}
    assert told_evidence({"stolen_ns": 5}) == {"stolen_ns": 5}
    world.close()


def test_findings_of_an_old_appeal_are_told_without_inner_words() -> None:
    old = {"cause": "engine", "detail": INNER, "evidence": {Cause.HOST_UNFIT: [f"It could not be checked: {INNER}"]}}
    new = {
        "cause": "engine",
        "detail": Cause("engine").sentence,
        "evidence": {Cause.HOST_UNFIT: ["It could not be checked."]},
    }
    for attempts in ([old], [new]):
        assert told_findings({"verified": True, "attempts": attempts}) == {"verified": True, "attempts": [new]}
    assert told_findings({"verified": True}) == {"verified": True}


def test_an_author_is_told_of_a_failed_build_without_inner_words(world: World) -> None:
    owner, bot_id = world.bot()
    version_id = world.upload(owner, bot_id)
    job = world.write(claim_build, version_id, "w3.example:41")
    assert job is not None
    world.write(give_back_build, job.version_id, job.attempt, "w1", Failure("OperationalError", INNER))
    version = world.row(BotVersion, version_id)
    tries = world.read(build_log, owner, bot_id, version.number).tries
    assert version.reason.endswith(Cause.UNKNOWN.sentence)
    assert [tried.detail for tried in tries] == [Cause.UNKNOWN.sentence]
