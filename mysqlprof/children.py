"""Starting, awaiting and ending child processes that serve a run."""

import ctypes
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def end_with_parent() -> None:
    """For `preexec_fn`: SIGTERM for the child when its parent ends, however that happens.

    An orchestrator that is killed with SIGKILL has no chance to stop what it started.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port() -> int:
    """A TCP port of loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll `condition` every 20 ms; False when it did not come true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def stop(process: subprocess.Popen[bytes], deadline_s: float = 20.0) -> None:
    """Ask a child to end by SIGTERM; insist after a while."""
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(deadline_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def describe_exit(code: int | None) -> str:
    """Empty for a living process; else how it ended."""
    if code is None:
        return ""
    if code == -signal.SIGKILL:
        return "killed by signal 9 (the kernel's out-of-memory killer, or somebody)"
    if code < 0:
        return f"killed by signal {-code} ({signal.Signals(-code).name})"
    return f"exited with status {code}"


def log_tail(path: Path, lines: int) -> str:
    """The last lines of a text file; empty where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])
