"""The file that a process runs, whoever started it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mysqlprof.children import wait_until
from mysqlprof.executable import program_of

SLEEP = os.path.realpath(shutil.which("sleep") or "/bin/sleep")
LOADER = Path("/lib64/ld-linux-x86-64.so.2")


@contextmanager
def running(*command: str) -> Iterator[int]:
    with subprocess.Popen(command) as process:
        try:
            cmdline = Path(f"/proc/{process.pid}/cmdline")
            started = command[0].encode() + b"\0"
            assert wait_until(lambda: cmdline.read_bytes().startswith(started), 5)
            yield process.pid
        finally:
            process.kill()


def test_a_program_is_its_own_executable():
    with running(SLEEP, "30") as pid:
        assert program_of(pid) == Path(f"/proc/{pid}/root{SLEEP}")


@pytest.mark.skipif(not LOADER.exists(), reason="no x86-64 glibc")
def test_a_loader_is_not_taken_for_the_program_that_it_runs():
    with running(str(LOADER), "--library-path", "/nowhere", SLEEP, "30") as pid:
        program = Path(f"/proc/{pid}/root{SLEEP}")
        assert wait_until(lambda: program_of(pid) == program, 5)
        assert program.samefile(SLEEP)
