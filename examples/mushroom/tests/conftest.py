"""The package is tested where it lies, installed or not; only what needs `installed` builds and installs it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS.parent / "src"), str(TESTS)]


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Build and install the package, once."""
    from building import install

    return install(tmp_path_factory.mktemp("mushroom"))
