"""Capture files: classic pcap and pcapng, both byte orders, as frames with their time.

Layouts: https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html and -pcapng-03. A file that
ends early or is damaged gives the frames before that place, and the place by name.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_CLASSIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""Magic -> byte order, nanoseconds a unit of the fraction."""
_NG = b"\x0a\x0d\x0d\x0a"
_LINK_TYPE = 0x0FFFFFFF  # the bits above tell of a frame check sequence
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_RESOLUTION, _OFFSET = 9, 14
_SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Frame:
    time_ns: int
    """Since the epoch."""
    link: int
    """LINKTYPE_ value: how `data` begins."""
    data: memoryview
    length: int
    """Bytes on the wire; more than `data` holds where a snap length cut it."""


class NotACapture(ValueError):
    """Neither pcap nor pcapng."""


def frames(data: memoryview, problems: list[str]) -> Iterator[Frame]:
    """All frames of a file, in its order; what ends it early is added to `problems`.

    Raises NotACapture before the first frame.
    """
    magic = bytes(data[:4])
    if magic in _CLASSIC and len(data) >= 24:
        yield from _classic(data, *_CLASSIC[magic], problems)
    elif magic == _NG and len(data) >= 12:
        yield from _ng(data, problems)
    else:
        raise NotACapture


def _classic(data: memoryview, order: str, unit_ns: int, problems: list[str]) -> Iterator[Frame]:
    link = int(struct.unpack_from(order + "I", data, 20)[0]) & _LINK_TYPE
    header = struct.Struct(order + "4I")
    at, number = 24, 0
    while at < len(data):
        number += 1
        if at + header.size > len(data):
            problems.append(_cut_short(number, at))
            return
        seconds, fraction, captured, length = header.unpack_from(data, at)
        start = at + header.size
        at = start + captured
        if at > len(data):
            problems.append(_cut_short(number, start - header.size))
            return
        time_ns = seconds * _SECOND + fraction * unit_ns
        yield Frame(time_ns, link, data[start:at], max(captured, length))


def _cut_short(number: int, at: int) -> str:
    return f"the file ends within packet {number}, which begins at byte {at:,}"


@dataclass(frozen=True)
class _Interface:
    link: int
    ticks: int
    """A second."""
    offset_s: int


def _ng(data: memoryview, problems: list[str]) -> Iterator[Frame]:
    order, at, number = "<", 0, 0
    interfaces: list[_Interface] = []
    while at < len(data):
        if at + 12 > len(data):
            problems.append(f"the file ends within the block at byte {at:,}")
            return
        if data[at : at + 4] == _NG:  # the byte order is told after the length
            order = "<" if bytes(data[at + 8 : at + 12]) == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
        kind, size = struct.unpack_from(order + "II", data, at)
        if size < 12 or size % 4:
            problems.append(f"the block at byte {at:,} is damaged: it gives its length as {size:,}")
            return
        if at + size > len(data):
            problems.append(f"the file ends within the block at byte {at:,}")
            return
        body = data[at + 8 : at + size - 4]
        at += size
        try:
            if kind == _INTERFACE:
                interfaces.append(_interface(body, order))
            elif kind in (_PACKET, _OLD_PACKET):
                number += 1
                yield _packet(body, order, kind, interfaces)
            elif kind == _SIMPLE_PACKET:
                problems.append("packets of a kind that has no time are left out")
        except (struct.error, IndexError, ZeroDivisionError):
            problems.append(f"the block that ends at byte {at:,} is damaged")
            return


def _interface(body: memoryview, order: str) -> _Interface:
    link = struct.unpack_from(order + "H", body, 0)[0]
    ticks, offset_s = 10**6, 0
    for code, value in _options(body[8:], order):
        if code == _RESOLUTION and len(value) == 1:
            exponent = value[0] & 0x7F
            ticks = 2**exponent if value[0] & 0x80 else 10**exponent
        elif code == _OFFSET and len(value) == 8:
            offset_s = struct.unpack(order + "q", value)[0]
    return _Interface(link, ticks, offset_s)


def _options(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    at = 0
    while at + 4 <= len(data):
        code, size = struct.unpack_from(order + "HH", data, at)
        if code == 0:
            return
        yield code, data[at + 4 : at + 4 + size]
        at += 4 + size + -size % 4


def _packet(body: memoryview, order: str, kind: int, interfaces: list[_Interface]) -> Frame:
    layout = "IIIII" if kind == _PACKET else "HxxIIII"
    number, high, low, captured, length = struct.unpack_from(order + layout, body, 0)
    interface = interfaces[number]
    if 20 + captured > len(body):
        raise IndexError
    ticks = (high << 32) | low
    time_ns = interface.offset_s * _SECOND + ticks * _SECOND // interface.ticks
    return Frame(time_ns, interface.link, body[20 : 20 + captured], max(captured, length))
