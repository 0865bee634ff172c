"""A program that is part of a topology: started, awaited, and stopped on every way out."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mysqlprof.children import describe_exit, end_with_parent, log_tail, stop, wait_until
from mysqlprof.errors import ServerFailed

_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "JAVA_HOME")


@dataclass(frozen=True)
class Program:
    """A child process; what it says goes to a file of its work directory."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def why_dead(self) -> str:
        """Empty while it lives; else one clause."""
        return describe_exit(self.process.poll())

    def await_ready(self, ready: Callable[[], bool], deadline_s: float) -> None:
        """Raises ServerFailed, with the end of its log, when it dies or takes too long."""
        in_time = wait_until(lambda: bool(self.why_dead()) or ready(), deadline_s)
        words = log_tail(self.log, 10)
        if death := self.why_dead():
            raise ServerFailed(f"{self.name} ended before it was ready: {death}", words)
        if not in_time:
            raise ServerFailed(f"{self.name} was not ready after {deadline_s:.0f} s", words)


@contextmanager
def program(
    name: str, command: Sequence[str], work: Path, *, prefix: Sequence[str] = ()
) -> Iterator[Program]:
    """Run `command` in the private directory `work`, behind a place's `prefix`.

    It ends with this process, whatever ends that, and its pid file lets `clean` find it.
    """
    log = work / f"{name}.log"
    with log.open("ab") as out:
        process = subprocess.Popen(
            [*prefix, *command],
            cwd=work,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is the orchestrator's to handle
            preexec_fn=end_with_parent,
        )
    try:
        (work / f"{name}.pid").write_text(str(process.pid), encoding="ascii")
        yield Program(name, process, log)
    finally:
        stop(process)


def own_module(name: str) -> list[str]:
    """The command that runs a module of this package as a program."""
    return [sys.executable, "-P", "-m", f"mysqlprof.topologies.{name}"]


def _environment() -> dict[str, str]:
    package = Path(__file__).parents[2]
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    return {**kept, "PYTHONPATH": str(package)}
