"""The database's tables. Rows never leave `league.service`: workers get jobs, the API gets views.

Wherever SQL can, constraints state here what a row may be, so that a mistake elsewhere becomes a refused statement and
not a wrong ranking: one seat is taken once, a version does not meet itself, running work has a lease and other work has
none, a played match has a transcript, and only a match with a result is rated.
"""

from deadheat.league.tables.columns import MOST_WORD, JobRow, Staged, UtcDateTime
from deadheat.league.tables.contests import Contest, ContestPlayer, Meeting, MeetingPlayer
from deadheat.league.tables.games import GameTable, TableSeat
from deadheat.league.tables.hosts import (
    JudgingEnvironment,
    LeagueGame,
    Machine,
    MachineAccess,
    PlayedAgain,
    Sample,
    WorkerHost,
)
from deadheat.league.tables.people import (
    Announcement,
    AuditRecord,
    Bot,
    BotVersion,
    Channel,
    Delivery,
    Identity,
    Newcomers,
    Notice,
    SigningKey,
    Team,
    TeamMember,
    Token,
    User,
)
from deadheat.league.tables.seasons import (
    AbsentEntry,
    DeadlineCount,
    Division,
    Entry,
    LatencySummary,
    RatingPoint,
    RatingSnapshot,
    ResponseTimes,
    Season,
    SeasonInvitation,
    SeasonRules,
)
from deadheat.league.tables.series import (
    Appeal,
    Attempt,
    Ending,
    LiveMatch,
    Match,
    Pair,
    Participant,
    Series,
    VoidedMatch,
)
