"""The reader's language for all texts shown to people: English by default.

A message is its English text, which is its key in the reader's catalogue. Code that answers a request, or writes a
letter, sets the reader's language around it (`reading`); commands, logs and the JSON API set none.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from gettext import NullTranslations

ENGLISH = NullTranslations()
"""The catalogue that leaves every message as it is."""

_catalogue: ContextVar[NullTranslations] = ContextVar("catalogue", default=ENGLISH)


@contextmanager
def reading(catalogue: NullTranslations) -> Iterator[None]:
    """Use that catalogue's language for all texts within the block."""
    token = _catalogue.set(catalogue)
    try:
        yield
    finally:
        _catalogue.reset(token)


def language() -> str:
    """Return the reader's language, such as "en"."""
    return _catalogue.get().info().get("language", "en")


def gettext(message: str) -> str:
    """Return the message in the reader's language, placeholders unfilled."""
    return _catalogue.get().gettext(message) if message else ""  # an empty message would return the catalogue's header


def ngettext(singular: str, plural: str, count: int) -> str:
    """Return the singular or plural message for `count` in the reader's language, placeholders unfilled."""
    return _catalogue.get().ngettext(singular, plural, count)


def _(message: str, /, **values: object) -> str:
    """Translate the message into the reader's language, and insert the values for `%(name)s`."""
    return gettext(message) % values if values else gettext(message)


def N_(message: str) -> str:  # noqa: N802  the name that catalogues' tools look for
    """Mark a message for the catalogues and return it; `gettext` looks it up later."""
    return message
