"""Check that something is refused."""

from collections.abc import Callable
from typing import ParamSpec

import pytest

P = ParamSpec("P")


def refused(error: type[Exception], act: Callable[P, object], *arguments: P.args, **named: P.kwargs) -> str:
    """Call `act`, which must raise `error`, and return what the error says."""
    with pytest.raises(error) as refusal:
        act(*arguments, **named)
    return str(refusal.value)
