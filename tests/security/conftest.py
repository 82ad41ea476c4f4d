from __future__ import annotations

from tests.api.conftest import site

__all__ = ["site"]
