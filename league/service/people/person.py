"""The person behind a request, and the rights that their token carries."""

from dataclasses import dataclass, field
from typing import Self

from deadheat.league.errors import NarrowToken, NotAllowed
from deadheat.league.states import Role, Scope
from deadheat.league.tables import User


@dataclass(frozen=True, slots=True)
class Person:
    """The person behind a request, and the rights that their token carries. `opened_by`: the hash of the password that
    was just checked, if one was.
    """

    id: int
    name: str
    role: Role
    scope: Scope = Scope.FULL
    opened_by: str = field(default="", repr=False, compare=False)

    @classmethod
    def of(cls, user: User, scope: Scope = Scope.FULL) -> Self:
        """Return the person behind a user's row, with that scope."""
        return cls(user.id, user.name, user.role, scope)

    @property
    def organises(self) -> bool:
        """Whether this person is an organiser with a token that permits organising."""
        return self.acts_as(Role.ORGANISER)

    def acts_as(self, wanted: Role) -> bool:
        """Say whether this person has the role or a higher one, and a token that permits it."""
        return self.role.allows(wanted) and self.scope.allows(Scope.FULL)

    def must_organise(self) -> None:
        """Raise NotAllowed or NarrowToken unless the person may act as an organiser."""
        self.must_be(Role.ORGANISER)

    def must_administer(self) -> None:
        """Raise NotAllowed or NarrowToken unless the person may act as an administrator."""
        self.must_be(Role.ADMIN)

    def must_have(self, wanted: Scope) -> None:
        """Raise NarrowToken unless the token has the wanted scope."""
        if not self.scope.allows(wanted):
            raise NarrowToken(self.scope, wanted)

    def must_be(self, wanted: Role) -> None:
        """Raise NotAllowed or NarrowToken unless `acts_as` is true of this role."""
        if not self.role.allows(wanted):
            raise NotAllowed(wanted)
        self.must_have(Scope.FULL)
