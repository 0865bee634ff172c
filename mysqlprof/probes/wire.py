"""tcpdump on one server's port, while something is executed.

The kernel hands packets over in blocks, up to a second late. So after the work a datagram of our
own goes to the same port, which no server sees: once it is in the file, all before it is too.
(Handing over at once, --immediate-mode, gives each packet a slot of the largest one's size: the
buffer is then soon full, and packets are dropped.)
"""

import ipaddress
import os
import re
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from mysqlprof.children import end_with_parent, stop
from mysqlprof.errors import EnvironmentLacks, PartialData
from mysqlprof.workdir import work_directory

_PLACES = os.pathsep.join(("/usr/sbin", "/usr/bin", "/sbin"))
_TIMEOUT_S = 20.0
_RING_KIB = 65536
"""Of the kernel's buffer: a loopback interface hands over packets of 64 KiB by the thousand."""
MAX_BYTES = 2**30
"""Of the file; tcpdump is ended when it reaches that."""
_DROPPED = re.compile(r"(\d+) packets? dropped by kernel")
_INSTALL = "sudo apt-get install -y --no-install-recommends tcpdump"


@dataclass(frozen=True)
class Captured:
    path: Path
    """Until the capture's context is left."""
    interface: str
    dropped: int
    """Packets that the kernel could not hand over."""


class WireCapture:
    """A context manager around one tcpdump; `finish()` gives the file.

    >>> with WireCapture("127.0.0.1", 3306) as capture:
    ...     work()
    ...     captured = capture.finish()

    Whole packets are kept: headers of MySQL packets may be anywhere in a segment.
    """

    def __init__(self, host: str, port: int, tcpdump: str = "") -> None:
        self._host = host
        self._port = port
        self._tcpdump = tcpdump or find_tcpdump()
        self.interface = "lo" if _is_loopback(host) else "any"

    def __enter__(self) -> "WireCapture":
        self._stack = ExitStack()
        try:
            folder = self._stack.enter_context(work_directory("tcpdump"))
            self._path, self._log = folder / "wire.pcap", folder / "log"
            kind = socket.AF_INET6 if ":" in self._host else socket.AF_INET
            self._marker = self._stack.enter_context(socket.socket(kind, socket.SOCK_DGRAM))
            self._start()
            self._wait_until_it_listens()
        except BaseException:
            self.close()
            raise
        return self

    def _start(self) -> None:
        command = [
            *(self._tcpdump, "-i", self.interface, "-n", "-s", "0", "-B", str(_RING_KIB)),
            *("-U", "-w", "-", "port", str(self._port)),
        ]
        # To a file that is open already: run as root, tcpdump becomes a user who could not.
        with self._path.open("wb") as out, self._log.open("wb") as log:
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=log,
                    env={**os.environ, "LC_ALL": "C"},
                    start_new_session=True,  # Ctrl-C is the orchestrator's to handle
                    preexec_fn=_in_child,
                )
            except OSError as error:
                raise EnvironmentLacks(
                    f"cannot run {self._tcpdump}: {error.strerror}", _INSTALL
                ) from error

    def finish(self) -> Captured:
        """Wait until everything so far is in the file, and stop.

        Raises PartialData where tcpdump ended before.
        """
        self._wait_for_marker()
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise PartialData("tcpdump did not stop when it was asked to", "try again") from error
        found = _DROPPED.search(self._words())
        return Captured(self._path, self.interface, int(found[1]) if found else 0)

    def close(self) -> None:
        """End tcpdump if it still runs, and delete its files."""
        if process := getattr(self, "_process", None):
            stop(process, 5)
        self._stack.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _wait_until_it_listens(self) -> None:
        end = time.monotonic() + _TIMEOUT_S
        while "listening on" not in self._words():
            self._must_live()
            if time.monotonic() > end:
                raise EnvironmentLacks(
                    f"tcpdump did not begin to listen within {_TIMEOUT_S:.0f} s",
                    f"see what `tcpdump -i {self.interface} port {self._port}` says",
                )
            time.sleep(0.005)

    def _must_live(self) -> None:
        if self._process.poll() is not None:
            raise refused(self._words(), self._tcpdump, self.interface, self._path)

    def _wait_for_marker(self) -> None:
        """Send a datagram until the file ends with it: what came before is then in the file."""
        token = secrets.token_bytes(16)
        end = time.monotonic() + _TIMEOUT_S
        sent = 0.0
        while time.monotonic() < end:
            self._must_live()
            if time.monotonic() - sent > 0.1:
                sent = time.monotonic()
                with suppress(OSError):  # "connection refused" of the datagram before
                    self._marker.sendto(token, (self._host, self._port))
            if token in _tail(self._path):
                return
            time.sleep(0.005)
        raise EnvironmentLacks(
            f"tcpdump sees no packet to {self._host} on the interface {self.interface}",
            f"see what `tcpdump -i {self.interface} port {self._port}` says",
        )

    def _words(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace").strip()


def find_tcpdump() -> str:
    """Its path. Raises EnvironmentLacks."""
    path = shutil.which("tcpdump") or shutil.which("tcpdump", path=_PLACES)
    if path is None:
        raise EnvironmentLacks("tcpdump is not installed; it captures the wire", _INSTALL)
    return path


def refused(words: str, tcpdump: str, interface: str, path: Path) -> EnvironmentLacks | PartialData:
    """tcpdump's own words as one sentence, with the smallest fix."""
    if path.exists() and path.stat().st_size >= MAX_BYTES:
        return PartialData(
            f"the capture reached its limit of {MAX_BYTES // 2**20} MiB", "capture fewer rows"
        )
    lowered = words.lower()
    if "permission" in lowered or "not permitted" in lowered:
        return EnvironmentLacks(
            f"tcpdump may not capture on {interface}: this user lacks CAP_NET_RAW",
            f"sudo setcap cap_net_raw=ep {os.path.realpath(tcpdump)}",
        )
    lines = [line for line in words.splitlines() if line.strip()]
    return EnvironmentLacks(
        f"tcpdump ended at once: {lines[-1] if lines else 'it said nothing'}",
        f"see what `tcpdump -i {interface} -c 1` says",
    )


def _in_child() -> None:
    end_with_parent()
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_BYTES, MAX_BYTES))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _tail(path: Path, size: int = 4096) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - size))
        return file.read()
