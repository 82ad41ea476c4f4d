"""Who may do what: a line for each request, with what its answer may tell whom.

A line is a route, its statuses (`in`: sent to sign in; `-`: a stream without an end), and where needed what is sent and
which secrets are shown to whom; no other may be shown. The first status is for a person who is not signed in, the
second for a stranger. Each role gets what the one before it in `ROLES` gets, except where `role=status` says otherwise;
the owner's status passes to nobody. `tests/security/test_access.py` checks every route of the application.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from deadheat.api.pages.game import NAME as WHEEL
from deadheat.league.states import Role
from deadheat.league.words import Exported
from tests.security.planted import ROLES


@dataclass(frozen=True)
class Line:
    """One request in each role. `params`: the path's unusual parameters, as names in `named` or as values."""

    method: str
    route: str
    statuses: str
    json: object = None
    form: Mapping[str, str] | None = None
    file: bool = False
    params: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    shows: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def status(self, role: str) -> str:
        words = [word.rpartition("=") for word in self.statuses.split()]
        said = {name or ROLES[:2][place]: status for place, (name, _, status) in enumerate(words)}
        assert said.keys() <= {*ROLES}, self.statuses
        *_, last = (one for one in ROLES[: ROLES.index(role) + 1] if one in said and (one != "owner" or role == one))
        return said[last]


get, post, put, patch, delete = (partial(Line, method) for method in ("GET", "POST", "PUT", "PATCH", "DELETE"))


def shows(**told: str) -> dict[str, frozenset[str]]:
    """Return the secrets shown to each role and those above it: `shows(owner="log of ada, ...")`."""
    for role in reversed([one for one in Role if one in told]):
        told |= {above.value: told[role] for above in Role.allowing(role) if above not in told}
    return {role: frozenset(name.strip() for name in names.split(",")) for role, names in told.items()}


ALL = "200"
SIGNED = "401 200"
OPEN = "409"
FILE = '[season]\nname = "By file"\ngame = "yacht-auction"\n'
ANSWERS = {"game": "yacht-auction", "name": "Another", "opens_at": "2099-01-01T00:00", "closes_at": "2099-01-02T00:00"}
REASON = {"reason": "because"}
HELD = ("transcript", "replay", "verification")
DEALS = {"season_id": "season of deals"}
BOT = "/v1/bots/{bot_id}"
SEASON = "/v1/seasons/{season_id}"
MATCH = "/v1/matches/{match_id}"
PASSWORD = "a long enough password"
CONFIRMED = {"password": PASSWORD}
ASKED = {"season_id": 1, "bot_id": 2, "opponent_id": 3, "games": 1, "private": True}
RIVAL, DISQUALIFY = {"bot_id": "bot of bob"}, {"verb": "disqualify"}
FILES = shows(owner="filename of ada, reason of ada")
REPORT = shows(organiser="report of a host")
ONE_APPEAL = shows(organiser="appeal of ada")
BOTH_APPEALS = shows(organiser="appeal of ada, appeal of bob")
APPEALS = BOTH_APPEALS | shows(owner="appeal of ada")
LIST = shows(organiser="invited to the season")
HOOK = shows(owner="webhook of ada")
NOTICES = shows(owner="reason of ada, label of ada")
PRINTED = shows(owner="stderr of ada")
TEAM = shows(owner="invited to ada's team")
ACCOUNT = shows(owner="label of ada, invited to ada's team")

RULES_OF = ("/{game}", "/{game}/rules", "/{game}/validator")
PRIVATE = "404 owner=200 organiser=200"
GONE = "404"
STAFF = "401 403 organiser=200"
OWN, MINE = "401 404 owner=200", "in 404 owner=200"
PRIVATE_MATCH = {"match_id": "private"}


def inside(names: str) -> dict[str, frozenset[str]]:
    """Return the secrets of a private challenge, shown to its owner and to organisers."""
    return shows(owner=names, organiser=names)


EARLIER, RECORD = "transcript 8 of a challenge", "transcript 9 of a challenge"
WORDS, LINK = "words of a challenge", "match 9 of a challenge"
STDERR = "stderr of a challenge"
BEFORE_IT = "match 8 of a challenge"  # in the same series

A_PROGRAM = {"series_id": "1", "sha256": "a" * 64}
NO_RESULTS: dict[str, object] = {"played": [], "void": None, "failure": None}

PUBLIC = (
    "/healthz /readyz /metrics /v1/openapi.json /v1/games /v1/bots/{bot_id} /v1/seasons /v1/seasons/{season_id} "
    "/v1/seasons/{season_id}/season.toml /v1/seasons/{season_id}/evaluations /v1/evaluations/{evaluation_id} "
    "/v1/evaluations/{evaluation_id}/rounds/{number} /v1/seasons/{season_id}/contests /v1/seasons/{season_id}/entries "
    "/v1/seasons/{season_id}/entries/{bot_id}/waiting /v1/seasons/{season_id}/leaderboard /v1/matches "
    "/v1/matches/{match_id} /v1/matches/{match_id}/transcript /v1/matches/{match_id}/live "
    "/v1/matches/{match_id}/replay /v1/matches/{match_id}/verification /v1/announcements /v1/audit /play / "
    "/v1/tables /v1/tables/{table_id} /v1/timeouts /timeouts /timeouts/matches /seasons/{season_id}/timeouts "
    "/seasons/{season_id} /seasons/{season_id}/feed /bots/{bot_id}/feed /seasons/{season_id}/statistics "
    "/seasons/{season_id}/contests /seasons/{season_id}/projector /seasons/{season_id}/matches /matches/{match_id} "
    "/matches/{match_id}/embed /matches/{match_id}/card.png /bots/{bot_id} /bots/{bot_id}/opponents /authors/{name} "
    "/teams/{team_id} /seasons/{season_id}/participants /bots /games /environment /download /audit /docs /docs/api "
    "/search /skill.md /llms.txt"
)
"""Routes that everybody reads, without a secret."""

TABLE: tuple[Line, ...] = (
    *(get(route, ALL) for route in PUBLIC.split()),
    post("/v1/users", "201", {"name": "newcomer", "password": PASSWORD}),
    get("/v1/users/me", SIGNED),
    get("/v1/tokens", SIGNED, shows=shows(owner="label of ada")),
    post("/v1/tokens", "401", {"name": "ada", "password": "not hers", "label": "x"}),
    delete("/v1/tokens/{token_id}", "401 404 owner=204"),
    get("/v1/inbox", SIGNED, shows=NOTICES),
    post("/v1/inbox/read", SIGNED, {"up_to": 1}),
    get("/inbox", "in 200", shows=NOTICES),
    get("/mine", "in 200", shows=NOTICES),
    post("/inbox/read", "in 303", form={"up_to": "1"}),
    get("/account/webhooks", "in 200", shows=HOOK),
    post("/account/webhooks", "in 200", form={"url": "https://a.example/", **CONFIRMED}, shows=HOOK),
    post("/account/webhooks", "in 422", form={"url": "http://127.0.0.1/"}, shows=HOOK),
    post("/account/webhooks/mail", "in 422", form={"address": "ada@a.example"}, shows=HOOK),
    get("/sign-in/openid", "404 303"),
    get("/sign-in/openid/callback", GONE),
    post("/sign-up/openid", GONE, form={"name": "newcomer"}),
    post("/account/openid", "in 404", form=CONFIRMED, shows=ACCOUNT),
    post("/account/openid/unlink", "in 404", form=CONFIRMED, shows=ACCOUNT),
    get("/forgotten", GONE),
    post("/forgotten", GONE, form={"name": "ada"}),
    get("/reset", GONE, query="?channel=1&until=9999999999&token=guessed"),
    post("/reset", GONE, form={"channel": "1", "until": "9999999999", "token": "guessed", "password": PASSWORD}),
    get("/mail/{link}", GONE, params={"link": "confirm"}, query="?channel=1&token=guessed"),
    post("/mail/{link}", GONE, form={"channel": "1", "token": "x"}, params={"link": "unsubscribe"}),
    post("/account/webhooks/{channel_id}/{verb}", "in 404 owner=303", params={"verb": "test"}),
    get("/v1/environment", GONE),
    get("/v1/workers", STAFF, shows=REPORT),
    # --- machines, which no token or session of a person opens
    post("/v1/machine/register", "401", {"image": "i", "starts": True}),
    post("/v1/machine/beat", "401", {"steal_share": 0, "late_seconds": 0, "busy_share": 0, "held_by": None}),
    get("/v1/machine/check", "401"),
    post("/v1/machine/check", "401", {"slots": 1, "findings": [], "reasons": [], "again_seconds": 0, "doubts": 0}),
    post("/v1/machine/canary", "401", {"voids": 0, "wrong": [], "series_before": 0}),
    post("/v1/machine/claim", "401", {"number": 1}),
    get("/v1/machine/work", "401"),
    post("/v1/machine/series/{series_id}/renew", "401", query="?attempt=1", params={"series_id": "1"}),
    get("/v1/machine/series/{series_id}/programs/{sha256}", "401", query="?attempt=1", params=A_PROGRAM),
    post("/v1/machine/series/{series_id}/results", "401", NO_RESULTS, query="?attempt=1", params={"series_id": "1"}),
    # --- bots and versions
    get("/v1/bots", SIGNED),
    post("/v1/bots", "401 201", {"game": "yacht-auction", "name": "another"}),
    patch(BOT, OWN, {"team_id": 1}, params={"bot_id": "idle"}),
    get(f"{BOT}/panels", OWN),
    post(f"{BOT}/versions", "401 404 owner=202", file=True),
    get(f"{BOT}/versions", OWN, shows=FILES),
    get(f"{BOT}/versions/{{number}}", OWN, shows=FILES),
    patch(f"{BOT}/versions/{{number}}", OWN, {"lendable": True}, shows=FILES),
    get(f"{BOT}/versions/{{number}}/log", OWN, shows=shows(owner="log of ada")),
    get(f"{BOT}/versions/{{number}}/trial", OWN, shows=shows(owner="trial of ada")),
    get(f"{BOT}/versions/{{number}}/source", OWN, shows=shows(owner="source of ada")),
    # --- seasons and entries
    post("/v1/seasons", "401 403 organiser=201", {"game": "yacht-auction", "name": "Another"}),
    patch(SEASON, STAFF, {"name": "Renamed"}),
    post("/v1/season-files", STAFF, {"document": FILE, "preview": True}),
    post("/v1/season-files", STAFF, {"document": FILE}),
    get(f"{SEASON}/file", STAFF, shows=LIST),
    get(f"{SEASON}/sources/{{version_id}}", GONE, params={"version_id": "1"}),
    put(f"{SEASON}/file", STAFF, {"document": FILE}),
    post(f"{SEASON}/archives", "401 403 organiser=409", {"sha256": "0" * 64}),
    get(f"{SEASON}/forecast", STAFF),
    get(f"{SEASON}/invitations", STAFF, shows=LIST),
    put(f"{SEASON}/invitations/{{name}}", STAFF, shows=LIST),
    delete(f"{SEASON}/invitations/{{name}}", STAFF, shows=LIST),
    post(f"{SEASON}/evaluations", "401 403 organiser=409", {"format": "round-robin"}),
    post("/v1/evaluations/{evaluation_id}/cancel", STAFF),
    post("/v1/evaluations/{evaluation_id}/resume", "401 403 organiser=409"),
    put(f"{SEASON}/entries/{{bot_id}}", "401 404 owner=200 organiser=409", {"version": 1}),
    patch(f"{SEASON}/entries/{{bot_id}}", STAFF, {"division": 1}),
    get(f"{SEASON}/entries/{{bot_id}}/challenges", "401 404 owner=200 organiser=200"),
    post(f"{SEASON}/entries/{{bot_id}}/disqualify", "401 403 organiser=204", REASON),
    post(f"{SEASON}/entries/{{bot_id}}/reinstate", "401 403 organiser=204", REASON),
    post(f"{SEASON}/entries/{{bot_id}}/withdraw", "401 404 owner=204"),
    post(f"{SEASON}/entries/{{bot_id}}/rejoin", "401 404 owner=204"),
    *(
        get(f"{SEASON}/export/{{table}}.{{form}}", ALL, params={"table": table, "form": form})
        for table in Exported
        for form in ("csv", "jsonl")
    ),
    # --- teams
    get("/v1/teams", SIGNED, shows=TEAM),
    post("/v1/teams", "401 201", {"name": "babbage"}),
    get("/v1/teams/{team_id}", SIGNED, shows=TEAM),
    patch("/v1/teams/{team_id}", "401 403 owner=200", {"captain": "bob"}, shows=TEAM),
    post("/v1/teams/{team_id}/invitations", "401 403 owner=200", {"name": "carl"}, shows=TEAM),
    post("/v1/teams/{team_id}/join", OWN, shows=TEAM),
    delete("/v1/teams/{team_id}/members/{name}", "401 403 owner=200", shows=TEAM),
    # --- unrated matches that an author asked for in private: for strangers they do not exist
    get("/v1/challenges", SIGNED),
    post("/v1/challenges", "401 404 owner=201", ASKED),
    get("/v1/challenges/{challenge_id}", PRIVATE),
    get("/v1/challenges/{challenge_id}/matches", PRIVATE, shows=inside(f"{EARLIER}, {RECORD}, {WORDS}")),
    post("/v1/challenges/{challenge_id}/stop", OWN),
    get("/v1/contests", SIGNED),
    get("/v1/contests/{contest_id}", PRIVATE),
    get("/v1/contests/{contest_id}", ALL, params={"contest_id": "evaluation_id"}),
    get("/v1/contests/{contest_id}/rounds/{number}", PRIVATE),
    get("/v1/contests/{contest_id}/matches", PRIVATE, shows=inside(f"{EARLIER}, {RECORD}, {WORDS}")),
    post("/v1/contests/{contest_id}/cancel", "401 404 owner=200 organiser=404"),
    post("/v1/contests/{contest_id}/cancel", STAFF, params={"contest_id": "evaluation_id"}),
    post("/v1/contests/{contest_id}/resume", "401 403 organiser=409", params={"contest_id": "evaluation_id"}),
    get("/contests", "in 200"),
    get("/contests/{contest_id}", PRIVATE, shows=inside(f"{BEFORE_IT}, {LINK}")),
    get("/contests/{contest_id}", ALL, params={"contest_id": "evaluation_id"}),
    post(
        "/contests/{contest_id}/cancel", "in 404 owner=303 organiser=404", shows=shows(organiser=f"{BEFORE_IT}, {LINK}")
    ),
    post("/contests/{contest_id}/cancel", "in 403 organiser=303", params={"contest_id": "evaluation_id"}),
    post("/contests/{contest_id}/resume", "in 403 organiser=409", params={"contest_id": "evaluation_id"}),
    get("/challenges", "308"),
    get("/challenges/{number}", "404 owner=308 organiser=308", params={"number": "challenge_id"}),
    get("/evaluations/{number}", "308"),
    get("/seasons/{season_id}/evaluations", "308"),
    get("/bots/{bot_id}/challenge", "in 200", query="?season=1"),
    post(
        "/bots/{bot_id}/challenge",
        "in 404 owner=303",
        form={"bot_id": "2", "games": "2"},
        params=RIVAL,
        query="?season=1",
    ),
    get(MATCH, PRIVATE, params=PRIVATE_MATCH, shows=inside(f"{RECORD}, {WORDS}")),
    *(
        get(f"{MATCH}/{what}", PRIVATE, params=PRIVATE_MATCH, shows=inside(RECORD))
        for what in ("transcript", "replay", "verification")  # in their ETags
    ),
    get(f"{MATCH}/live", PRIVATE, params=PRIVATE_MATCH),
    get(f"{MATCH}/logs", OWN, params=PRIVATE_MATCH, shows=shows(owner=STDERR)),
    post(f"{MATCH}/appeals", "401 404 owner=409", {"text": "mine"}, params=PRIVATE_MATCH),
    get("/matches/{match_id}", PRIVATE, params=PRIVATE_MATCH, shows=inside(f"{WORDS}, {BEFORE_IT}")),
    get("/matches/{match_id}/embed", GONE, params=PRIVATE_MATCH),
    get("/matches/{match_id}/card.png", GONE, params=PRIVATE_MATCH),
    get("/matches/{match_id}/mine", MINE, params=PRIVATE_MATCH, shows=shows(owner=f"{LINK}, {STDERR}")),
    get("/matches/{match_id}/appeal", "in 404 owner=200 organiser=200", params=PRIVATE_MATCH, shows=inside(LINK)),
    # --- matches, rulings, appeals
    get(MATCH, ALL, params={"match_id": "waiting"}),
    get(f"{MATCH}/transcript", "409", params={"match_id": "waiting"}),
    get(f"{MATCH}/live", ALL, params={"match_id": "waiting"}),
    get(f"{MATCH}/logs", OWN, shows=PRINTED),
    get(f"{MATCH}/replay", "409", params={"match_id": "waiting"}),
    get(f"{MATCH}/verification", "409", params={"match_id": "waiting"}),
    # --- a match whose dice are still to be played again: nobody sees more of it than who won
    get(MATCH, ALL, params={"match_id": "held"}),
    get("/v1/matches", ALL, query="?limit=200"),
    get(f"{MATCH}/live", ALL, params={"match_id": "held"}),
    *(get(f"{MATCH}/{what}", OPEN, params={"match_id": "held"}) for what in HELD),
    get(f"{MATCH}/logs", OWN, params={"match_id": "held"}),
    post(f"{MATCH}/appeals", "401 404 owner=409", {"text": "mine"}, params={"match_id": "held"}),
    get("/matches/{match_id}", ALL, params={"match_id": "held"}),
    get("/matches/{match_id}/mine", MINE, params={"match_id": "held"}),
    *(get("/matches/{match_id}/mine/{seat}/stderr", "in 404", params={"match_id": "held", "seat": n}) for n in "012"),
    get("/matches/{match_id}/appeal", "in 200", params={"match_id": "held"}),
    *(
        get(route, ALL, params=DEALS)
        for route in (SEASON, "/seasons/{season_id}", "/seasons/{season_id}/matches", "/seasons/{season_id}/statistics")
    ),
    *(
        get(f"{SEASON}/export/{{table}}.{{form}}", ALL, params={"table": table, "form": "jsonl", **DEALS})
        for table in Exported
    ),
    *(get("/bots/{bot_id}", ALL, params={"bot_id": f"dice of {who}"}) for who in ("ada", "bob", "dave")),
    *(get("/bots/{bot_id}/matches", ALL, params={"bot_id": f"dice of {who}"}) for who in ("ada", "bob")),
    get("/games/{name}", ALL, params={"name": "liars-dice"}),
    post(f"{MATCH}/void", STAFF, REASON),
    post(f"{MATCH}/restore", STAFF, REASON),
    post(f"{MATCH}/rejudge", "401 403 organiser=201", REASON),
    get("/v1/held-matches", STAFF),
    post(f"{MATCH}/decide", "401 403 organiser=409", {**REASON, "seat": 0}),
    post(f"{MATCH}/leave", "401 403 organiser=409", REASON),
    get(f"{SEASON}/voids", STAFF),
    post(f"{MATCH}/appeals", "401 404 owner=409", {"text": "again"}),
    get("/v1/appeals", SIGNED, shows=APPEALS),
    post("/v1/appeals/{appeal_id}/ruling", STAFF, {"uphold": False, "ruling": "no"}, shows=ONE_APPEAL),
    post("/v1/appeals/{appeal_id}/withdraw", OWN, shows=shows(owner="appeal of ada")),
    post("/v1/appeals/{appeal_id}/withdraw", "401 404", params={"appeal_id": "appeal of bob"}),
    post("/v1/announcements", "401 403 organiser=201", {"title": "t", "text": "t"}),
    delete("/v1/announcements/{announcement_id}", "401 403 organiser=204"),
    # --- people against bots: only its person sees a table until it is over
    *(
        get(f"/v1/exhibitions/{{exhibition_id}}/{what}", OPEN)
        for what in ("replay", "verification", "transcript", "advice")
    ),
    post("/play", "in 303 owner=409", form={"bot": "3", "copies": "1", "seat": "2"}),
    get("/play/{exhibition_id}", MINE),
    get("/play/{exhibition_id}/document", MINE),
    get("/play/{exhibition_id}/events", "in 404 owner=-"),
    post("/play/{exhibition_id}", "in 404 owner=303", form={"turn": "0"}),
    post("/play/{exhibition_id}/resign", "in 404 owner=303"),
    # --- agents at tables
    post("/v1/tables", "401 201", {"game": "yacht-auction", "name": "agent", "seats": ["me", "open"]}),
    post("/v1/seasons/{season_id}/table", "401 409", {"name": "agent"}),
    post("/v1/tables/queue", "401 200", {"game": "yacht-auction", "name": "agent"}),
    post("/v1/tables/{table_id}/seat", "401 404", {"name": "agent"}, params={"table_id": "9999"}),
    get("/v1/tables/{table_id}/next", OWN),
    post("/v1/tables/{table_id}/turns/{turn}", "401 404 owner=409", {"line": "BID A 1"}, params={"turn": "1"}),
    post("/v1/tables/{table_id}/resign", OWN),
    # --- agents of the seed's interface, which have keys and no tokens
    post("/api/agents", "401 201", {"name": "agent"}),
    *(get(f"/api/games{path}", ALL, params={"game": "liars-dice"}) for path in ("", *RULES_OF)),
    post("/api/matchmaking/queue", "401", {"gameId": "liars-dice"}),
    get("/api/matchmaking/status", "401", query="?gameId=liars-dice"),
    delete("/api/matchmaking/queue", "401"),
    get("/api/matches/{match_id}/state", "401"),
    post("/api/matches/{match_id}/action", "401", {"sequence": 1, "action": {}}),
    # --- public pages
    get("/games/{name}", ALL, params={"name": "yacht-auction"}),
    get("/games/{name}/kits/{kit}.zip", ALL, params={"name": "yacht-auction", "kit": "starter"}),
    get("/games/{name}/feed", ALL, params={"name": "yacht-auction"}),
    get("/seasons/{season_id}/matrix", "308"),
    get("/matches/{match_id}", ALL, params={"match_id": "waiting"}),
    get("/bots/{bot_id}/matches", ALL, query="?opponent=1"),
    get("/games/{name}/submissions", ALL, params={"name": "yacht-auction"}),
    get("/download/{name}", ALL, params={"name": WHEEL}),
    get("/language/{chosen}", "303", params={"chosen": "ko"}),
    get("/docs/{folder}/{name}", ALL, params={"folder": "start", "name": "author"}),
    get("/about/{name}", "308", params={"name": "authors"}),
    # --- one's own pages
    get("/sign-in", "200 303"),
    post("/sign-in", "403", form={"name": "ada", "password": "not hers"}),
    get("/sign-up", "200 303"),
    post("/sign-up", "409", form={"name": "ada", "password": PASSWORD}),
    get("/account", "in 200", shows=ACCOUNT),
    get("/submit", "in 200"),
    post("/submit", "in 303", form={"game": "yacht-auction", "name": "another"}, file=True),
    post("/account/tokens", "in 200", form={"label": "x", "scope": "read", "days": "7", **CONFIRMED}, shows=ACCOUNT),
    post("/account/tokens/{token_id}/revoke", "in 404 owner=303"),
    post("/account/password", "in 403", form={"password": "not hers", "new_password": PASSWORD}, shows=ACCOUNT),
    post("/account/close", "in 403", form={"password": "not theirs"}, shows=ACCOUNT),
    post("/account/teams", "in 303", form={"name": "babbage"}),
    post("/account/teams/{team_id}/{verb}", "in 403 owner=303", form={"name": "carl"}, params={"verb": "invite"}),
    get("/bots/{bot_id}/upload", MINE, shows=FILES),
    post("/bots/{bot_id}/versions", "in 404 owner=303", file=True),
    post("/bots/{bot_id}/change", "in 404 owner=303", form={"name": "renamed"}),
    post("/bots/{bot_id}/retire", "in 404 owner=303", form={"retired": "true"}),
    get("/bots/{bot_id}/versions/{number}", MINE, shows=shows(owner="filename of ada, reason of ada, log of ada")),
    post("/bots/{bot_id}/seasons/{season_id}/{verb}", "in 404 owner=303", params={"verb": "withdraw"}),
    post("/bots/{bot_id}/people", "in 404 owner=303"),
    get("/matches/{match_id}/appeal", "in 200", shows=APPEALS),
    get("/matches/{match_id}/mine", MINE, shows=PRINTED),
    get("/matches/{match_id}/mine", MINE, params={"match_id": "waiting"}),
    get("/matches/{match_id}/mine/{seat}/stderr", MINE, params={"seat": "seat of ada"}, shows=PRINTED),
    get("/matches/{match_id}/mine/{seat}/stderr", "in 404", params={"seat": "seat of bob"}),
    post("/matches/{match_id}/appeal", "in 404 owner=409", form={"text": "again"}, shows=APPEALS),
    post("/matches/{match_id}/appeals/{appeal_id}/withdraw", "in 404 owner=303", shows=BOTH_APPEALS),
    # --- the desk
    get("/desk", "in 403 organiser=200", shows=BOTH_APPEALS),
    get("/desk/seasons/new", "in 403 organiser=200"),
    get("/desk/season-file", "in 403 organiser=200"),
    get("/desk/season-file", "in 403 organiser=200", query="?season=1", shows=LIST),
    post("/desk/season-file", "in 403 organiser=200", form={"document": FILE}),
    post("/desk/season-file", "in 403 organiser=303", form={"document": FILE, "apply": "yes"}),
    post("/desk/seasons", "in 403 organiser=200", form=ANSWERS),
    post("/desk/sign-up", "in 403 organiser=303", form={"rule": "closed"}),
    post("/desk/announcements", "in 403 organiser=303", form={"title": "t", "text": "t"}),
    post("/desk/announcements/{announcement_id}/take-down", "in 403 organiser=303"),
    post("/desk/matches", "in 403 organiser=303", form={"match": "1", "verb": "void", "reason": "because"}),
    post("/desk/held/{match_id}", "in 403 organiser=409", form={"answer": "leave", **REASON}, shows=BOTH_APPEALS),
    post("/desk/appeals/{appeal_id}", "in 403 organiser=303", form={"uphold": "false", "ruling": "no"}),
    get("/desk/seasons/{season_id}", "in 403 organiser=200", shows=LIST),
    post("/desk/seasons/{season_id}/state", "in 403 organiser=303", form={"state": "frozen"}),
    post("/desk/seasons/{season_id}/contests", "in 403 organiser=409", form={"format": "round-robin"}, shows=LIST),
    post("/desk/seasons/{season_id}/settings", "in 403 organiser=303", form={"name": "Renamed"}),
    post("/desk/seasons/{season_id}/invitations", "in 403 organiser=303", form={"name": "bob"}),
    post("/desk/seasons/{season_id}/entries", "in 403 organiser=409", form={"bot": "1"}, shows=LIST),
    post("/desk/seasons/{season_id}/entries/{bot_id}/division", "in 403 organiser=303", form={"division": "1"}),
    post("/desk/seasons/{season_id}/entries/{bot_id}/{verb}", "in 403 organiser=303", form=REASON, params=DISQUALIFY),
    get("/operator", "in 403 admin=200"),
    get("/operator/accounts", "in 403 admin=200"),
    post("/operator/accounts/{verb}", "in 403 admin=303", form={"name": "bob", **REASON}, params={"verb": "ban"}),
    post("/operator/accounts/{verb}", "in 403 admin=303", form={"name": "bob"}, params={"verb": "reopen"}),
    post("/sign-out", "in 303"),
)
