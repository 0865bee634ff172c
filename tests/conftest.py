"""Shared by all tests: a private cache only where a test asks for one, skips with their reason."""

import os

import pytest

os.environ.setdefault("NO_COLOR", "1")


@pytest.fixture
def private_cache(tmp_path, monkeypatch):
    """An empty cache directory of this test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("MYSQLPROF_CACHE", str(folder))
    return folder
