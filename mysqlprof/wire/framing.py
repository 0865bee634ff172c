"""MySQL packets from a stream: a 3-byte length, a sequence number, the payload.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mysqlprof.wire.streams import Chunk

MAX_PART = 0xFFFFFF
"""A payload of this length is continued in the next packet."""
_HEAD = 4096
"""Bytes of a payload that are kept: enough for a statement's beginning, an error, a column."""


@dataclass(frozen=True, slots=True)
class Packet:
    sequence: int
    """Of the first part."""
    last_sequence: int
    length: int
    """Of the payload, all parts together."""
    head: bytes
    """The payload's beginning, as far as it was captured without a gap."""
    wire_bytes: int
    """With the headers of all parts."""
    first_ns: int
    last_ns: int

    @property
    def next_sequence(self) -> int:
        return (self.last_sequence + 1) & 255


class Framer:
    """One direction. After a gap in which a header may lie it is `lost`, until `resume`."""

    def __init__(self) -> None:
        self.lost = False
        self._first_ns = 0
        self._begin()

    def resume(self) -> None:
        """What comes next begins with a header."""
        self.lost = False
        self._begin()

    @property
    def pending(self) -> bool:
        """A packet has begun and not ended."""
        return not self.lost and bool(self._header or self._wire_bytes)

    def feed(self, chunk: Chunk) -> Iterator[Packet]:
        """The packets that the chunk completes."""
        if self.lost:
            return
        if chunk.data is None:
            yield from self._gap(chunk)
            return
        at, data = 0, chunk.data
        while at < len(data):
            if self._left is None:
                if not self.pending:
                    self._first_ns = chunk.first_ns
                taken = data[at : at + 4 - len(self._header)]
                self._header += taken
                at += len(taken)
                if len(self._header) < 4:
                    return
                self._read_header()
                if self.lost:
                    return
            assert self._left is not None
            body = data[at : at + self._left]
            at += len(body)
            if self._whole and len(self._head) < _HEAD:
                self._head += body[: _HEAD - len(self._head)]
            self._left -= len(body)
            if not self._left and (packet := self._part_ended(chunk.last_ns)):
                yield packet
                if self.lost:  # says who was given it
                    return

    def _gap(self, chunk: Chunk) -> Iterator[Packet]:
        """A gap within a payload is counted; one that reaches past its end loses the way."""
        if self._left is None or chunk.length > self._left:
            self.lost = True
            return
        self._whole = False
        self._left -= chunk.length
        if not self._left and (packet := self._part_ended(chunk.last_ns)):
            yield packet

    def _begin(self) -> None:
        self._header = bytearray()
        self._head = bytearray()
        self._left: int | None = None
        self._sequence: int | None = None
        self._length = self._wire_bytes = self._part = 0
        self._last_sequence = 0
        self._whole = True

    def _read_header(self) -> None:
        self._part = self._left = int.from_bytes(self._header[:3], "little")
        number = self._header[3]
        if self._sequence is None:
            self._sequence = number
        elif number != (self._last_sequence + 1) & 255:
            self.lost = True
        self._last_sequence = number
        self._length += self._part
        self._wire_bytes += 4 + self._part
        self._header = bytearray()

    def _part_ended(self, last_ns: int) -> Packet | None:
        self._left = None
        if self._part == MAX_PART:
            return None
        assert self._sequence is not None
        packet = Packet(
            self._sequence,
            self._last_sequence,
            self._length,
            bytes(self._head),
            self._wire_bytes,
            self._first_ns,
            last_ns,
        )
        self._begin()
        return packet
