"""The audit log in words: what each action is called, and of which kind it is.

`{}` stands for what the record is about. The words follow the actor's name: "ada voided match 5".
"""

from __future__ import annotations

KINDS: dict[str, dict[str, str]] = {
    "Seasons": {
        "season-created": "created {}",
        "season-edited": "changed the settings of {}",
        "season-scheduled": "put {} back on the schedule",
        "season-open": "opened {}",
        "season-frozen": "froze {}",
        "season-finals": "began the finals of {}",
        "season-closed": "closed {}",
        "season-published": "published the final standings of {}",
        "season-dice-skipped": "skipped dice of {}",
        "season-invited": "invited an author to {}",
        "season-uninvited": "took an author off the list of {}",
        "season-list-changed": "changed the list of {}",
        "divisions-changed": "changed the divisions of {}",
        "entries-carried-over": "carried entries over to {}",
        "finalists": "chose the finalists of {}",
        "finals-done": "ended the finals of {}",
    },
    "Evaluations": {
        "timetable-set": "set the timetable of {}",
        "evaluation-began": "began an evaluation in {}",
        "evaluation-done": "ended an evaluation in {}",
        "evaluation-cancelled": "cancelled an evaluation in {}",
    },
    "Entries": {
        "entered": "entered {}",
        "entry-withdrawn": "withdrew a bot from {}",
        "entry-disqualified": "disqualified a bot in {}",
        "entry-reinstated": "reinstated a bot in {}",
        "entry-rejoined": "returned a bot to {}",
        "entry-rested": "rested a bot in {}",
        "division-assigned": "moved a bot to another division of {}",
        "challenge-began": "began a promotion match in {}",
        "challenge-passed": "promoted a version in {}",
        "challenge-failed": "refused a version in {}",
        "challenge-ended": "ended a promotion match in {}",
        "panel-passed": "admitted a version to {}: it passed the panel",
        "panel-failed": "refused a version in {}: it failed the panel",
        "panel-ended": "ended a panel run in {}",
    },
    "Matches": {
        "match-voided": "voided {}",
        "match-restored": "restored {}",
        "match-rejudged": "had {} played again",
        "match-decided": "decided {}",
        "match-left": "left {} unplayed",
        "match-held": "held {} for an organiser",
        "series-abandoned": "abandoned {}",
    },
    "Appeals": {
        "appeal-opened": "appealed against {}",
        "appeal-ruled": "ruled on an appeal against {}",
        "appeal-withdrawn": "withdrew an appeal against {}",
    },
    "Bots": {
        "version-uploaded": "uploaded a version of {}",
        "bot-renamed": "renamed {}",
        "bot-retired": "retired {}",
        "bot-returned": "brought {} back",
        "bot-given": "gave {} to a team",
    },
    "People and teams": {
        "organiser-made": "made {} an organiser",
        "admin-made": "made {} an administrator",
        "author-made": "made {} an author",
        "user-banned": "banned {}",
        "user-reopened": "reopened the account of {}",
        "sign-up-ruled": "changed who may sign up",
        "team-created": "created {}",
        "team-invited": "invited somebody to {}",
        "team-joined": "joined {}",
        "team-left": "left {}",
        "team-handed-over": "handed {} over to another captain",
    },
    "Announcements and back-ups": {
        "announced": "published {}",
        "announcement-removed": "took {} down",
        "league-restored": "restored the league from a back-up",
    },
}
"""By kind, as the page's list has them, and by action."""

WORDS = {action: words for actions in KINDS.values() for action, words in actions.items()}


def words(action: str) -> str:
    """What somebody did, with `{}` for what it is about; an action that is not in the list is spelled as it is."""
    return WORDS.get(action, f"{action.replace('-', ' ')}: {{}}")
