import pytest

from deadheat.api.routes import tables
from tests.api.conftest import site

__all__ = ["site"]


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer agents that wait for their turn at once."""
    monkeypatch.setattr(tables, "WAIT_SECONDS", 0.0)
