"""A captured frame as a TCP segment: link layer, VLAN tags, IPv4 or IPv6, TCP."""

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import NamedTuple

from mysqlprof.formats.pcap import Frame

_IPV4, _IPV6 = 0x0800, 0x86DD
_VLAN = (0x8100, 0x88A8, 0x9100)
_TCP = 6
_EXTENSIONS = (0, 43, 60)
_FRAGMENT, _AUTHENTICATION = 44, 51

# LINKTYPE_ values, https://www.tcpdump.org/linktypes.html
_NULL, _ETHERNET, _RAW, _LOOP, _COOKED, _COOKED_2 = 0, 1, (101, 12, 14, 228, 229), 108, 113, 276

FIN, SYN, RST, ACK = 1, 2, 4, 16


class Address(NamedTuple):
    host: bytes
    """4 or 16 bytes."""
    port: int

    def __str__(self) -> str:
        host = ip_address(self.host)
        return f"[{host}]:{self.port}" if host.version == 6 else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Segment:
    time_ns: int
    source: Address
    target: Address
    sequence: int
    flags: int
    payload: memoryview
    """As far as it was captured."""
    length: int
    """Of the payload, on the wire."""


class _Unreadable(Exception):
    """The text says of what kind the frame is."""


def segments(frames: Iterable[Frame], left_out: Counter[str]) -> Iterator[Segment]:
    """The TCP segments among the frames; what could hold one and cannot be read is counted."""
    for frame in frames:
        try:
            segment = _segment(frame)
        except (struct.error, IndexError):
            left_out["packets cut off within their headers"] += 1
        except _Unreadable as reason:
            left_out[str(reason)] += 1
        else:
            if segment is not None:
                yield segment


def _segment(frame: Frame) -> Segment | None:
    at = _network_layer(frame)
    if at is None or at >= len(frame.data):
        return None
    version = frame.data[at] >> 4
    if version == 4:
        return _of_ipv4(frame, at)
    return _of_ipv6(frame, at) if version == 6 else None


def _network_layer(frame: Frame) -> int | None:
    """Where the IP header begins; None where the frame carries none."""
    link, data = frame.link, frame.data
    if link in _RAW:
        return 0
    if link in (_NULL, _LOOP):
        return 4
    if link == _ETHERNET:
        at = 12
    elif link == _COOKED:
        at = 14
    elif link == _COOKED_2:
        return 20 if _ether_type(data, 0) in (_IPV4, _IPV6) else None
    else:
        raise _Unreadable(f"packets of link type {link}, which is not known here")
    while (kind := _ether_type(data, at)) in _VLAN:
        at += 4
    return at + 2 if kind in (_IPV4, _IPV6) else None


def _ether_type(data: memoryview, at: int) -> int:
    return int(struct.unpack_from(">H", data, at)[0])


def _of_ipv4(frame: Frame, at: int) -> Segment | None:
    data = frame.data
    total, _, fragment, _, protocol = struct.unpack_from(">HHHBB", data, at + 2)
    if protocol != _TCP:
        return None
    if fragment & 0x3FFF:
        raise _Unreadable("fragments of IP packets")
    # The kernel leaves the length 0 in packets larger than 64 KiB that never leave the machine.
    end = at + total if total else frame.length
    source, target = bytes(data[at + 12 : at + 16]), bytes(data[at + 16 : at + 20])
    return _of_tcp(frame, at + (data[at] & 15) * 4, end, source, target)


def _of_ipv6(frame: Frame, at: int) -> Segment | None:
    data = frame.data
    size, following = struct.unpack_from(">HB", data, at + 4)
    end = at + 40 + size if size else frame.length
    source, target = bytes(data[at + 8 : at + 24]), bytes(data[at + 24 : at + 40])
    place = at + 40
    while following != _TCP:
        if following in _EXTENSIONS:
            length = data[place + 1] * 8 + 8
        elif following == _AUTHENTICATION:
            length = data[place + 1] * 4 + 8
        elif following == _FRAGMENT:
            if struct.unpack_from(">H", data, place + 2)[0] & 0xFFF9:
                raise _Unreadable("fragments of IP packets")
            length = 8
        else:
            return None
        following = data[place]
        place += length
    return _of_tcp(frame, place, end, source, target)


def _of_tcp(frame: Frame, at: int, end: int, source: bytes, target: bytes) -> Segment:
    ports = struct.unpack_from(">HH", frame.data, at)
    sequence, _, offset, flags = struct.unpack_from(">IIBB", frame.data, at + 4)
    start = at + (offset >> 4) * 4
    if len(source) not in (4, 16) or len(target) != len(source) or start < at + 20:
        raise IndexError
    payload = frame.data[start : max(start, end)]
    return Segment(
        frame.time_ns,
        Address(source, ports[0]),
        Address(target, ports[1]),
        sequence,
        flags,
        payload,
        max(0, end - start),
    )
