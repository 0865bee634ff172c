"""Whatever way a run ends, the host is as it was."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from host_state import HostState, living, namespaces_in_use

from mysqlprof.children import wait_until
from mysqlprof.workdir import leftovers, parents, remove

pytestmark = [
    pytest.mark.network,
    pytest.mark.server,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]
PROGRAM = Path(__file__).parent / "everything_at_once.py"


@contextmanager
def started(ending: str) -> Iterator[tuple[subprocess.Popen[str], dict]]:
    command = [sys.executable, str(PROGRAM), ending]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())


def directories(owner: int) -> set[Path]:
    """Work directories whose owner file names this process."""
    found = set()
    for parent in parents():
        for path in parent.glob("mysqlprof-*/owner.json"):
            with suppress(OSError, ValueError):  # somebody else's, removed in between
                if json.loads(path.read_text())["pid"] == str(owner):
                    found.add(path.parent)
    return found


def nothing_runs(made: dict) -> bool:
    return not living(made["processes"]) and not namespaces_in_use() & set(made["namespaces"])


@pytest.mark.parametrize(
    ("ending", "signals", "code"),
    [
        ("succeed", [], 0),
        ("fail", [], 6),
        ("wait", [signal.SIGINT], 130),
        ("wait", [signal.SIGTERM, signal.SIGINT], 130),
    ],
)
def test_after_any_ending_the_host_is_as_it_was(ending, signals, code):
    before = HostState.now()
    with started(ending) as (process, made):
        for number in signals:
            process.send_signal(number)
        assert process.wait(40) == code
    assert len(set(made["namespaces"])) == 2
    assert {"mysqld", "openvpn", "sleep"} <= set(made["programs"])
    assert len(made["programs"]) == 6  # two that hold namespaces, two of OpenVPN
    assert wait_until(lambda: nothing_runs(made), 5)
    assert HostState.now() == before
    assert directories(process.pid) == set()


def test_of_a_killed_run_only_directories_are_left_and_clean_finds_them():
    before = HostState.now()
    with started("wait") as (process, made):
        process.kill()
    assert wait_until(lambda: nothing_runs(made), 20)
    assert HostState.now() == before

    left = directories(process.pid)
    purposes = sorted(json.loads((path / "owner.json").read_text())["purpose"] for path in left)
    assert purposes == [
        *("certificates", "certificates", "everything-at-once", "network", "proxy", "tunnel")
    ]
    said = subprocess.run(
        [sys.executable, "-m", "mysqlprof", "clean", "--dry-run", "--json"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert all(str(path) in said for path in left)
    for leftover in leftovers():
        if leftover.path in left:
            remove(leftover)
    assert directories(process.pid) == set()
