"""Who may sign up: everybody, those with the organisers' code, or nobody.

The code is not a password: everybody has the same one, organisers can read it at their desk, and a new one replaces it
at once. Guessing it is limited as guessing a password is (`api.edge.rates`).
"""

import hmac

from sqlmodel import Session

from deadheat.engine.language import _
from deadheat.league.errors import BadSetting, NotInvited
from deadheat.league.service.ground.audit import record
from deadheat.league.service.people.person import Person
from deadheat.league.states import NewcomerRule
from deadheat.league.tables import Newcomers

ONLY = 1
"""The id of the table's only row."""


def newcomer_rule(session: Session) -> NewcomerRule:
    """Say whether, and how, newcomers may sign up."""
    return _row(session).rule


def welcome(session: Session, organiser: Person) -> Newcomers:
    """Return the rule with its code. Raises NotAllowed."""
    organiser.must_organise()
    return _row(session)


def set_newcomer_rule(session: Session, organiser: Person, rule: NewcomerRule, code: str = "") -> None:
    """Set another rule from now on; the audit log records it without the code. Raises NotAllowed; BadSetting: the rule
    needs a code.
    """
    organiser.must_organise()
    if rule is NewcomerRule.CODE and not code:
        raise BadSetting("code", _("enter an invitation code"))
    session.merge(Newcomers(id=ONLY, rule=rule, code=code if rule is NewcomerRule.CODE else ""))
    session.flush()
    record(session, organiser.name, "sign-up-ruled", "site", {"rule": rule.value})


def check_newcomer(session: Session, code: str) -> None:
    """Raise NotInvited unless people with that code ("" for none) may sign up."""
    row = _row(session)
    if row.rule is NewcomerRule.OPEN:
        return
    if row.rule is NewcomerRule.CLOSED or not hmac.compare_digest(row.code.encode(), code.encode()):
        raise NotInvited(by_code=row.rule is NewcomerRule.CODE)


def _row(session: Session) -> Newcomers:
    return session.get(Newcomers, ONLY) or Newcomers(id=ONLY, rule=NewcomerRule.OPEN)
