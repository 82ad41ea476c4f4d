"""Errors of the league with causes outside it: callers, the store, the provider. Our own mistakes are assertions.

For programs, every error has a stable `code` (a word, from the name of its class) and data as attributes. For people,
its text is a sentence. The HTTP status of each is in `api.errors`.
"""

import math
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar, Self

from deadheat.engine.figures import counted, wait
from deadheat.engine.language import N_, _, gettext
from deadheat.league.states import SeasonState, either


class LeagueError(Exception):
    """The root of the tree; it is never raised itself."""

    code: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Derive the code from the name: `NotFound` is `not-found`."""
        cls.code = re.sub(r"\B([A-Z])", r"-\1", cls.__name__).lower()


class NotFound(LeagueError):
    """The thing does not exist, or the caller must not learn that it does. `said` replaces the usual sentence if people
    would not understand that one.
    """

    def __init__(self, what: str, name: object, sentence: str = "") -> None:
        super().__init__(sentence or _("There is no %(what)s %(name)r.", what=gettext(what), name=name))

    @classmethod
    def entry(cls, bot_id: int) -> Self:
        """Return the error for a bot that is not in the requested season."""
        return cls("entry", bot_id, _("Bot number %(bot_id)s is not in this season.", bot_id=bot_id))

    @classmethod
    def own_match(cls, match_id: int) -> Self:
        """Return the error for a match that does not exist or is somebody else's."""
        return cls("match", match_id, _("None of your bots plays in match %(match_id)s.", match_id=match_id))


class NameTaken(LeagueError):
    """The name is taken. Names that differ only in case are equal."""

    def __init__(self, what: str, name: str, sentence: str = "") -> None:
        super().__init__(sentence or _("A %(what)s named %(name)r already exists.", what=gettext(what), name=name))

    @classmethod
    def reserved(cls, name: str) -> Self:
        """Return the error for a reserved name, whose owner others might mistake for somebody else."""
        return cls("name", name, _("The name %(name)r is reserved; choose another.", name=name))


class UnknownGame(LeagueError):
    """No game of that name is installed."""

    def __init__(self, game: str, known: tuple[str, ...]) -> None:
        super().__init__(_("There is no game %(game)r. Choose from %(known)s.", game=game, known=", ".join(known)))
        self.known = known


class WrongCredentials(LeagueError):
    """Name and password do not match; the error does not reveal which of the two is wrong."""

    def __init__(self) -> None:
        super().__init__(_("Wrong name or password."))


class AccountClosed(LeagueError):
    """The password is right, but the account is closed or banned; `reason` says why it was banned."""

    def __init__(self, reason: str | None) -> None:
        super().__init__(
            _("This account is closed.") if reason is None else _("This account is banned: %(reason)s", reason=reason)
        )
        self.reason = reason


class ProviderRefused(LeagueError):
    """Somebody was not let in through the OpenID provider; `text` says what to do."""


class ProviderAway(LeagueError):
    """The OpenID provider cannot be reached, or failed."""

    def __init__(self) -> None:
        super().__init__(_("The provider does not answer. Try again later, or sign in with a password."))


class AlreadyLinked(LeagueError):
    """Each account has at most one identity at the provider, and each identity at most one account."""

    def __init__(self) -> None:
        super().__init__(_("That identity belongs to another account, or this account is linked to another identity."))


class SignInAgain(LeagueError):
    """Somebody without a password must sign in again to prove their identity."""

    def __init__(self) -> None:
        super().__init__(_("Your sign-in is too old for this. Sign out, sign in again, and do it within ten minutes."))


class NotInvited(LeagueError):
    """Sign-up is closed, or the invitation code is wrong."""

    def __init__(self, by_code: bool) -> None:
        needed = _("To sign up you need a valid invitation code.") if by_code else _("Sign-up is closed.")
        super().__init__(needed + " " + _("Ask an organiser."))
        self.by_code = by_code


class BadToken(LeagueError):
    """The access token is missing, unknown, revoked or expired, as `why` says; or it was valid, but its owner's account
    is `closed`.
    """

    def __init__(self, why: str, closed: AccountClosed | None = None) -> None:
        super().__init__(str(closed) if closed else f"This requires an access token, and {why}.")
        self.closed = closed


class NotAllowed(LeagueError):
    """The user is known but lacks the required role."""

    def __init__(self, role: str) -> None:
        super().__init__(_("Only an %(role)s may do this.", role=gettext(role)))


class NarrowToken(LeagueError):
    """The token's owner may do this, but not with this token."""

    def __init__(self, scope: str, wanted: str) -> None:
        super().__init__(f"This token's scope is {str(scope)!r}; this requires {str(wanted)!r}.")
        self.scope = scope
        self.wanted = wanted


class OwnMatch(LeagueError):
    """An organiser must not judge a match of their own bot while another organiser can."""

    def __init__(self, match_id: int) -> None:
        super().__init__(
            _("Your bot plays in match %(match_id)s, so another organiser must decide.", match_id=match_id)
        )


class NotCaptain(LeagueError):
    """Only a team's captain may manage it."""

    def __init__(self, team: str) -> None:
        super().__init__(_("Only the captain of the team %(team)r may do this.", team=team))


class NotAdmitted(LeagueError):
    """A season's entry rules keep the bot out; `why` says which."""

    def __init__(self, why: str) -> None:
        super().__init__(_("The season does not admit this bot: %(why)s.", why=why))


WITHHELD = N_(
    "This match's dice and moves are not public yet: other matches with the same dice are still to be played, or the "
    "season publishes them with its final standings."
)


class WrongState(LeagueError):
    """The request is impossible in the present `state`, such as entering a closed season. `said` explains the situation
    and what is possible, without naming states.
    """

    def __init__(self, state: str, sentence: str) -> None:
        super().__init__(sentence)
        self.state = state

    @classmethod
    def of_season(cls, state: SeasonState, possible: str, states: Sequence[SeasonState] = ()) -> Self:
        """Return the error for a season. `possible` ends the sentence: what is possible, and in which `states`."""
        possible = possible % {"states": either(states)} if states else possible
        sentence = _("The season is %(state)s; %(possible)s.", state=gettext(state.words), possible=possible)
        return cls(state, sentence)

    @classmethod
    def of_match(cls, state: str, possible: str) -> Self:
        """Return the error for a match that is not done; `possible` ends the sentence."""
        known = gettext(_WITHOUT.get(state, N_("The match is not over yet")))
        return cls(state, _("%(state)s; %(possible)s.", state=known, possible=possible))

    @classmethod
    def withheld(cls) -> Self:
        """Return the error for a finished match whose dice must not be shown yet (`league.service.series.deals`)."""
        return cls("withheld", gettext(WITHHELD))


_WITHOUT = {
    "abandoned": N_("The match was abandoned without a result"),
    "held": N_("The match is held until an organiser decides on it"),
    "decided": N_("The match was decided by an organiser and has no transcript"),
}
"""The beginnings of messages about a match without a played result, by state."""


class OtherRelease(LeagueError):
    """A machine that plays over HTTP has another release than the league, or other copies of its games."""

    def __init__(self, theirs: str, ours: str, *, games: bool = False) -> None:
        what = "other games than this league (see DEADHEAT_GAMES)" if games else f"release {theirs}"
        super().__init__(
            f"This machine has {what}; the league runs {ours}. Install the same release and games there, then start "
            "its worker again."
        )


class MachineRefused(LeagueError):
    """A machine's results do not follow from the rules and its series' plan. `reason` is a stable word."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{detail}. Nothing of this series counts.")
        self.reason = reason


class WrongGame(LeagueError):
    """A bot for one game cannot enter another game's season."""

    def __init__(self, bot_game: str, season_game: str) -> None:
        super().__init__(_("The bot plays %(its)s, but the season's game is %(game)s.", its=bot_game, game=season_game))


class NotReady(LeagueError):
    """The bot has no version that can play."""

    def __init__(self, bot: str, state: str) -> None:
        super().__init__(_("The bot %(bot)r has no ready version; %(state)s.", bot=bot, state=state))
        self.state = state


class TooMany(LeagueError):
    """The maximum number of something is reached, such as a user's bots or a division's entries."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(_("Too many %(what)s: the limit is %(limit)s.", what=gettext(what), limit=limit))
        self.limit = limit


class NoPlace(LeagueError):
    """All places for playing against bots are taken, or there are none."""

    def __init__(self, limit: int) -> None:
        full = _("All %(places)s for playing against a bot are taken. Try again later.", places=counted(limit, "place"))
        super().__init__(full if limit else _("Playing against bots is switched off here."))
        self.limit = limit


class IllegalMove(LeagueError):
    """A person's move breaks the rules. Nothing is lost, and the person may try another."""

    def __init__(self, why: str) -> None:
        super().__init__(_("That is not possible: %(why)s.", why=why))


class OverQuota(LeagueError):
    """A quota is used up, or fewer are `left` than were requested; try again after `retry_after_seconds`."""

    def __init__(self, what: str, limit: int, window: str, retry_after_seconds: int, left: int = 0) -> None:
        facts = {"what": gettext(what), "limit": limit, "window": gettext(window), "left": left}
        sentence = _("Too many %(what)s: the limit is %(limit)s %(window)s (%(left)s left); try again in %(time)s.")
        if not left:
            sentence = _("Too many %(what)s: the limit is %(limit)s %(window)s; try again in %(time)s.")
        super().__init__(sentence % {**facts, "time": wait(retry_after_seconds)})
        self.limit = limit
        self.retry_after_seconds = retry_after_seconds


class TooSoon(LeagueError):
    """The action may be repeated only after a pause that is not over yet."""

    def __init__(self, sentence: str, state: str, left: timedelta) -> None:
        self.retry_after_seconds = max(1, math.ceil(left.total_seconds()))
        super().__init__(_(sentence, seconds=self.retry_after_seconds))
        self.state = state


class Unsettled(LeagueError):
    """A season cannot close while something in it is open; `left` lists it in words."""

    def __init__(self, season_id: int, left: Sequence[str]) -> None:
        *most, last = left
        listed = ", ".join(most) + _(" and ") + last if most else last
        super().__init__(_("Season %(id)s has %(said)s. Use `force` to close it anyway.", id=season_id, said=listed))
        self.left = list(left)


class BadSetting(LeagueError):
    """The season cannot have this setting, or can no longer change it."""

    def __init__(self, setting: str, why: str) -> None:
        super().__init__(f"{setting}: {why}.")
        self.setting = setting
        self.why = why


class BadSeasonFile(LeagueError):
    """A season's file has mistakes or asks for something impossible. `mistakes` lists all of them, each with its key's
    path (empty: the whole file) and the reason.
    """

    def __init__(self, mistakes: Sequence[tuple[str, str]]) -> None:
        sentences = [f"{path}: {why}." if path else f"{why[:1].upper()}{why[1:]}." for path, why in mistakes]
        many = _("The file has %(n)s mistakes:", n=len(sentences))
        super().__init__(sentences[0] if len(sentences) == 1 else "\n".join([many, *sentences]))
        self.mistakes = [{"path": path, "why": why} for path, why in mistakes]


class BadUpload(LeagueError):
    """The upload cannot become a bot. `reason` is one of a few stable words, and the text says what to fix."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class UploadTooLarge(LeagueError):
    """The upload has more bytes than allowed."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(_("The upload is larger than %(limit)s bytes.", limit=limit_bytes))
        self.limit_bytes = limit_bytes


class BadCursor(LeagueError):
    """No list returned this page's cursor."""

    def __init__(self) -> None:
        super().__init__("This cursor was not returned by any list.")


class BlobsAway(LeagueError):
    """The store does not answer, or accepts nothing, for instance because it is full. This may pass."""

    def __init__(self, why: str) -> None:
        super().__init__("Nothing can be stored or fetched at the moment; please try again later.")
        self.why = why


class BlobMissing(LeagueError):
    """The database names content that the store does not have. An operator must look."""

    def __init__(self, sha256: str) -> None:
        super().__init__(f"The content {sha256} is not in the store.")


class BlobDamaged(LeagueError):
    """The store's content does not match its name, or is larger than it may be. An operator must look."""

    def __init__(self, sha256: str, why: str) -> None:
        super().__init__(f"The content {sha256} is damaged: {why}.")
