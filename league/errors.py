"""What can go wrong in the league by somebody else's doing. Our own mistakes are assertions, not errors.

Every error has a stable `code` (a word for programs) and data as attributes; its text is a sentence for people.
The HTTP status of each is in `api.errors`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import timedelta
from typing import Self


class LeagueError(Exception):
    """Root of the tree; never raised itself."""

    code = "error"


class NotFound(LeagueError):
    """There is no such thing, or the asker may not know that there is. `said`: the sentence, where the usual one would
    not be understood.
    """

    code = "not-found"

    def __init__(self, what: str, name: object, said: str = "") -> None:
        super().__init__(said or f"There is no {what} {name!r}.")
        self.what = what
        self.name = name

    @classmethod
    def entry(cls, bot_id: int) -> Self:
        """The bot is not in the season that was asked for."""
        return cls("entry", bot_id, f"Bot number {bot_id} is not in this season.")

    @classmethod
    def own_match(cls, match_id: int) -> Self:
        """There is no such match, or it is a match of others."""
        return cls("match", match_id, f"None of your bots plays in a match number {match_id}.")


class NameTaken(LeagueError):
    """Somebody has this name already (names differ by more than upper and lower case)."""

    code = "name-taken"

    def __init__(self, what: str, name: str, said: str = "") -> None:
        super().__init__(said or f"There is a {what} named {name!r} already.")
        self.what = what
        self.name = name

    @classmethod
    def reserved(cls, name: str) -> Self:
        """Nobody may have it, for others would take them for somebody else."""
        return cls("name", name, f"The name {name!r} is reserved; choose another.")


class UnknownGame(LeagueError):
    """No game of that name is installed."""

    code = "unknown-game"

    def __init__(self, game: str, known: tuple[str, ...]) -> None:
        super().__init__(f"There is no game {game!r}; there is {', '.join(known)}.")
        self.game = game
        self.known = known


class WrongCredentials(LeagueError):
    """Name and password do not belong together; which of the two is wrong is not said."""

    code = "wrong-credentials"

    def __init__(self) -> None:
        super().__init__("No such name and password.")


class AccountClosed(LeagueError):
    """The password is right, and the account is closed or banned; `reason` says why it was banned."""

    code = "account-closed"

    def __init__(self, reason: str | None) -> None:
        super().__init__("This account is closed." if reason is None else f"This account is banned: {reason}")
        self.reason = reason


class NotInvited(LeagueError):
    """Nobody may sign up, or only who has the invitation code, and this was not it."""

    code = "not-invited"

    def __init__(self, by_code: bool) -> None:
        needed = (
            "Signing up needs an invitation code, and this is not it." if by_code else "Nobody may sign up here now."
        )
        super().__init__(f"{needed} Ask an organiser.")
        self.by_code = by_code


class BadToken(LeagueError):
    """The access token is missing, unknown, revoked or expired; `why` says which."""

    code = "bad-token"

    def __init__(self, why: str) -> None:
        super().__init__(f"This needs an access token, and {why}.")
        self.why = why


class NotAllowed(LeagueError):
    """Known, but not in the role that this needs."""

    code = "not-allowed"

    def __init__(self, role: str) -> None:
        super().__init__(f"Only an {role} may do this.")
        self.role = role


class NarrowToken(LeagueError):
    """The token's owner might do it, but not with this token."""

    code = "narrow-token"

    def __init__(self, scope: str, wanted: str) -> None:
        super().__init__(f"This token's scope is {str(scope)!r}; this needs {str(wanted)!r}.")
        self.scope = scope
        self.wanted = wanted


class OwnMatch(LeagueError):
    """An organiser would judge a match of a bot of their own, though another organiser could."""

    code = "own-match"

    def __init__(self, match_id: int) -> None:
        super().__init__(f"A bot of yours plays in match {match_id}: another organiser decides about it.")
        self.match_id = match_id


class NotCaptain(LeagueError):
    """A team's affairs are its captain's."""

    code = "not-captain"

    def __init__(self, team: str) -> None:
        super().__init__(f"Only the captain of the team {team!r} may do this.")
        self.team = team


class NotAdmitted(LeagueError):
    """A season's entry rules keep the bot out; `why` says which."""

    code = "not-admitted"

    def __init__(self, why: str) -> None:
        super().__init__(f"The season does not admit this bot: {why}.")
        self.why = why


WITHHELD = (
    "Other matches are still to be played with the same dice, so no dice, moves and logs of this one are shown yet."
)


class WrongState(LeagueError):
    """What was asked for is impossible in the present `state`, e.g. entering a closed season. `said`: a sentence that
    tells how things are and what is possible, for somebody who knows no states.
    """

    code = "wrong-state"

    def __init__(self, state: str, said: str) -> None:
        super().__init__(said)
        self.state = state

    @classmethod
    def of_season(cls, state: str, possible: str) -> Self:
        """`possible`: what is, and when; the end of the sentence."""
        return cls(state, f"The season is {'in its finals' if state == 'finals' else state}; {possible}.")

    @classmethod
    def of_match(cls, state: str, possible: str) -> Self:
        """The same of a match that is not done."""
        return cls(state, f"The match {_WITHOUT.get(state, 'is not over yet')}; {possible}.")

    @classmethod
    def withheld(cls) -> Self:
        """Of a match that is done and whose dice may not be told (`league.service.series.deals`)."""
        return cls("withheld", f"{WITHHELD} Come back when they are over.")


_WITHOUT = {
    "abandoned": "was abandoned without a result",
    "held": "is held until an organiser decides on it",
    "decided": "was decided by an organiser and has no transcript",
}
"""What is said of a match without a result of its own, by its state."""


class WrongGame(LeagueError):
    """A bot for one game cannot enter a season of another."""

    code = "wrong-game"

    def __init__(self, bot_game: str, season_game: str) -> None:
        super().__init__(f"The bot plays {bot_game}, the season is of {season_game}.")
        self.bot_game = bot_game
        self.season_game = season_game


class NotReady(LeagueError):
    """The bot has no version that could play."""

    code = "not-ready"

    def __init__(self, bot: str, state: str) -> None:
        super().__init__(f"The bot {bot!r} has no version that is ready; {state}.")
        self.bot = bot
        self.state = state


class TooMany(LeagueError):
    """A bound on how many of something one user may have."""

    code = "too-many"

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"Too many {what}: the limit is {limit}.")
        self.what = what
        self.limit = limit


class NoPlace(LeagueError):
    """Nobody may play against bots here, or as many as may do so already."""

    code = "no-place"

    def __init__(self, limit: int) -> None:
        taken = f"{limit} people play against bots already; try again later" if limit else "it is off here"
        super().__init__(f"There is no place to play against a bot: {taken}.")
        self.limit = limit


class IllegalMove(LeagueError):
    """A person's move that the rules refuse; nothing is lost, another may be tried."""

    code = "illegal-move"

    def __init__(self, why: str) -> None:
        super().__init__(f"That is not possible: {why}.")
        self.why = why


class OverQuota(LeagueError):
    """So many of something in a time, and the time is not over; the first comes free after `retry_after_seconds`."""

    code = "over-quota"

    def __init__(self, what: str, limit: int, window: str, retry_after_seconds: int) -> None:
        super().__init__(f"Too many {what}: the limit is {limit} {window}; try again in {retry_after_seconds} s.")
        self.what = what
        self.limit = limit
        self.retry_after_seconds = retry_after_seconds


class TooSoon(LeagueError):
    """What may be done again only after a pause, and the pause is not over."""

    code = "too-soon"

    def __init__(self, what: str, state: str, wish: str, left: timedelta) -> None:
        self.retry_after_seconds = max(1, math.ceil(left.total_seconds()))
        super().__init__(f"The {what} is {state}, and may {wish} in {self.retry_after_seconds} s.")
        self.what = what
        self.state = state


class Unsettled(LeagueError):
    """A season would be closed while something in it is open. `left`: what, in words."""

    code = "unsettled"

    def __init__(self, season_id: int, left: Sequence[str]) -> None:
        *most, last = left
        said = f"{', '.join(most)} and {last}" if most else last
        super().__init__(f"Season {season_id} has {said}. `force` closes it all the same.")
        self.left = list(left)


class BadSetting(LeagueError):
    """A season cannot be run with this setting, or not change it any more."""

    code = "bad-setting"

    def __init__(self, setting: str, why: str) -> None:
        super().__init__(f"{setting}: {why}.")
        self.setting = setting
        self.why = why


class BadUpload(LeagueError):
    """The upload cannot become a bot; `reason` is one of a few stable words, the text says what to mend."""

    code = "bad-upload"

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class UploadTooLarge(LeagueError):
    """More bytes than an upload may have."""

    code = "upload-too-large"

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(f"The upload is larger than {limit_bytes} bytes.")
        self.limit_bytes = limit_bytes


class BadCursor(LeagueError):
    """A page's cursor that no list of ours gave out."""

    code = "bad-cursor"

    def __init__(self) -> None:
        super().__init__("This cursor is not one that a list returned.")


class BlobsAway(LeagueError):
    """The store does not answer, or takes nothing more: it is full, say. That may pass."""

    code = "blobs-away"

    def __init__(self, why: str) -> None:
        super().__init__("Nothing can be stored or fetched at the moment; please try again later.")
        self.why = why


class BlobMissing(LeagueError):
    """The database names content that the store does not have; an operator must look."""

    code = "blob-missing"

    def __init__(self, sha256: str) -> None:
        super().__init__(f"The content {sha256} is not in the store.")
        self.sha256 = sha256


class BlobDamaged(LeagueError):
    """The store's content is not what its name says, or is larger than it may be; an operator must look."""

    code = "blob-damaged"

    def __init__(self, sha256: str, why: str) -> None:
        super().__init__(f"The content {sha256} is damaged: {why}.")
        self.sha256 = sha256
        self.why = why
