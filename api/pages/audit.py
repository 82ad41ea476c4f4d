"""The audit page, for everyone: how honest the league has been, and who decided what."""

import json
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query

from deadheat.api.deps import Shared
from deadheat.api.pages.render import everyones, render
from deadheat.api.schemas import read_cursor, write_cursor
from deadheat.engine.language import N_, gettext
from deadheat.league.records.rulings import AuditRecord
from deadheat.league.service.ground.audit import SYSTEM, audit_log, subject_names, subjects_named
from deadheat.league.service.rankings.standings import honesty
from deadheat.league.states import SEASON_STEPS, Role

router = APIRouter()

RECORDS = 50

PAGES = {
    N_("announcement"): "",
    N_("archive"): "/seasons/",
    N_("bot"): "/bots/",
    N_("match"): "/matches/",
    N_("season"): "/seasons/",
    N_("series"): "",
    N_("team"): "/teams/",
    N_("user"): "",
}
"""The address of a subject's page by the subject's kind; "" if it has none."""


@router.get("/audit")
@everyones
def audit(
    shared: Shared,
    who: Annotated[str, Query(max_length=32)] = "",
    about: Annotated[str, Query(max_length=64)] = "",
    kind: Annotated[str, Query(max_length=64)] = "",
    cursor: Annotated[str | None, Query(max_length=32)] = None,
) -> str:
    """Show each season's faults and failures, and the audit log: all of it, or by person, subject and kind."""
    before = read_cursor(cursor)
    chosen = {"who": who.strip(), "about": about.strip().strip("/"), "kind": kind if kind in ACTIONS else ""}
    filtered = any(chosen.values())
    # The subjects that may be meant: "season/1", "season 1" in the reader's language, or a name.
    thing, _, number = chosen["about"].replace("/", " ").partition(" ")
    kinds = {word: subject for subject in PAGES for word in (subject, gettext(subject))}
    numbered = [f"{kinds[thing.lower()]}/{int(number)}"] if thing.lower() in kinds and number.isdecimal() else []
    with shared.db.reading() as session:
        subjects = numbered + subjects_named(session, chosen["about"]) or [chosen["about"]] * bool(chosen["about"])
        records = audit_log(
            session,
            before=before,
            about=subjects,
            actor=chosen["who"],
            actions=tuple(ACTIONS.get(chosen["kind"], ())),
            limit=RECORDS,
        )
        lines = [(record, _data(record)) for record in records]
        mentioned = [record.subject for record in records]
        mentioned += [f"bot/{data['bot']}" for _, data in lines if "bot" in data]
        names = subject_names(session, mentioned)
        seasons = [] if before or filtered else honesty(session, totals=shared.boards.totals)
    values = {
        "lines": [_line(record, data, names) for record, data in lines],
        "older": write_cursor(records[-1].id) if len(records) == RECORDS else None,
        "query": urlencode({name: value for name, value in chosen.items() if value}),
    }
    return render(
        shared, "audit.html", seasons=seasons, kinds=tuple(ACTIONS), chosen=chosen, filtered=filtered, **values
    )


def _data(record: AuditRecord) -> dict[str, object]:
    """Return the record's figures. For a changed setting, return both values if the record has the old one."""
    data = parsed if isinstance(parsed := json.loads(record.data), dict) else {}
    was = data.pop("was") if isinstance(data.get("was"), dict) else {}
    data |= {key: f"{_shown(old)} → {_shown(data.get(key))}" for key, old in was.items()}
    return {key: value for key, value in data.items() if value not in ("", None)}


def _shown(value: object) -> str:
    if value in ("", None):
        return "\N{EN DASH}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _line(record: AuditRecord, data: dict[str, object], names: dict[str, str]) -> dict[str, Any]:
    """Return a record in words: actor, action (before and after its subject), subject and figures."""
    kind, _, number = record.subject.partition("/")
    before, _, after = words(record.action).partition("{}")
    own = names.get(record.subject)
    if "bot" in data and f"bot/{data['bot']}" in names:
        data["bot"] = names[f"bot/{data['bot']}"]
    return {
        "record": record,
        "at": datetime.fromisoformat(record.at),
        "who": "Deadheat" if record.actor == SYSTEM else record.actor,
        "before": before,
        "after": after,
        "thing": f"{gettext(kind)} {own or number}" if "{}" in words(record.action) else "",
        "page": f"{PAGES[kind]}{number}" if PAGES.get(kind) else "",
        "said": list(data.items()),
    }


ACTIONS: dict[str, dict[str, str]] = {
    N_("Seasons"): {
        "season-created": N_("created {}"),
        "season-edited": N_("changed the settings of {}"),
        **{state.action: step.done for state, step in SEASON_STEPS.items()},
        "season-published": N_("published the final standings of {}"),
        "season-archived": N_("kept the hash of {}"),
        "season-dice-skipped": N_("skipped dice of {}"),
        "season-invited": N_("invited an author to {}"),
        "season-uninvited": N_("took an author off the list of {}"),
        "season-list-changed": N_("changed the list of {}"),
        "divisions-changed": N_("changed the divisions of {}"),
        "entries-carried-over": N_("carried entries over to {}"),
        "finalists": N_("chose the finalists of {}"),
        "finals-done": N_("ended the finals of {}"),
    },
    N_("Evaluations"): {
        "timetable-set": N_("set the timetable of {}"),
        "evaluation-began": N_("began an evaluation in {}"),
        "evaluation-done": N_("ended an evaluation in {}"),
        "evaluation-resumed": N_("resumed an evaluation in {}"),
        "evaluation-cancelled": N_("cancelled an evaluation in {}"),
    },
    N_("Entries"): {
        "entered": N_("entered {}"),
        "entry-withdrawn": N_("withdrew a bot from {}"),
        "entry-disqualified": N_("disqualified a bot in {}"),
        "entry-reinstated": N_("reinstated a bot in {}"),
        "entry-rejoined": N_("returned a bot to {}"),
        "entry-rested": N_("put a bot to rest in {}"),
        "division-assigned": N_("moved a bot to another division of {}"),
        "challenge-began": N_("began a promotion match in {}"),
        "challenge-passed": N_("promoted a version in {}"),
        "challenge-failed": N_("refused a version in {}"),
        "challenge-ended": N_("ended a promotion match in {}"),
        "panel-passed": N_("admitted a version to {} after its panel"),
        "panel-failed": N_("refused a version in {}: it failed the panel"),
        "panel-ended": N_("ended a panel run in {}"),
    },
    N_("Matches"): {
        "match-voided": N_("voided {}"),
        "match-restored": N_("restored {}"),
        "match-rejudged": N_("had {} played again"),
        "match-decided": N_("decided {}"),
        "match-left": N_("left {} unplayed"),
        "match-held": N_("held {} for an organiser"),
        "series-abandoned": N_("abandoned {}"),
    },
    N_("Appeals"): {
        "appeal-opened": N_("appealed against {}"),
        "appeal-ruled": N_("ruled on an appeal against {}"),
        "appeal-withdrawn": N_("withdrew an appeal against {}"),
    },
    N_("Bots"): {
        "version-uploaded": N_("uploaded a version of {}"),
        "bot-renamed": N_("renamed {}"),
        "bot-retired": N_("retired {}"),
        "bot-returned": N_("brought {} back"),
        "bot-given": N_("gave {} to a team"),
    },
    N_("People and teams"): {
        **{role.action: role.made for role in Role},
        "user-banned": N_("banned {}"),
        "user-reopened": N_("reopened the account of {}"),
        "sign-up-ruled": N_("changed who may sign up"),
        "team-created": N_("created {}"),
        "team-invited": N_("invited somebody to {}"),
        "team-joined": N_("joined {}"),
        "team-left": N_("left {}"),
        "team-handed-over": N_("handed {} over to another captain"),
    },
    N_("Announcements and back-ups"): {
        "announced": N_("published {}"),
        "announcement-removed": N_("took {} down"),
        "league-restored": N_("restored the league from a back-up"),
    },
}
"""The actions by kind, in the order of the page's list, in words that follow the actor's name: "ada voided match 5".
`{}` stands for the subject of the record. `league.states` has the words for a season's steps and for roles.
"""

WORDS = {action: words for actions in ACTIONS.values() for action, words in actions.items()}


def words(action: str) -> str:
    """Describe an action, with `{}` for its subject; an unknown action keeps its name."""
    return gettext(WORDS[action]) if action in WORDS else f"{action.replace('-', ' ')}: {{}}"
