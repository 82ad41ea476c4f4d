"""The database's tables. Rows never leave `league.service`: workers get jobs, the API gets views.

What a row may be is stated here as constraints wherever SQL can say it, so that a mistake elsewhere ends as a
refused statement and not as a wrong ranking: one seat is taken once, a version does not meet itself, work that
runs has a lease and work that does not has none, a match that is done has ranks' transcript, and only such a match
is rated.
"""

from __future__ import annotations

from league.tables.bots import Bot, BotVersion
from league.tables.columns import MOST_WORD, SHA256_HEX, JobRow, Staged, UtcDateTime, json_column, word
from league.tables.exhibitions import SEATED, Exhibition
from league.tables.hosts import JudgingEnvironment, Machine, WorkerHost
from league.tables.people import Announcement, AuditRecord, Newcomers, Team, TeamMember, Token, User
from league.tables.rankings import LatencySummary, RatingPoint, RatingSnapshot, ResponseTimes
from league.tables.rulings import Appeal, VoidedMatch
from league.tables.seasons import AbsentEntry, Challenge, Division, Entry, Season, SeasonInvitation, SeasonRules
from league.tables.series import Attempt, Ending, LiveMatch, Match, Pair, Participant, Series
