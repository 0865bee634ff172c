"""perf record of one process, switched on and off around exactly the wanted windows.

perf starts with its events disabled and takes `enable` and `disable` from a named pipe; each is
acknowledged on another, so that a window begins and ends where the driver's call does.
"""

import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from mysqlprof.children import end_with_parent, stop
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.workdir import work_directory

_ACK_TIMEOUT_S = 30.0
_MAX_RECORDING_S = 3600


@dataclass(frozen=True)
class PerfOptions:
    perf: str
    """Path of the program."""
    version: str
    event: str
    frequency_hz: int = 999  # odd, so as not to march in step with timers
    call_graph: str = "dwarf,16384"
    """`fp` is cheaper, but libc keeps no frame pointers: its callers are lost there."""


def _buffers() -> list[str]:
    """16 KiB of stack a sample fill perf's default 512 KiB in 30 ms; root may have more a CPU."""
    return ["--mmap-pages", "4M"] if os.geteuid() == 0 else []


class PerfRecording:
    """A context manager around one `perf record`; `window()` switches it on.

    >>> with PerfRecording(options, pid) as recording:
    ...     with recording.window():
    ...         work()
    ... # here recording.data is complete; it is deleted on the way out of `closing`
    """

    def __init__(self, options: PerfOptions, pid: int) -> None:
        self._options = options
        self._pid = pid
        self.window_s = 0.0

    def __enter__(self) -> "PerfRecording":
        self._folder = ExitStack()
        folder = self._folder.enter_context(work_directory("perf"))
        self.data = folder / "perf.data"
        self._log = folder / "log"
        control, acknowledge = folder / "control", folder / "acknowledge"
        for pipe in (control, acknowledge):
            os.mkfifo(pipe, 0o600)
        # Opened for reading and writing, so that neither side waits for the other.
        self._control = os.open(control, os.O_RDWR)
        self._acknowledge = os.open(acknowledge, os.O_RDWR | os.O_NONBLOCK)
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    self._command(control, acknowledge),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is the orchestrator's to handle
                    preexec_fn=end_with_parent,
                )
            self._say("disable")
        except BaseException:
            self.close()
            raise
        return self

    def _command(self, control: Path, acknowledge: Path) -> list[str]:
        options = self._options
        return [
            options.perf,
            "record",
            "--event",
            options.event,
            "--freq",
            str(options.frequency_hz),
            "--call-graph",
            options.call_graph,
            "--pid",
            str(self._pid),
            "--delay",
            "-1",
            "--control",
            f"fifo:{control},{acknowledge}",
            *_buffers(),
            "--output",
            str(self.data),
            "--",
            "sleep",
            str(_MAX_RECORDING_S),
        ]

    @contextmanager
    def window(self) -> Iterator[None]:
        """Samples are taken within it, and nowhere else."""
        self._say("enable")
        started = time.monotonic()
        try:
            yield
        finally:
            self.window_s += time.monotonic() - started
            self._say("disable")

    def finish(self) -> Path:
        """Stop recording and wait until perf has written everything; the perf.data."""
        self._say("stop")
        self._process.wait(_ACK_TIMEOUT_S)
        return self.data

    def close(self) -> None:
        """End perf if it still runs, and delete its files."""
        if process := getattr(self, "_process", None):
            stop(process, 5)
        for descriptor in (self._control, self._acknowledge):
            with suppress(OSError):
                os.close(descriptor)
        self._folder.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def words(self) -> str:
        """What perf printed."""
        return self._log.read_text(encoding="utf-8", errors="replace").strip()

    def _say(self, command: str) -> None:
        os.write(self._control, f"{command}\n".encode())
        end = time.monotonic() + _ACK_TIMEOUT_S
        received = b""
        while b"ack\n" not in received:
            if self._process.poll() is not None:
                if command == "stop":
                    return
                raise perf_refused(self.words(), self._options)
            if time.monotonic() > end:
                raise EnvironmentLacks(
                    f"perf did not acknowledge {command!r} within {_ACK_TIMEOUT_S:.0f} s",
                    "perf 5.10 or newer is needed; check `perf version`",
                )
            ready, _, _ = select.select([self._acknowledge], [], [], 0.1)
            if ready:
                received += os.read(self._acknowledge, 64)


def perf_refused(words: str, options: PerfOptions) -> EnvironmentLacks:
    """perf's own words as one sentence, with the setting that would allow it."""
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    text = words.lower()
    if "permission" in text or "paranoid" in text or "access to performance" in text:
        return EnvironmentLacks(
            "perf may not record here: the kernel refuses it to this user",
            "sudo sysctl kernel.perf_event_paranoid=1, or run as root",
        )
    said = lines[0] if lines else "it said nothing"
    return EnvironmentLacks(
        f"perf record ended at once (event {options.event}): {said}",
        "try `perf record -e cpu-clock -- true`; --no-profile measures times only",
    )
