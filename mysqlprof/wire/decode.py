"""A capture file, read: `read_capture` is the way in."""

import mmap
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from mysqlprof.errors import UsageError
from mysqlprof.formats.pcap import Frame, NotACapture, frames
from mysqlprof.wire.framing import Framer
from mysqlprof.wire.model import Wire
from mysqlprof.wire.packets import segments
from mysqlprof.wire.protocol import greeting
from mysqlprof.wire.session import read_session
from mysqlprof.wire.streams import Conversation, conversations

DEFAULT_PORT = 3306
_GZIP = b"\x1f\x8b"
_GZIP_FORMAT = 31  # zlib's number for it


def read_capture(path: Path, ports: frozenset[int] = frozenset()) -> Wire:
    """Every MySQL connection in a capture file, plain or gzipped.

    With no ports: connections to 3306, and those that begin with a MySQL server's greeting.
    Raises UsageError where the file cannot be read, is no capture, or holds no MySQL connection.
    What ends early gives what came before it, and a problem by name.
    """
    problems: list[str] = []
    with _contents(path, problems) as data:
        try:
            wire = decode(data, ports, problems)
        except NotACapture:
            raise UsageError(
                f"{path} is not a capture: it is neither pcap nor pcapng",
                "record one with `tcpdump -i any -s 0 -w FILE port 3306`",
            ) from None
    if not wire.sessions:
        raise _no_mysql(path, wire, ports)
    return wire


def decode(data: memoryview, ports: frozenset[int], problems: list[str]) -> Wire:
    """The same for a capture's bytes. Raises NotACapture."""
    watch = _Watch()
    left_out: Counter[str] = Counter()
    captured = segments(watch.over(frames(data, problems)), left_out)
    found = conversations(captured, ports or frozenset([DEFAULT_PORT]))
    chosen = [c for c in found if _is_chosen(c, ports)]
    begin_ns = watch.first_ns
    problems += [f"{kind}: {count:,} left out" for kind, count in left_out.items()]
    return Wire(
        sessions=tuple(read_session(conversation, begin_ns) for conversation in chosen),
        packets=watch.packets,
        seconds=(watch.last_ns - begin_ns) / 1e9,
        problems=tuple(dict.fromkeys(problems)),
        ports=_traffic(found),
    )


class _Watch:
    """When frames passed, and how many."""

    def __init__(self) -> None:
        self.packets = self.first_ns = self.last_ns = 0

    def over(self, found: Iterator[Frame]) -> Iterator[Frame]:
        for frame in found:
            if not self.packets:
                self.first_ns = self.last_ns = frame.time_ns
            self.packets += 1
            self.last_ns = max(self.last_ns, frame.time_ns)
            yield frame


@contextmanager
def _contents(path: Path, problems: list[str]) -> Iterator[memoryview]:
    """A plain file is mapped, not read: captures are large, and most of them is payload."""
    try:
        with path.open("rb") as file:
            if file.read(2) == _GZIP:
                yield memoryview(_unpacked(path, problems))
            elif file.seek(0, 2) == 0:
                yield memoryview(b"")
            else:
                # Not closed by hand: an error that is on its way may still hold parts of it.
                yield memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        hint = "give the file that tcpdump -w or Wireshark wrote"
        if isinstance(error, PermissionError):
            hint = f"sudo chown $USER {path}"
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", hint) from error


def _unpacked(path: Path, problems: list[str]) -> bytes:
    """As far as it can be: a capture is often copied while it is still written."""
    out = bytearray()
    stream = zlib.decompressobj(wbits=_GZIP_FORMAT)
    with path.open("rb") as file:
        try:
            while part := file.read(1 << 20):
                while part:
                    out += stream.decompress(part)
                    part = stream.unused_data  # a second gzip file, put after the first
                    if part:
                        stream = zlib.decompressobj(wbits=_GZIP_FORMAT)
        except zlib.error as error:
            problems.append(f"the gzip file is damaged: {error}")
            return bytes(out)
    if not stream.eof:
        problems.append("the gzip file ends early")
    return bytes(out)


def _is_chosen(conversation: Conversation, ports: frozenset[int]) -> bool:
    if ports:
        return conversation.server.port in ports
    return conversation.server.port == DEFAULT_PORT or _greets(conversation)


def _greets(conversation: Conversation) -> bool:
    framer = Framer()
    # A snap length may have cut it: its end is then a gap, of its own.
    packets = (p for chunk in islice(conversation.received.chunks(), 2) for p in framer.feed(chunk))
    first = next(packets, None)
    return first is not None and first.sequence == 0 and greeting(first.head) is not None


def _traffic(found: list[Conversation]) -> dict[int, int]:
    ports: Counter[int] = Counter()
    for conversation in found:
        for half in (conversation.sent, conversation.received):
            size = sum(end - begin for begin, end, *_ in half.pieces)
            ports[conversation.server.port] += size
            if not conversation.complete:  # who is the server was a guess
                ports[conversation.client.port] += size
    return dict(ports.most_common())


def _no_mysql(path: Path, wire: Wire, ports: frozenset[int]) -> UsageError:
    problem = f" ({wire.problems[0]})" if wire.problems else ""
    if not wire.ports:
        return UsageError(
            f"{path} holds no TCP connection in its {wire.packets:,} packets{problem}",
            "record the server's port: `tcpdump -i any -s 0 -w FILE port 3306`",
        )
    busiest = ", ".join(map(str, list(wire.ports)[:5]))
    where = f"to port {', '.join(map(str, sorted(ports)))}" if ports else "that is MySQL's"
    return UsageError(
        f"{path} holds no connection {where}; the ports it does hold: {busiest}{problem}",
        "name the server's port with --port",
    )
