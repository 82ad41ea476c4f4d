"""Who asks, and which of their rights their token carries."""

from __future__ import annotations

from dataclasses import dataclass

from league.errors import NarrowToken, NotAllowed
from league.states import Role, Scope


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks, and which of their rights their token carries."""

    id: int
    name: str
    role: Role
    scope: Scope = Scope.FULL

    @property
    def organises(self) -> bool:
        """Whether this is an organiser who may act as one."""
        return self.role.allows(Role.ORGANISER) and self.scope.allows(Scope.FULL)

    @property
    def administers(self) -> bool:
        """Whether this is an administrator who may act as one."""
        return self.role.allows(Role.ADMIN) and self.scope.allows(Scope.FULL)

    def must_organise(self) -> None:
        """Raise NotAllowed or NarrowToken unless an organiser."""
        self._must_be(Role.ORGANISER)

    def must_administer(self) -> None:
        """Raise NotAllowed or NarrowToken unless an administrator."""
        self._must_be(Role.ADMIN)

    def must_have(self, wanted: Scope) -> None:
        """Raise NarrowToken unless the token allows it."""
        if not self.scope.allows(wanted):
            raise NarrowToken(self.scope, wanted)

    def _must_be(self, wanted: Role) -> None:
        if not self.role.allows(wanted):
            raise NotAllowed(wanted)
        self.must_have(Scope.FULL)
