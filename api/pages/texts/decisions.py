"""The audit log in words: the name and the kind of each action.

`league.states` has the words for a season's steps and for roles. `{}` stands for the subject of the record. The words
follow the actor's name: "ada voided match 5".
"""

from __future__ import annotations

from deadheat.engine.language import N_, gettext
from deadheat.league.states import SEASON_STEPS, Role

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
"""The actions by kind, in the order of the page's list."""

WORDS = {action: words for actions in ACTIONS.values() for action, words in actions.items()}


def words(action: str) -> str:
    """Describe an action, with `{}` for its subject; an unknown action keeps its name."""
    return gettext(WORDS[action]) if action in WORDS else f"{action.replace('-', ' ')}: {{}}"
