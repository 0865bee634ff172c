"""TCP conversations put together again: retransmissions, overlaps, disorder, missing segments."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge

from mysqlprof.wire.packets import ACK, RST, SYN, Address, Segment

_WRAP = 2**32


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that follow the ones before without a gap, or a gap: then `data` is None."""

    first_ns: int
    last_ns: int
    """Equal, unless the bytes had to be gathered first, as compressed ones are."""
    data: memoryview | None
    length: int


@dataclass
class Half:
    """One direction. Sequence numbers are counted on beyond 2**32."""

    pieces: list[tuple[int, int, Segment, int]] = field(default_factory=list)
    """Start, end, segment, offset in its payload: disjoint, sorted; who came first stays."""
    begin: int | None = None
    """Where the stream begins, told by a SYN."""
    retransmitted_ns: list[int] = field(default_factory=list)
    """When segments came that brought bytes a second time."""
    _last: int | None = None

    def add(self, segment: Segment) -> None:
        start = self._counted_on(segment.sequence)
        if segment.flags & SYN:
            start += 1
            self.begin = start
        if not segment.length:
            return
        end = start + segment.length
        if start >= (self.pieces[-1][1] if self.pieces else self.begin or 0):  # as most do
            self.pieces.append((start, end, segment, 0))
            return
        new = list(self._uncovered(start, end))
        # A single old byte asks whether the other side is still there.
        if segment.length > 1 and sum(end - begin for begin, end in new) < segment.length:
            self.retransmitted_ns.append(segment.time_ns)
        for begin, stop in new:
            place = bisect_right(self.pieces, begin, key=lambda piece: piece[0])
            self.pieces.insert(place, (begin, stop, segment, begin - start))

    def _counted_on(self, sequence: int) -> int:
        if self._last is None:
            self._last = sequence + _WRAP  # room below for what comes late
        else:
            self._last += (sequence - self._last + _WRAP // 2) % _WRAP - _WRAP // 2
        return self._last

    def _uncovered(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The parts of a range that no piece covers yet."""
        if self.begin is not None:
            start = max(start, self.begin)
        place = bisect_right(self.pieces, start, key=lambda piece: piece[0])
        if place and self.pieces[place - 1][1] > start:
            start = self.pieces[place - 1][1]
        while start < end:
            following = self.pieces[place][0] if place < len(self.pieces) else end
            if following > start:
                yield start, min(end, following)
            if place >= len(self.pieces):
                return
            start = self.pieces[place][1]
            place += 1

    def chunks(self) -> Iterator[Chunk]:
        """In the order of the stream. A byte's time is when it and all before it had come."""
        if not self.pieces:
            return
        at = self.pieces[0][0] if self.begin is None else self.begin
        time_ns = 0
        for start, end, segment, offset in self.pieces:
            time_ns = max(time_ns, segment.time_ns)
            if start > at:
                yield Chunk(time_ns, time_ns, None, start - at)
            captured = segment.payload[offset : offset + end - start]
            if captured:
                yield Chunk(time_ns, time_ns, captured, len(captured))
            if len(captured) < end - start:
                yield Chunk(time_ns, time_ns, None, end - start - len(captured))
            at = end


@dataclass
class Conversation:
    """One TCP connection between a client and a server."""

    client: Address
    server: Address
    started_ns: int
    complete: bool
    """Its first SYN was captured."""
    sent: Half = field(default_factory=Half)
    received: Half = field(default_factory=Half)
    rtt_ns: int | None = None
    """From the client's SYN to its acknowledgement of the server's: once there and back."""
    _answered: bool = False

    def add(self, segment: Segment, *, of_client: bool) -> None:
        if self.complete and self.rtt_ns is None:
            if not of_client:
                self._answered |= bool(segment.flags & SYN)
            elif self._answered and segment.flags & ACK:
                self.rtt_ns = segment.time_ns - self.started_ns
        (self.sent if of_client else self.received).add(segment)

    def retransmitted(self, since_ns: int, until_ns: int) -> int:
        """Segments that brought bytes a second time."""
        if not (self.sent.retransmitted_ns or self.received.retransmitted_ns):
            return 0
        times = (*self.sent.retransmitted_ns, *self.received.retransmitted_ns)
        return sum(since_ns <= time <= until_ns for time in times)

    def chunks(self) -> Iterator[tuple[bool, Chunk]]:
        """Both directions by time; True for the client's."""
        return merge(
            ((True, chunk) for chunk in self.sent.chunks()),
            ((False, chunk) for chunk in self.received.chunks()),
            key=lambda pair: (pair[1].first_ns, not pair[0]),
        )


def conversations(segments: Iterable[Segment], ports: frozenset[int]) -> list[Conversation]:
    """All TCP connections, in the order of their first packets.

    The server is who answered the SYN; where that was not captured, who has one of the `ports`;
    else who has the lower port.
    """
    found: list[Conversation] = []
    current: dict[tuple[Address, Address], Conversation] = {}
    for segment in segments:
        source, target = segment.source, segment.target
        known = current.get((source, target)) or current.get((target, source))
        opening = segment.flags & (SYN | ACK) == SYN
        if known is None or (opening and _is_another(known, segment)):
            if segment.flags & RST:
                continue
            of_client = _is_of_client(segment, ports)
            client, server = (source, target) if of_client else (target, source)
            known = Conversation(client, server, segment.time_ns, complete=opening)
            current.pop((server, client), None)
            current[client, server] = known
            found.append(known)
        known.add(segment, of_client=source == known.client)
    return found


def _is_another(known: Conversation, segment: Segment) -> bool:
    """A client's port used again; a SYN sent again has the number it had."""
    begin = known.sent.begin
    return begin is None or (segment.sequence + 1 - begin) % _WRAP != 0


def _is_of_client(segment: Segment, ports: frozenset[int]) -> bool:
    if segment.flags & SYN:
        return not segment.flags & ACK
    source, target = segment.source.port, segment.target.port
    if (source in ports) != (target in ports):
        return target in ports
    return target <= source
