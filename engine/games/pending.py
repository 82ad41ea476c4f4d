"""The lines that a match has yet to send: decisions at one step are sent with the next.

A step is a barrier, so the conclusions of the rules from its replies wait: `notices` and `events` are collected, and
`tell` puts them in front of the next messages.
"""

from collections.abc import Sequence

from deadheat.engine.core import Event, Message, Step, made


class Pending:
    """Notices and events that wait for the next step; a match of any game can build on it."""

    def __init__(self) -> None:
        self.notices: list[Message] = []
        self.events: list[Event] = []

    def tell(self, messages: Sequence[Message]) -> Step:
        """Make a step of the waiting notices and events, then `messages`."""
        if self.notices:
            messages = (*self.notices, *messages)
            self.notices.clear()
        step = made(Step, (tuple(messages), tuple(self.events)))
        self.events.clear()
        return step
