"""The catalog: what it holds, and which archive stands in for a version without one."""

import re

import pytest

from mysqlprof.errors import UsageError
from mysqlprof.servers import catalog


def test_the_catalog_has_the_versions_of_the_reports_and_around_them():
    versions = [entry.version for entry in catalog.entries()]
    for version in ("5.7.19", "5.7.22", "5.7.29", "5.7.38", "8.0.12", "8.0.15", "8.0.31", "8.0.32"):
        assert version in versions


def test_every_archive_is_pinned_by_a_whole_sha256():
    for entry in catalog.entries():
        assert re.fullmatch(r"(mysql:[0-9.]+)?", entry.image)
        assert entry.image or entry.archive
        if entry.archive:
            assert re.fullmatch(r"[0-9a-f]{64}", entry.archive.sha256)


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        ("5.7.38", "5.7.29"),
        ("5.7.29", "5.7.29"),
        ("5.7.44", "5.7.29"),
        ("5.7.20", "5.7.19"),
        ("8.0.32", "8.0.31"),
        ("8.0.36", "8.0.31"),
    ],
)
def test_the_nearest_older_archive_of_the_series_stands_in(wanted, nearest):
    assert catalog.nearest_with_archive(wanted).version == nearest


def test_another_series_never_stands_in():
    with pytest.raises(UsageError, match=r"5\.6"):
        catalog.nearest_with_archive("5.6.51")


@pytest.mark.parametrize("version", ["5.5.1", "eight", ""])
def test_an_unknown_version_lists_what_there_is(version):
    with pytest.raises(UsageError) as caught:
        catalog.find(version)
    assert "5.7.38" in caught.value.hint


@pytest.mark.parametrize("version", ["8.4.3", "9.1.0"])
def test_9_7_stands_in_for_no_other_line(version):
    with pytest.raises(UsageError, match=version[:3]):
        catalog.nearest_with_archive(version)
