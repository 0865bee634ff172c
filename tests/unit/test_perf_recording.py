"""perf record at its narrow edge: a program that refuses, as perf does, in perf's own words."""

import os

import pytest

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.probes.perf import PerfOptions, PerfRecording

# Words of perf 6.1 on a host with kernel.perf_event_paranoid=4, to a user without capabilities.
NO_PERMISSION = """Error:
Access to performance monitoring and observability operations is limited.
Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open
"""
NO_EVENT = """Error:
The cycles event is not supported.
"""


def refusing(tmp_path, words: str) -> PerfOptions:
    program = tmp_path / "perf"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{words}END\nexit 255\n")
    program.chmod(0o755)
    return PerfOptions(str(program), "6.1", "cycles")


def test_a_refused_recording_names_the_setting_that_would_allow_it(tmp_path):
    options = refusing(tmp_path, NO_PERMISSION)
    with pytest.raises(EnvironmentLacks) as caught, PerfRecording(options, os.getpid()):
        pass
    assert "kernel.perf_event_paranoid=1" in caught.value.hint


def test_another_failure_carries_perf_s_first_words(tmp_path):
    options = refusing(tmp_path, NO_EVENT)
    with pytest.raises(EnvironmentLacks) as caught, PerfRecording(options, os.getpid()):
        pass
    assert "event cycles" in caught.value.message
    assert "--no-profile" in caught.value.hint


def test_nothing_is_left_in_the_temporary_directory(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    with (
        pytest.raises(EnvironmentLacks),
        PerfRecording(refusing(tmp_path, NO_PERMISSION), os.getpid()),
    ):
        pass
    assert list((tmp_path / "temporary").iterdir()) == []
