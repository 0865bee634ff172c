"""A child process that answers each line on its input with one line on its output.

Fields are separated by tabs. The first of an answer is OK or ERR.
"""

import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mysqlprof.children import end_with_parent

_REPLY_TIMEOUT_S = 600.0
_END_TIMEOUT_S = 2.0


class LineHost:
    def __init__(
        self,
        child: subprocess.Popen[bytes],
        errors: IO[bytes],
        name: str,
        failure: type[Exception],
        timeout_s: float,
    ) -> None:
        self._child = child
        self._errors = errors
        self._name = name
        self._failure = failure
        self._timeout_s = timeout_s

    @property
    def pid(self) -> int:
        return self._child.pid

    def ask(self, *fields: str) -> list[str]:
        """Send a request; the fields of its answer after OK. Raises `failure`."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(("\t".join(fields) + "\n").encode())
        except BrokenPipeError:
            raise self._gone() from None
        status, *rest = self._read_line().split("\t")
        if status != "OK":
            raise self._failure(": ".join(rest))
        return rest

    def _read_line(self) -> str:
        assert self._child.stdout is not None
        descriptor = self._child.stdout.fileno()
        received = b""
        end = time.monotonic() + self._timeout_s
        while not received.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                # A late answer would be taken for the next request's.
                self._child.kill()
                raise self._failure(f"no answer from {self._name} within {self._timeout_s:g} s")
            chunk = os.read(descriptor, 65536)
            if not chunk:
                raise self._gone()
            received += chunk
        return received.decode().rstrip("\n")

    def _gone(self) -> Exception:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return self._failure(f"{self._name} has gone: {lines[-1] if lines else 'it said nothing'}")


@contextmanager
def line_host(
    command: Sequence[str],
    failure: type[Exception],
    reply_timeout_s: float = _REPLY_TIMEOUT_S,
    *,
    prefix: Sequence[str] = (),
) -> Iterator[LineHost]:
    """The child lives within the context, and does not outlive this process.

    `failure` is raised for ERR, for silence and for an end before the answer. `prefix` is a
    place's: it starts the command there.
    """
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(
            [*prefix, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is the orchestrator's to handle
            preexec_fn=end_with_parent,
        )
        try:
            yield LineHost(child, errors, Path(command[0]).name, failure, reply_timeout_s)
        finally:
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """A host ends with its input; one that does not is killed."""
    for stream in (child.stdin, child.stdout):
        assert stream is not None
        stream.close()
    try:
        child.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
