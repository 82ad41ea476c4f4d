"""Who may do what: a line for each route, and what each line's answer may tell whom.

A line is a route, the statuses that an anonymous visitor, a stranger, the owner, an organiser and an administrator
get (`in`: sent to sign in; `-`: a stream without an end), and where needed what is sent and which secrets are shown to
whom. Nothing else may be shown to anybody. `tests/security/test_access.py` holds every route of the application to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deadheat.api.pages.download import NAME as WHEEL
from deadheat.league.words import Exported


@dataclass(frozen=True)
class Line:
    """One request as five people. `params`: the path's, where they are not the usual ones (a name of `named`)."""

    method: str
    route: str
    statuses: str
    json: object = None
    form: Mapping[str, str] | None = None
    file: bool = False
    params: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    shows: Mapping[str, frozenset[str]] = field(default_factory=dict)


def shows(**told: str) -> dict[str, frozenset[str]]:
    """`shows(owner="log of ada, reason of ada")`."""
    return {role: frozenset(name.strip() for name in names.split(",")) for role, names in told.items()}


ALL = "200 200 200 200 200"
SIGNED = "401 200 200 200 200"
OPEN = "409 409 409 409 409"
FILE = '[season]\nname = "By file"\ngame = "yacht-auction"\n'
REASON = {"reason": "because"}
HELD = ("transcript", "replay", "verification")
DEALS = {"season_id": "season of deals"}
BOT = "/v1/bots/{bot_id}"
SEASON = "/v1/seasons/{season_id}"
MATCH = "/v1/matches/{match_id}"
BOTH_APPEALS = shows(organiser="appeal of ada, appeal of bob", admin="appeal of ada, appeal of bob")
APPEALS = BOTH_APPEALS | shows(owner="appeal of ada")
LIST = shows(organiser="invited to the season", admin="invited to the season")
HOOK = shows(owner="webhook of ada")
NOTICES = shows(owner="reason of ada")
TEAM = shows(owner="invited to ada's team")
ACCOUNT = shows(owner="label of ada, invited to ada's team")

PRIVATE = "404 404 200 200 200"
PRIVATE_MATCH = {"match_id": "private"}


def inside(owner: str, others: str | None = None) -> dict[str, frozenset[str]]:
    """The people who see the inside of a private challenge: those of its bot, and organisers (None: the same)."""
    return shows(owner=owner, **dict.fromkeys(("organiser", "admin"), owner if others is None else others))


RECORD, WORDS, LINK = "transcript 9 of a challenge", "words of a challenge", "match 9 of a challenge"
STDERR = "stderr of a challenge"
BEFORE_IT = "match 8 of a challenge"  # in the same series

TABLE: tuple[Line, ...] = (
    Line("GET", "/healthz", ALL),
    Line("GET", "/readyz", ALL),
    Line("GET", "/metrics", ALL),
    Line("GET", "/v1/openapi.json", ALL),
    Line("POST", "/v1/users", "201 201 201 201 201", {"name": "newcomer", "password": "a long enough password"}),
    Line("GET", "/v1/users/me", SIGNED),
    Line("GET", "/v1/tokens", SIGNED, shows=shows(owner="label of ada")),
    Line("POST", "/v1/tokens", "401 401 401 401 401", {"name": "ada", "password": "not hers", "label": "x"}),
    Line("DELETE", "/v1/tokens/{token_id}", "401 404 204 404 404"),
    Line("GET", "/v1/inbox", SIGNED, shows=NOTICES),
    Line("POST", "/v1/inbox/read", SIGNED, {"up_to": 1}),
    Line("GET", "/inbox", "in 200 200 200 200", shows=NOTICES),
    Line("GET", "/mine", "in 200 200 200 200", shows=NOTICES),
    Line("POST", "/inbox/read", "in 303 303 303 303", form={"up_to": "1"}),
    Line("GET", "/account/webhooks", "in 200 200 200 200", shows=HOOK),
    Line("POST", "/account/webhooks", "in 200 200 200 200", form={"url": "https://a.example/"}, shows=HOOK),
    Line("POST", "/account/webhooks", "in 422 422 422 422", form={"url": "http://127.0.0.1/"}, shows=HOOK),
    Line("POST", "/account/webhooks/mail", "in 422 422 422 422", form={"address": "ada@a.example"}, shows=HOOK),
    Line("GET", "/sign-in/openid", "404 303 303 303 303"),
    Line("GET", "/sign-in/openid/callback", "404 404 404 404 404"),
    Line("POST", "/sign-up/openid", "404 404 404 404 404", form={"name": "newcomer"}),
    Line("POST", "/account/openid", "in 404 404 404 404", form={"password": "a long enough password"}, shows=ACCOUNT),
    Line(
        "POST",
        "/account/openid/unlink",
        "in 404 404 404 404",
        form={"password": "a long enough password"},
        shows=ACCOUNT,
    ),
    Line("GET", "/forgotten", "404 404 404 404 404"),
    Line("POST", "/forgotten", "404 404 404 404 404", form={"name": "ada"}),
    Line("GET", "/reset", "404 404 404 404 404", query="?channel=1&until=9999999999&token=guessed"),
    Line(
        "POST",
        "/reset",
        "404 404 404 404 404",
        form={"channel": "1", "until": "9999999999", "token": "guessed", "password": "a long enough password"},
    ),
    Line("GET", "/mail/{link}", "404 404 404 404 404", params={"link": "confirm"}, query="?channel=1&token=guessed"),
    Line(
        "POST",
        "/mail/{link}",
        "404 404 404 404 404",
        form={"channel": "1", "token": "x"},
        params={"link": "unsubscribe"},
    ),
    Line("POST", "/account/webhooks/{channel_id}/{verb}", "in 404 303 404 404", params={"verb": "test"}),
    Line("GET", "/v1/games", ALL),
    Line("GET", "/v1/environment", "404 404 404 404 404"),
    Line(
        "GET", "/v1/workers", "401 403 403 200 200", shows=shows(organiser="report of a host", admin="report of a host")
    ),
    # --- bots and versions
    Line("GET", "/v1/bots", SIGNED),
    Line("POST", "/v1/bots", "401 201 201 201 201", {"game": "yacht-auction", "name": "another"}),
    Line("GET", BOT, ALL),
    Line("PATCH", BOT, "401 404 200 404 404", {"team_id": 1}, params={"bot_id": "idle"}),
    Line("GET", f"{BOT}/panels", "401 404 200 404 404"),
    Line("POST", f"{BOT}/versions", "401 404 202 404 404", file=True),
    Line("GET", f"{BOT}/versions", "401 404 200 404 404", shows=shows(owner="filename of ada, reason of ada")),
    Line(
        "GET", f"{BOT}/versions/{{number}}", "401 404 200 404 404", shows=shows(owner="filename of ada, reason of ada")
    ),
    Line("GET", f"{BOT}/versions/{{number}}/log", "401 404 200 404 404", shows=shows(owner="log of ada")),
    Line("GET", f"{BOT}/versions/{{number}}/trial", "401 404 200 404 404", shows=shows(owner="trial of ada")),
    Line("GET", f"{BOT}/versions/{{number}}/source", "401 404 200 404 404", shows=shows(owner="source of ada")),
    # --- seasons and entries
    Line("GET", "/v1/seasons", ALL),
    Line("POST", "/v1/seasons", "401 403 403 201 201", {"game": "yacht-auction", "name": "Another"}),
    Line("GET", SEASON, ALL),
    Line("PATCH", SEASON, "401 403 403 200 200", {"name": "Renamed"}),
    Line("POST", "/v1/season-files", "401 403 403 200 200", {"document": FILE, "preview": True}),
    Line("POST", "/v1/season-files", "401 403 403 200 200", {"document": FILE}),
    Line("GET", f"{SEASON}/file", "401 403 403 200 200", shows=LIST),
    Line("GET", f"{SEASON}/season.toml", ALL),
    Line("GET", f"{SEASON}/sources/{{version_id}}", "404 404 404 404 404", params={"version_id": "1"}),
    Line("PUT", f"{SEASON}/file", "401 403 403 200 200", {"document": FILE}),
    Line("POST", f"{SEASON}/archives", "401 403 403 409 409", {"sha256": "0" * 64}),
    Line("GET", f"{SEASON}/forecast", "401 403 403 200 200"),
    Line("GET", f"{SEASON}/invitations", "401 403 403 200 200", shows=LIST),
    Line("PUT", f"{SEASON}/invitations/{{name}}", "401 403 403 200 200", shows=LIST),
    Line("DELETE", f"{SEASON}/invitations/{{name}}", "401 403 403 200 200", shows=LIST),
    Line("GET", f"{SEASON}/evaluations", ALL),
    Line("POST", f"{SEASON}/evaluations", "401 403 403 409 409", {"format": "round-robin"}),
    Line("GET", "/v1/evaluations/{evaluation_id}", ALL),
    Line("GET", "/v1/evaluations/{evaluation_id}/rounds/{number}", ALL),
    Line("POST", "/v1/evaluations/{evaluation_id}/cancel", "401 403 403 200 200"),
    Line("GET", f"{SEASON}/entries", ALL),
    Line("PUT", f"{SEASON}/entries/{{bot_id}}", "401 404 200 409 409", {"version": 1}),
    Line("PATCH", f"{SEASON}/entries/{{bot_id}}", "401 403 403 200 200", {"division": 1}),
    Line("GET", f"{SEASON}/entries/{{bot_id}}/challenges", "401 404 200 200 200"),
    Line("GET", f"{SEASON}/entries/{{bot_id}}/waiting", ALL),
    Line("POST", f"{SEASON}/entries/{{bot_id}}/disqualify", "401 403 403 204 204", REASON),
    Line("POST", f"{SEASON}/entries/{{bot_id}}/reinstate", "401 403 403 204 204", REASON),
    Line("POST", f"{SEASON}/entries/{{bot_id}}/withdraw", "401 404 204 404 404"),
    Line("POST", f"{SEASON}/entries/{{bot_id}}/rejoin", "401 404 204 404 404"),
    Line("GET", f"{SEASON}/leaderboard", ALL),
    *(
        Line("GET", f"{SEASON}/export/{{table}}.{{form}}", ALL, params={"table": table, "form": form})
        for table in Exported
        for form in ("csv", "jsonl")
    ),
    # --- teams
    Line("GET", "/v1/teams", SIGNED, shows=TEAM),
    Line("POST", "/v1/teams", "401 201 201 201 201", {"name": "babbage"}),
    Line("GET", "/v1/teams/{team_id}", SIGNED, shows=TEAM),
    Line("PATCH", "/v1/teams/{team_id}", "401 403 200 403 403", {"captain": "bob"}, shows=TEAM),
    Line("POST", "/v1/teams/{team_id}/invitations", "401 403 200 403 403", {"name": "carl"}, shows=TEAM),
    Line("POST", "/v1/teams/{team_id}/join", "401 404 200 404 404", shows=TEAM),
    Line("DELETE", "/v1/teams/{team_id}/members/{name}", "401 403 200 403 403", shows=TEAM),
    # --- unrated matches that an author asked for in private: for strangers they do not exist
    Line("GET", "/v1/challenges", SIGNED),
    Line(
        "POST",
        "/v1/challenges",
        "401 404 201 404 404",
        {"season_id": 1, "bot_id": 2, "opponent_id": 3, "games": 1, "private": True},
    ),
    Line("GET", "/v1/challenges/{challenge_id}", PRIVATE),
    Line(
        "GET",
        "/v1/challenges/{challenge_id}/matches",
        PRIVATE,
        shows=inside(f"transcript 8 of a challenge, {RECORD}, {WORDS}"),
    ),
    Line("POST", "/v1/challenges/{challenge_id}/stop", "401 404 200 404 404"),
    Line("GET", "/challenges", "in 200 200 200 200"),
    Line("GET", "/challenges/{challenge_id}", PRIVATE, shows=inside(f"{BEFORE_IT}, {LINK}")),
    Line("POST", "/challenges/{challenge_id}/stop", "in 404 303 404 404"),
    Line("GET", "/bots/{bot_id}/challenge", "in 200 200 200 200", query="?season=1"),
    Line(
        "POST",
        "/bots/{bot_id}/challenge",
        "in 404 303 404 404",
        form={"bot_id": "2", "games": "2"},
        params={"bot_id": "bot of bob"},
        query="?season=1",
    ),
    Line("GET", MATCH, PRIVATE, params=PRIVATE_MATCH, shows=inside(f"{RECORD}, {WORDS}")),
    *(
        Line("GET", f"{MATCH}/{what}", PRIVATE, params=PRIVATE_MATCH, shows=inside(RECORD))
        for what in ("transcript", "replay", "verification")  # in their ETags
    ),
    Line("GET", f"{MATCH}/live", PRIVATE, params=PRIVATE_MATCH),
    Line("GET", f"{MATCH}/logs", "401 404 200 404 404", params=PRIVATE_MATCH, shows=shows(owner=STDERR)),
    Line("POST", f"{MATCH}/appeals", "401 404 409 404 404", {"text": "mine"}, params=PRIVATE_MATCH),
    Line("GET", "/matches/{match_id}", PRIVATE, params=PRIVATE_MATCH, shows=inside(f"{WORDS}, {BEFORE_IT}")),
    Line("GET", "/matches/{match_id}/embed", "404 404 404 404 404", params=PRIVATE_MATCH),
    Line("GET", "/matches/{match_id}/card.png", "404 404 404 404 404", params=PRIVATE_MATCH),
    Line(
        "GET",
        "/matches/{match_id}/mine",
        "in 404 200 404 404",
        params=PRIVATE_MATCH,
        shows=shows(owner=f"{LINK}, {STDERR}"),
    ),
    Line("GET", "/matches/{match_id}/appeal", "in 404 200 200 200", params=PRIVATE_MATCH, shows=inside(LINK)),
    # --- matches, rulings, appeals
    Line("GET", "/v1/matches", ALL),
    Line("GET", MATCH, ALL),
    Line("GET", MATCH, ALL, params={"match_id": "waiting"}),
    Line("GET", f"{MATCH}/transcript", ALL),
    Line("GET", f"{MATCH}/transcript", "409 409 409 409 409", params={"match_id": "waiting"}),
    Line("GET", f"{MATCH}/live", ALL),
    Line("GET", f"{MATCH}/live", ALL, params={"match_id": "waiting"}),
    Line("GET", f"{MATCH}/logs", "401 404 200 404 404", shows=shows(owner="stderr of ada")),
    Line("GET", f"{MATCH}/replay", ALL),
    Line("GET", f"{MATCH}/replay", "409 409 409 409 409", params={"match_id": "waiting"}),
    Line("GET", f"{MATCH}/verification", ALL),
    Line("GET", f"{MATCH}/verification", "409 409 409 409 409", params={"match_id": "waiting"}),
    # --- a match with whose dice others are still to be played: nobody sees more of it than who won
    Line("GET", MATCH, ALL, params={"match_id": "held"}),
    Line("GET", "/v1/matches", ALL, query="?limit=200"),
    Line("GET", f"{MATCH}/live", ALL, params={"match_id": "held"}),
    *(Line("GET", f"{MATCH}/{what}", OPEN, params={"match_id": "held"}) for what in HELD),
    Line("GET", f"{MATCH}/logs", "401 404 200 404 404", params={"match_id": "held"}),
    Line("POST", f"{MATCH}/appeals", "401 404 409 404 404", {"text": "mine"}, params={"match_id": "held"}),
    Line("GET", "/matches/{match_id}", ALL, params={"match_id": "held"}),
    Line("GET", "/matches/{match_id}/mine", "in 404 200 404 404", params={"match_id": "held"}),
    *(
        Line(
            "GET",
            "/matches/{match_id}/mine/{seat}/stderr",
            "in 404 404 404 404",
            params={"match_id": "held", "seat": n},
        )
        for n in "012"
    ),
    Line("GET", "/matches/{match_id}/appeal", "in 200 200 200 200", params={"match_id": "held"}),
    *(
        Line("GET", route, ALL, params=DEALS)
        for route in (SEASON, "/seasons/{season_id}", "/seasons/{season_id}/matches", "/seasons/{season_id}/statistics")
    ),
    *(
        Line("GET", f"{SEASON}/export/{{table}}.{{form}}", ALL, params={"table": table, "form": "jsonl", **DEALS})
        for table in Exported
    ),
    *(Line("GET", "/bots/{bot_id}", ALL, params={"bot_id": f"dice of {who}"}) for who in ("ada", "bob", "dave")),
    *(Line("GET", "/bots/{bot_id}/matches", ALL, params={"bot_id": f"dice of {who}"}) for who in ("ada", "bob")),
    Line("GET", "/games/{name}", ALL, params={"name": "liars-dice"}),
    Line("POST", f"{MATCH}/void", "401 403 403 200 200", REASON),
    Line("POST", f"{MATCH}/restore", "401 403 403 200 200", REASON),
    Line("POST", f"{MATCH}/rejudge", "401 403 403 201 201", REASON),
    Line("GET", "/v1/held-matches", "401 403 403 200 200"),
    Line("POST", f"{MATCH}/decide", "401 403 403 409 409", {**REASON, "seat": 0}),
    Line("POST", f"{MATCH}/leave", "401 403 403 409 409", REASON),
    Line("GET", f"{SEASON}/voids", "401 403 403 200 200"),
    Line("POST", f"{MATCH}/appeals", "401 404 409 404 404", {"text": "again"}),
    Line("GET", "/v1/appeals", SIGNED, shows=APPEALS),
    Line(
        "POST",
        "/v1/appeals/{appeal_id}/ruling",
        "401 403 403 200 200",
        {"uphold": False, "ruling": "no"},
        shows=shows(organiser="appeal of ada", admin="appeal of ada"),
    ),
    Line("POST", "/v1/appeals/{appeal_id}/withdraw", "401 404 200 404 404", shows=shows(owner="appeal of ada")),
    Line("POST", "/v1/appeals/{appeal_id}/withdraw", "401 404 404 404 404", params={"appeal_id": "appeal of bob"}),
    Line("GET", "/v1/announcements", ALL),
    Line("POST", "/v1/announcements", "401 403 403 201 201", {"title": "t", "text": "t"}),
    Line("DELETE", "/v1/announcements/{announcement_id}", "401 403 403 204 204"),
    Line("GET", "/v1/audit", ALL),
    # --- people against bots: a table is its person's alone until it is over
    *(
        Line("GET", f"/v1/exhibitions/{{exhibition_id}}/{what}", OPEN)
        for what in ("replay", "verification", "transcript", "advice")
    ),
    Line("GET", "/play", ALL),
    Line("POST", "/play", "in 303 409 303 303", form={"bot": "3", "table": "1-2"}),
    Line("GET", "/play/{exhibition_id}", "in 404 200 404 404"),
    Line("GET", "/play/{exhibition_id}/document", "in 404 200 404 404"),
    Line("GET", "/play/{exhibition_id}/events", "in 404 - 404 404"),
    Line("POST", "/play/{exhibition_id}", "in 404 303 404 404", form={"turn": "0"}),
    Line("POST", "/play/{exhibition_id}/resign", "in 404 303 404 404"),
    # --- pages that all see
    Line("GET", "/", ALL),
    Line("GET", "/games/{name}", ALL, params={"name": "yacht-auction"}),
    Line("GET", "/games/{name}/kits/{kit}.zip", ALL, params={"name": "yacht-auction", "kit": "starter"}),
    Line("GET", "/seasons/{season_id}", ALL),
    Line("GET", "/seasons/{season_id}/feed", ALL),
    Line("GET", "/bots/{bot_id}/feed", ALL),
    Line("GET", "/games/{name}/feed", ALL, params={"name": "yacht-auction"}),
    Line("GET", "/seasons/{season_id}/statistics", ALL),
    Line("GET", "/seasons/{season_id}/matrix", "308 308 308 308 308"),
    Line("GET", "/seasons/{season_id}/evaluations", ALL),
    Line("GET", "/evaluations/{evaluation_id}", ALL),
    Line("GET", "/seasons/{season_id}/matches", ALL),
    Line("GET", "/matches/{match_id}", ALL),
    Line("GET", "/matches/{match_id}", ALL, params={"match_id": "waiting"}),
    Line("GET", "/matches/{match_id}/embed", ALL),
    Line("GET", "/matches/{match_id}/card.png", ALL),
    Line("GET", "/bots/{bot_id}", ALL),
    Line("GET", "/bots/{bot_id}/matches", ALL, query="?opponent=1"),
    Line("GET", "/bots/{bot_id}/opponents", ALL),
    Line("GET", "/authors/{name}", ALL),
    Line("GET", "/teams/{team_id}", ALL),
    Line("GET", "/seasons/{season_id}/participants", ALL),
    Line("GET", "/bots", ALL),
    Line("GET", "/games", ALL),
    Line("GET", "/games/{name}/submissions", ALL, params={"name": "yacht-auction"}),
    Line("GET", "/environment", ALL),
    Line("GET", "/download", ALL),
    Line("GET", "/download/{name}", ALL, params={"name": WHEEL}),
    Line("GET", "/audit", ALL),
    Line("GET", "/docs", ALL),
    Line("GET", "/docs/api", ALL),
    Line("GET", "/search", ALL),
    Line("GET", "/language/{chosen}", "303 303 303 303 303", params={"chosen": "ko"}),
    Line("GET", "/style", ALL),
    Line("GET", "/about/{name}", ALL, params={"name": "authors"}),
    # --- one's own pages
    Line("GET", "/sign-in", "200 303 303 303 303"),
    Line("POST", "/sign-in", "403 403 403 403 403", form={"name": "ada", "password": "not hers"}),
    Line("GET", "/sign-up", "200 303 303 303 303"),
    Line("POST", "/sign-up", "409 409 409 409 409", form={"name": "ada", "password": "a long enough password"}),
    Line("GET", "/account", "in 200 200 200 200", shows=ACCOUNT),
    Line("POST", "/account/bots", "in 303 303 303 303", form={"game": "yacht-auction", "name": "another"}),
    Line(
        "POST",
        "/account/tokens",
        "in 200 200 200 200",
        form={"label": "x", "scope": "read", "days": "7"},
        shows=ACCOUNT,
    ),
    Line("POST", "/account/tokens/{token_id}/revoke", "in 404 303 404 404"),
    Line(
        "POST",
        "/account/password",
        "in 403 403 403 403",
        form={"password": "not hers", "new_password": "a long enough password"},
        shows=ACCOUNT,
    ),
    Line("POST", "/account/close", "in 403 403 403 403", form={"password": "not theirs"}, shows=ACCOUNT),
    Line("POST", "/account/teams", "in 303 303 303 303", form={"name": "babbage"}),
    Line(
        "POST",
        "/account/teams/{team_id}/{verb}",
        "in 403 303 403 403",
        form={"name": "carl"},
        params={"verb": "invite"},
    ),
    Line(
        "GET",
        "/bots/{bot_id}/upload",
        "in 404 200 404 404",
        shows=shows(owner="filename of ada, reason of ada"),
    ),
    Line("POST", "/bots/{bot_id}/versions", "in 404 303 404 404", file=True),
    Line("POST", "/bots/{bot_id}/change", "in 404 303 404 404", form={"name": "renamed"}),
    Line("POST", "/bots/{bot_id}/retire", "in 404 303 404 404", form={"retired": "true"}),
    Line(
        "GET",
        "/bots/{bot_id}/versions/{number}",
        "in 404 200 404 404",
        shows=shows(owner="filename of ada, reason of ada, log of ada"),
    ),
    Line("POST", "/bots/{bot_id}/seasons/{season_id}/{verb}", "in 404 303 404 404", params={"verb": "withdraw"}),
    Line("POST", "/bots/{bot_id}/people", "in 404 303 404 404"),
    Line("GET", "/matches/{match_id}/appeal", "in 200 200 200 200", shows=APPEALS),
    Line("GET", "/matches/{match_id}/mine", "in 404 200 404 404", shows=shows(owner="stderr of ada")),
    Line("GET", "/matches/{match_id}/mine", "in 404 200 404 404", params={"match_id": "waiting"}),
    Line(
        "GET",
        "/matches/{match_id}/mine/{seat}/stderr",
        "in 404 200 404 404",
        params={"seat": "seat of ada"},
        shows=shows(owner="stderr of ada"),
    ),
    Line("GET", "/matches/{match_id}/mine/{seat}/stderr", "in 404 404 404 404", params={"seat": "seat of bob"}),
    Line("POST", "/matches/{match_id}/appeal", "in 404 409 404 404", form={"text": "again"}, shows=APPEALS),
    Line("POST", "/matches/{match_id}/appeals/{appeal_id}/withdraw", "in 404 303 404 404", shows=BOTH_APPEALS),
    # --- the desk
    Line("GET", "/desk", "in 403 403 200 200", shows=BOTH_APPEALS),
    Line("GET", "/desk/seasons/new", "in 403 403 200 200"),
    Line("GET", "/desk/season-file", "in 403 403 200 200"),
    Line("GET", "/desk/season-file", "in 403 403 200 200", query="?season=1", shows=LIST),
    Line("POST", "/desk/season-file", "in 403 403 200 200", form={"document": FILE}),
    Line("POST", "/desk/season-file", "in 403 403 303 303", form={"document": FILE, "apply": "yes"}),
    Line("POST", "/desk/seasons", "in 403 403 303 303", form={"game": "yacht-auction", "name": "Another"}),
    Line("POST", "/desk/sign-up", "in 403 403 303 303", form={"rule": "closed"}),
    Line("POST", "/desk/announcements", "in 403 403 303 303", form={"title": "t", "text": "t"}),
    Line("POST", "/desk/announcements/{announcement_id}/take-down", "in 403 403 303 303"),
    Line("POST", "/desk/matches", "in 403 403 303 303", form={"match": "1", "verb": "void", "reason": "because"}),
    Line(
        "POST",
        "/desk/held/{match_id}",
        "in 403 403 409 409",
        form={"answer": "leave", "reason": "because"},
        shows=BOTH_APPEALS,
    ),
    Line("POST", "/desk/appeals/{appeal_id}", "in 403 403 303 303", form={"uphold": "false", "ruling": "no"}),
    Line("GET", "/desk/seasons/{season_id}", "in 403 403 200 200", shows=LIST),
    Line("POST", "/desk/seasons/{season_id}/state", "in 403 403 303 303", form={"state": "frozen"}),
    Line(
        "POST",
        "/desk/seasons/{season_id}/evaluations",
        "in 403 403 409 409",
        form={"format": "round-robin"},
        shows=LIST,
    ),
    Line("POST", "/desk/seasons/{season_id}/evaluations/{evaluation_id}/cancel", "in 403 403 303 303"),
    Line("POST", "/desk/seasons/{season_id}/settings", "in 403 403 303 303", form={"name": "Renamed"}),
    Line("POST", "/desk/seasons/{season_id}/invitations", "in 403 403 303 303", form={"name": "bob"}),
    Line("POST", "/desk/seasons/{season_id}/entries", "in 403 403 409 409", form={"bot": "1"}, shows=LIST),
    Line("POST", "/desk/seasons/{season_id}/entries/{bot_id}/division", "in 403 403 303 303", form={"division": "1"}),
    Line(
        "POST",
        "/desk/seasons/{season_id}/entries/{bot_id}/{verb}",
        "in 403 403 303 303",
        form=REASON,
        params={"verb": "disqualify"},
    ),
    Line("GET", "/operator", "in 403 403 403 200"),
    Line("GET", "/operator/accounts", "in 403 403 403 200"),
    Line(
        "POST",
        "/operator/accounts/{verb}",
        "in 403 403 403 303",
        form={"name": "bob", **REASON},
        params={"verb": "ban"},
    ),
    Line("POST", "/operator/accounts/{verb}", "in 403 403 403 303", form={"name": "bob"}, params={"verb": "reopen"}),
    Line("POST", "/sign-out", "in 303 303 303 303"),
)
