"""What a whole contest costs the league, in simulated time: evaluations of 1,600 teams, and a final every 15 minutes.

    ./scripts/bench contest [--short] [--days N] [--teams N] [--only NAME] [--postgresql]

The use cases are the product's own, on a real database; time is simulated, and the results come from the bots'
strengths instead of containers. For each contest: what each step costs (CPU time, statements, and by how much it raised
the process's memory), what the pages cost afterwards, how late rounds were, and whether a second implementation draws
the same rounds and finds the same standings (`contests.second`). Then the same final with too few machines, to see that
its lateness is measured. It exits with 1 if a round was late, a draw or a standing differed, or a page was slow.

Contests: `online` (1,600 teams, Swiss of 20 rounds twice a day), `system-test` (Swiss of 50 rounds), `first-100` (round
robin, 5 matches a pair), `final` (23 teams, round robin every 15 minutes for six hours). All of it takes hours;
`--days` and `--teams` make that contest smaller.
"""

import signal
import sys
import time
from dataclasses import dataclass, replace
from datetime import timedelta

from deadheat.league.pairing.formats import EvaluationFormat
from deadheat.league.timetable import DeclaredEvaluation
from tests.benchmarks.contests import pages, second
from tests.benchmarks.contests.ledger import Ledger
from tests.benchmarks.contests.play import Contest, Lateness
from tests.benchmarks.leagues import leagues
from tests.benchmarks.targets import arguments
from tests.league.clock import START
from tests.league.world import World

PAGE_MS = 250
"""The most CPU time of a page of 1,600 teams; a page of half a second is one that people wait for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A contest: so many teams, one line of a timetable, and machines that suffice. `match_seconds`: of one match."""

    name: str
    teams: int
    line: DeclaredEvaluation
    slots: int
    match_seconds: float = 2.0


def plans(days: int, teams: int | None, short: bool) -> list[Plan]:
    """List the contests named above, or a twentieth of each; `teams`: of the online contest."""
    first, part = START + timedelta(hours=3), 20 if short else 1
    twice_a_day = [first + timedelta(days=day, hours=hour) for day in range(days) for hour in (0, 6)]
    swiss, everybody = EvaluationFormat.SWISS, EvaluationFormat.ROUND_ROBIN
    final = {"every_minutes": 15, "from": first, "until": first + timedelta(hours=0.25 if short else 6)}
    return [
        Plan("online", teams or 1600 // part, _line(swiss, at=twice_a_day, rounds=20 if not short else 5), 32),
        Plan("system-test", 1600 // part, _line(swiss, at=[first], rounds=50 if not short else 8), 32),
        Plan("first-100", max(10, 100 // part), _line(everybody, at=[first], matches=5), 32),
        Plan("final", 23, _line(everybody, **final), 4),
    ]


def _line(format_: EvaluationFormat, **given: object) -> DeclaredEvaluation:
    return DeclaredEvaluation.model_validate({"name": "Evaluation", "format": format_, **given})


def main() -> int:
    parser = arguments(__doc__, "a twentieth of the teams, fewer rounds and evaluations")
    parser.add_argument("--days", type=int, help="of the online contest (10; short: 1)")
    parser.add_argument("--teams", type=int, help="of the online contest (1,600; short: 80)")
    parser.add_argument("--only", action="append", help="one contest; may be given again")
    parser.add_argument("--postgresql", action="store_true", help="instead of SQLite")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # `played` then says how far it came
    wrong = 0
    for plan in plans(chosen.days or (1 if chosen.short else 10), chosen.teams, chosen.short):
        if not chosen.only or plan.name in chosen.only:
            with leagues(on_postgresql=chosen.postgresql) as [league]:
                wrong += played(league, plan)
    if not chosen.only or "too-slow" in chosen.only:
        with leagues(on_postgresql=chosen.postgresql) as [league]:
            wrong += too_slow(league, plans(1, None, short=True)[-1])
    print("All is as it must be." if not wrong else f"{wrong} things are wrong.")
    return int(bool(wrong))


def played(league: World, plan: Plan) -> int:
    """Play one contest, and print what it cost; return how many things are wrong."""
    ledger = Ledger(league.db)
    contest = Contest(league, ledger, plan.teams, plan.line, plan.slots, plan.match_seconds)
    print(f"{plan.name}: {plan.teams} teams, {plan.line.words}; {plan.slots} slots", flush=True)
    recount = second.Recount(league)

    def day_ends(late: Lateness) -> None:
        recount.go_on()
        print(f"{league.clock.now:%Y-%m-%d %H:%M}, after {time.process_time():.0f} s of CPU:")
        print(ledger.table())
        print(f"    {contest.series} series, {contest.matches} matches; {late.sentence}")
        wrong = [*late.faults, *recount.faults]
        print(f"    {second.counted(league)}, computed again: {len(wrong)} things are wrong so far.", flush=True)

    try:
        faults = [*contest.play(day_ends).faults, *recount.go_on()]
    except SystemExit:
        print("Ended early.")
        day_ends(contest.late)
        raise
    slow = 0
    for line, cpu_ms in pages.costs(league, contest.season_id):
        print(line)
        slow += cpu_ms > PAGE_MS
    for fault in faults[:10]:
        print(f"    WRONG: {fault}")
    print(f"    {slow} pages took more than {PAGE_MS} ms.\n", flush=True)
    return len(faults) + slow


def too_slow(league: World, plan: Plan) -> int:
    """Play the same final on machines that cannot keep up: all lateness is the machines' and must be detected."""
    slow = replace(plan, name="too-slow", slots=1, match_seconds=4.0)
    contest = Contest(league, Ledger(league.db), slow.teams, slow.line, slow.slots, slow.match_seconds)
    late: Lateness = contest.play()
    print(f"too-slow: {slow.teams} teams, {slow.line.words}; {slow.slots} slot\n    {late.sentence}")
    return len(late.faults) + (not late.held_up)


if __name__ == "__main__":
    sys.exit(main())
