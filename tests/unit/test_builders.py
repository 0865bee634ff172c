"""Servers of different builders are compared with a word of warning."""

import pytest
from report_factory import make_run

from mysqlprof.builders import different_builders
from mysqlprof.model import ServerInfo


@pytest.fixture
def server(tmp_path) -> ServerInfo:
    return make_run(tmp_path / "run").read_run().servers[0]


def built(server: ServerInfo, version: str, comment: str) -> ServerInfo:
    return server.model_copy(update={"version": version, "version_comment": comment})


def test_mysqls_own_builds_are_of_one_builder(server):
    gpl = built(server, "5.7.29", "MySQL Community Server (GPL)")
    assert different_builders([gpl, built(server, "8.0.31", "MySQL Community Server - GPL")]) == []


def test_a_build_of_a_distribution_is_named(server):
    own = built(server, "8.0.31", "MySQL Community Server - GPL")
    debian = built(server, "9.7.4", "(Debian)")
    (caveat,) = different_builders([own, own, debian, debian])
    assert caveat.text.startswith("MySQL built 8.0.31; Debian built 9.7.4: a difference")
    assert not caveat.partial
