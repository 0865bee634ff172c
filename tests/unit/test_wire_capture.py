"""tcpdump at its narrow edge: a program that refuses, in tcpdump's own words."""

import pytest

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.probes import wire
from mysqlprof.probes.wire import WireCapture

# tcpdump 4.99.3, run by a user without capabilities.
NO_PERMISSION = """tcpdump: lo: You don't have permission to perform this capture on that device
(socket: Operation not permitted)
"""


def refusing(tmp_path, words: str) -> str:
    program = tmp_path / "tcpdump"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{words}END\nexit 1\n")
    program.chmod(0o755)
    return str(program)


def test_a_refused_capture_names_the_smallest_fix(tmp_path):
    program = refusing(tmp_path, NO_PERMISSION)
    with pytest.raises(EnvironmentLacks) as caught, WireCapture("127.0.0.1", 3306, program):
        pass
    assert "CAP_NET_RAW" in caught.value.message
    assert caught.value.hint == f"sudo setcap cap_net_raw=ep {program}"


def test_another_failure_carries_tcpdump_s_words_and_leaves_nothing(tmp_path, own_directories):
    program = refusing(tmp_path, "tcpdump: lo: No such device exists\n")
    with pytest.raises(EnvironmentLacks) as caught, WireCapture("127.0.0.1", 3306, program):
        pass
    assert "No such device exists" in caught.value.message
    assert own_directories() == set()


def test_a_host_without_tcpdump_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(wire.shutil, "which", lambda *_, **__: None)
    with pytest.raises(EnvironmentLacks) as caught:
        WireCapture("127.0.0.1", 3306)
    assert "install" in caught.value.hint
