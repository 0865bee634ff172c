"""MySQL's notation of sizes."""

import pytest

from mysqlprof.sizes import parse_size


@pytest.mark.parametrize(("text", "size"), [("4096", 4096), ("64M", 64 * 2**20), ("1g", 2**30)])
def test_sizes_are_read_as_mysql_reads_them(text, size):
    assert parse_size(text) == size
