"""The league's use cases: everything that changes or reads the database, each within one transaction.

Callers open the session (`league.database.Database.transaction`) and, once it is committed, enqueue what a use case
returned. Nothing here talks to the queue, to a sandbox or to a browser.
"""

from __future__ import annotations

from league.service.absence import disqualify, reinstate, rejoin, take_out, withdraw
from league.service.access import (
    authenticate,
    begin_session,
    change_password,
    end_session,
    issue_token,
    look_up,
    note_use,
    revoke,
    tokens,
)
from league.service.admission import invite_to_season, invited_to_season, uninvite_from_season
from league.service.announcements import announce, announcements, take_down
from league.service.appeals import appealable, appeals, open_appeal, rule, waiting_appeals, withdraw_appeal
from league.service.audit import audit_log, first_broken
from league.service.bot_changes import change_bot
from league.service.bots import (
    add_version,
    bot_info,
    bots_of,
    build_log,
    create_bot,
    may_upload,
    trial_of,
    version_info,
    versions_of,
)
from league.service.builds import (
    claim_build,
    claim_next_build,
    finish_build,
    note_build_log,
    release_build,
    renew_build,
)
from league.service.challenges import GateTerms, challenges
from league.service.closing import ban, close_account, ended_accounts, reopen
from league.service.conditions import conditions
from league.service.divisions import assign_division, change_divisions
from league.service.entries import enter, entries, entries_named, entry_info, let_in
from league.service.environments import (
    confirm_environment,
    environment,
    installed_languages,
    record_environment,
)
from league.service.exports import export_page
from league.service.finals_played import finals_progress
from league.service.held import decide_match, held_by_game, held_matches, leave_match
from league.service.matches import endings, match_detail, matches, own_seats, transcript_of
from league.service.newcomers import newcomer_rule, set_newcomer_rule, welcome
from league.service.operators import Standing, ensure_organiser, reset_password, set_role, token_standing
from league.service.participation import absent_bots, participation
from league.service.play import claim_series, finish_series, release_series, renew_series
from league.service.publishing import publish, seasons_to_publish
from league.service.queues import queues
from league.service.recount import recount
from league.service.rulings import rejudge_match, restore_match, void_match
from league.service.schedule import games_going_on, go_on, low_after, runs_low, seasons_going_on
from league.service.season_states import set_season_state, waits_for
from league.service.seasons import (
    create_season,
    edit_season,
    season_info,
    season_progress,
    seasons,
)
from league.service.standings import leaderboard, newest_snapshot, refit, seasons_to_refit
from league.service.sweep import Swept, sweep
from league.service.teams import (
    create_team,
    hand_over_team,
    invite_to_team,
    join_team,
    leave_team,
    team_info,
    teams_of,
)
from league.service.turns import claim_next_series
from league.service.unfinished import season_unfinished
from league.service.users import (
    check_password,
    has_password,
    keep_hash_current,
    sign_up,
)
from league.service.voids import season_voids
from league.service.workers import (
    due_check,
    host_arrives,
    host_seen,
    hosts,
    hosts_for,
    record_canary,
    record_check,
    take_canary,
    turn_away,
)

__all__ = [
    "GateTerms",
    "Standing",
    "Swept",
    "absent_bots",
    "add_version",
    "announce",
    "announcements",
    "appealable",
    "appeals",
    "assign_division",
    "audit_log",
    "authenticate",
    "ban",
    "begin_session",
    "bot_info",
    "bots_of",
    "build_log",
    "challenges",
    "change_bot",
    "change_divisions",
    "change_password",
    "check_password",
    "claim_build",
    "claim_next_build",
    "claim_next_series",
    "claim_series",
    "close_account",
    "conditions",
    "confirm_environment",
    "create_bot",
    "create_season",
    "create_team",
    "decide_match",
    "disqualify",
    "due_check",
    "edit_season",
    "end_session",
    "ended_accounts",
    "endings",
    "ensure_organiser",
    "enter",
    "entries",
    "entries_named",
    "entry_info",
    "environment",
    "export_page",
    "finals_progress",
    "finish_build",
    "finish_series",
    "first_broken",
    "games_going_on",
    "go_on",
    "hand_over_team",
    "has_password",
    "held_by_game",
    "held_matches",
    "host_arrives",
    "host_seen",
    "hosts",
    "hosts_for",
    "installed_languages",
    "invite_to_season",
    "invite_to_team",
    "invited_to_season",
    "issue_token",
    "join_team",
    "keep_hash_current",
    "leaderboard",
    "leave_match",
    "leave_team",
    "let_in",
    "look_up",
    "low_after",
    "match_detail",
    "matches",
    "may_upload",
    "newcomer_rule",
    "newest_snapshot",
    "note_build_log",
    "note_use",
    "open_appeal",
    "own_seats",
    "participation",
    "publish",
    "queues",
    "record_canary",
    "record_check",
    "record_environment",
    "recount",
    "refit",
    "reinstate",
    "rejoin",
    "rejudge_match",
    "release_build",
    "release_series",
    "renew_build",
    "renew_series",
    "reopen",
    "reset_password",
    "restore_match",
    "revoke",
    "rule",
    "runs_low",
    "season_info",
    "season_progress",
    "season_unfinished",
    "season_voids",
    "seasons",
    "seasons_going_on",
    "seasons_to_publish",
    "seasons_to_refit",
    "set_newcomer_rule",
    "set_role",
    "set_season_state",
    "sign_up",
    "sweep",
    "take_canary",
    "take_down",
    "take_out",
    "team_info",
    "teams_of",
    "token_standing",
    "tokens",
    "transcript_of",
    "trial_of",
    "turn_away",
    "uninvite_from_season",
    "version_info",
    "versions_of",
    "void_match",
    "waiting_appeals",
    "waits_for",
    "welcome",
    "withdraw",
    "withdraw_appeal",
]
