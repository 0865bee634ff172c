"""MySQL conversations as capture files, built by dpkt: nobody sent them, the formats are real."""

import io
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import dpkt

CLIENT, SERVER = (b"\x0a\0\0\x01", 41000), (b"\x0a\0\0\x02", 3306)
PROTOCOL_41, SSL, COMPRESS, DEPRECATE_EOF, ZSTD = 1 << 9, 1 << 11, 1 << 5, 1 << 24, 1 << 26
OK = b"\0\0\0\x02\0\0\0"
EOF = b"\xfe\0\0\x02\0"


def packet(sequence: int, payload: bytes) -> bytes:
    """With its header; split where it is too long for one."""
    parts = [payload[at : at + 0xFFFFFF] for at in range(0, len(payload) + 1, 0xFFFFFF)]
    return b"".join(
        struct.pack("<I", len(part))[:3] + bytes([sequence + number & 255]) + part
        for number, part in enumerate(parts)
    )


def greeting(capabilities: int = 0xFFFFFFFF, version: bytes = b"5.7.22") -> bytes:
    low, high = struct.pack("<H", capabilities & 0xFFFF), struct.pack("<H", capabilities >> 16)
    return (
        b"\x0a"
        + version
        + b"\0"
        + b"\1\0\0\0"
        + b"s" * 8
        + b"\0"
        + low
        + b"\x21\2\0"
        + high
        + (b"\x15" + b"\0" * 10 + b"s" * 12 + b"\0mysql_native_password\0")
    )


def login(capabilities: int) -> bytes:
    return struct.pack("<IIB", capabilities | PROTOCOL_41, 1 << 24, 33) + b"\0" * 23 + b"me\0\0"


@dataclass(frozen=True)
class Piece:
    """One TCP segment."""

    at: float
    of_client: bool
    sequence: int
    payload: bytes
    flags: int = dpkt.tcp.TH_ACK


@dataclass
class Talk:
    """A conversation: what each side says, one after the other."""

    mss: int = 1448
    first: tuple[int, int] = (1000, 9000)
    client: tuple[bytes, int] = CLIENT
    server: tuple[bytes, int] = SERVER
    pieces: list[Piece] = field(default_factory=list)
    at: float = 100.0

    def __post_init__(self) -> None:
        self._next = {True: self.first[0], False: self.first[1]}

    def opened(self, rtt: float = 0.001) -> "Talk":
        syn, ack = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK
        for of_client, flags in ((True, syn), (False, syn | ack), (True, ack)):
            self.pieces.append(Piece(self.at, of_client, self._next[of_client], b"", flags))
            if flags & syn:
                self._next[of_client] = (self._next[of_client] + 1) % 2**32
            self.at += rtt / 2
        return self

    def says(self, of_client: bool, data: bytes, after: float = 0.001) -> "Talk":
        self.at += after
        for begin in range(0, len(data), self.mss):
            part = data[begin : begin + self.mss]
            self.pieces.append(Piece(self.at, of_client, self._next[of_client], part))
            self._next[of_client] = (self._next[of_client] + len(part)) % 2**32
            self.at += 0.0001
        return self

    def asks(self, payload: bytes, *answers: bytes, wait: float = 0.001) -> "Talk":
        """A command, and the payloads of its response."""
        self.says(True, packet(0, payload))
        first = 1 + len(payload) // 0xFFFFFF
        if answers:
            replies = b"".join(packet(first + n, answer) for n, answer in enumerate(answers))
            self.says(False, replies, wait)
        return self

    def logged_in(self, capabilities: int = 0) -> "Talk":
        self.opened().says(False, packet(0, greeting()))
        self.says(True, packet(1, login(capabilities)))
        return self.says(False, packet(2, OK))

    def capture(self, **options: object) -> bytes:
        return capture(self.pieces, self.client, self.server, **options)  # type: ignore[arg-type]


def query(text: str) -> bytes:
    return b"\x03" + text.encode()


def plain_talk(**options: object) -> Talk:
    """Two queries, a prepared statement: the same in all layouts and damages of the tests."""
    talk = Talk(**options).logged_in()  # type: ignore[arg-type]
    talk.asks(query("SELECT 1"), b"\x01", b"column", EOF, b"\x011", EOF, wait=0.02)
    talk.asks(query("INSERT INTO t VALUES ('" + "x" * 20000 + "')"), b"\0\x07\0\x02\0\0\0")
    talk.asks(b"\x16INSERT INTO t VALUES (?)", b"\0\x05\0\0\0\0\0\x01\0\0\0\0", b"parameter", EOF)
    talk.asks(b"\x17\x05\0\0\0" + b"v" * 9000, b"\0\x03\0\x02\0\0\0", wait=0.5)
    talk.asks(b"\x19\x05\0\0\0")
    return talk.asks(b"\x01")


PLAIN = [
    ("handshake", "OK", 0),
    ("COM_QUERY", "OK", 1),
    ("COM_QUERY", "OK", 7),
    ("COM_STMT_PREPARE", "OK", None),
    ("COM_STMT_EXECUTE", "OK", 3),
    ("COM_STMT_CLOSE", "none expected", None),
    ("COM_QUIT", "none expected", None),
]


# --- layouts ---


def tcp_of(piece: Piece, client: tuple[bytes, int], server: tuple[bytes, int]) -> dpkt.tcp.TCP:
    source, target = (client, server) if piece.of_client else (server, client)
    return dpkt.tcp.TCP(
        sport=source[1], dport=target[1], seq=piece.sequence, flags=piece.flags, data=piece.payload
    )


def ipv4(tcp: dpkt.tcp.TCP, source: bytes, target: bytes) -> bytes:
    packed = dpkt.ip.IP(src=source[-4:], dst=target[-4:], p=6, ttl=64, data=tcp)
    packed.len = len(packed) if len(packed) < 65536 else 0
    return bytes(packed)


def ipv6(tcp: dpkt.tcp.TCP, source: bytes, target: bytes, extension: bytes = b"") -> bytes:
    body = extension + bytes(tcp)
    first = 0 if extension else 6
    head = struct.pack(">IHBB", 6 << 28, len(body), first, 64)
    return head + source.rjust(16, b"\0") + target.rjust(16, b"\0") + body


def ethernet(ip: bytes, kind: int = 0x0800, tag: bytes = b"") -> bytes:
    return b"\xaa" * 6 + b"\xbb" * 6 + tag + struct.pack(">H", kind) + ip


Layout = Callable[[dpkt.tcp.TCP, bytes, bytes], bytes]
VLAN = b"\x81\0\0\x2a"
LAYOUTS: dict[str, tuple[int, Layout]] = {
    "ethernet": (1, lambda t, s, d: ethernet(ipv4(t, s, d))),
    "ethernet, padded": (1, lambda t, s, d: ethernet(ipv4(t, s, d)).ljust(60, b"\0")),
    "ethernet, ipv6": (1, lambda t, s, d: ethernet(ipv6(t, s, d), 0x86DD)),
    "ethernet, ipv6 with an extension": (
        1,
        lambda t, s, d: ethernet(ipv6(t, s, d, b"\x06\0" + b"\x01\x04\0\0\0\0"), 0x86DD),
    ),
    "vlan": (1, lambda t, s, d: ethernet(ipv4(t, s, d), tag=VLAN)),
    "two vlan tags": (1, lambda t, s, d: ethernet(ipv4(t, s, d), tag=b"\x88\xa8\0\x01" + VLAN)),
    "linux cooked": (113, lambda t, s, d: b"\0" * 14 + b"\x08\0" + ipv4(t, s, d)),
    "linux cooked 2": (276, lambda t, s, d: b"\x08\0" + b"\0" * 18 + ipv4(t, s, d)),
    "null": (0, lambda t, s, d: b"\x02\0\0\0" + ipv4(t, s, d)),
    "null, ipv6": (0, lambda t, s, d: b"\x1e\0\0\0" + ipv6(t, s, d)),
    "loop": (108, lambda t, s, d: b"\0\0\0\x02" + ipv4(t, s, d)),
    "raw": (101, lambda t, s, d: ipv4(t, s, d)),
    "raw, ipv6": (101, lambda t, s, d: ipv6(t, s, d)),
}


def capture(
    pieces: Sequence[Piece],
    client: tuple[bytes, int] = CLIENT,
    server: tuple[bytes, int] = SERVER,
    layout: str = "ethernet",
    snap: int = 1 << 20,
    nano: bool = False,
) -> bytes:
    """A classic pcap, written by dpkt."""
    link, wrap = LAYOUTS[layout]
    out = io.BytesIO()
    writer = dpkt.pcap.Writer(out, snaplen=snap, linktype=link, nano=nano)
    for piece in pieces:
        source, target = (client, server) if piece.of_client else (server, client)
        data = wrap(tcp_of(piece, client, server), source[0], target[0])
        at = out.tell()
        writer.writepkt(data[:snap], ts=piece.at)
        if len(data) > snap:  # dpkt knows no length on the wire
            buffer = out.getbuffer()
            order = "<" if out.getvalue()[:1] in (b"\xd4", b"\x4d") else ">"
            struct.pack_into(order + "I", buffer, at + 12, len(data))
            buffer.release()
    return out.getvalue()
