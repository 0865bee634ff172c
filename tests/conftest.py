"""Shared by all tests: a private cache only where a test asks for one, skips with their reason."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mysqlprof.owner import Owner
from mysqlprof.workdir import leftovers

os.environ.setdefault("NO_COLOR", "1")


@pytest.fixture
def private_cache(tmp_path, monkeypatch):
    """An empty cache directory of this test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("MYSQLPROF_CACHE", str(folder))
    return folder


@pytest.fixture
def own_directories() -> Callable[[], set[Path]]:
    """Work directories that this process made and has not removed; others may run beside it."""
    myself = Owner.myself().words().items()

    def find() -> set[Path]:
        found = set()
        for item in leftovers(also_living=True):
            with suppress(OSError):  # somebody else's, removed in between
                if myself <= json.loads((item.path / "owner.json").read_text()).items():
                    found.add(item.path)
        return found

    return find
