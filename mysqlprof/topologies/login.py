"""The beginning of a MySQL connection: greeting, TLS, authentication. Nothing after it.

Drivers do more at that point (they ask for variables, set character sets, load the system's list of
authorities); here every step is one that the protocol demands, so that each can be timed. Imports
nothing but the standard library: connect.py runs it in a program of its own.
"""

import hashlib
import socket
import ssl
import struct
import time
from dataclasses import dataclass

# Capabilities, from MySQL's include/mysql_com.h.
_CLIENT_LONG_PASSWORD = 1 << 0
_CLIENT_PROTOCOL_41 = 1 << 9
_CLIENT_SSL = 1 << 11
_CLIENT_TRANSACTIONS = 1 << 13
_CLIENT_SECURE_CONNECTION = 1 << 15
_CLIENT_PLUGIN_AUTH = 1 << 19
_WANTED = (
    _CLIENT_LONG_PASSWORD
    | _CLIENT_PROTOCOL_41
    | _CLIENT_TRANSACTIONS
    | _CLIENT_SECURE_CONNECTION
    | _CLIENT_PLUGIN_AUTH
)
_MAX_PACKET = 1 << 24
_UTF8MB4 = 45
_COM_QUIT = b"\x01"
_OK, _MORE, _SWITCH, _ERROR = 0x00, 0x01, 0xFE, 0xFF
# caching_sha2_password, sql/auth/sha2_password.cc
_FAST_OK, _FULL = b"\x03", b"\x04"

Socket = socket.socket | ssl.SSLSocket


class LoginFailed(Exception):
    """What the other end said, or that it said nothing; `refused` when it knew us and said no."""

    def __init__(self, words: str, *, refused: bool = False) -> None:
        super().__init__(words)
        self.refused = refused


@dataclass(frozen=True)
class Greeting:
    version: str
    connection_id: int
    capabilities: int
    plugin: str
    nonce: bytes

    @classmethod
    def parse(cls, packet: bytes) -> "Greeting":
        """A server's first packet: protocol version 10.

        0a "8.0.31\\0" thread-id(4) nonce(8) 00 caps-low(2) charset(1) status(2) caps-high(2)
        nonce-length(1) 00*10 nonce-rest(>=13) "caching_sha2_password\\0"
        """
        if not packet or packet[0] == _ERROR:
            raise _refusal(packet)
        try:
            version, _, rest = packet[1:].partition(b"\0")
            connection_id, first, low, _, _, high, _ = struct.unpack_from("<I8sxHBHHB", rest)
            second, _, plugin = rest[31:].partition(b"\0")
        except struct.error as error:
            raise LoginFailed(f"no greeting of a MySQL server: {packet[:40]!r}") from error
        return cls(
            version.decode("ascii", "replace"),
            connection_id,
            low | high << 16,
            plugin.rstrip(b"\0").decode("ascii", "replace"),
            first + second,
        )


@dataclass(frozen=True)
class Steps:
    """How long each part of a login took, in nanoseconds."""

    greeting: int
    """Until the server's first packet was here: it has accepted us and made a thread."""
    tls: int
    """From SSLRequest to the end of our side of the handshake; 0 without TLS."""
    authentication: int


@dataclass(frozen=True)
class LoggedIn:
    """An open connection. Left open: close() says goodbye as a client should."""

    channel: "Channel"
    steps: Steps
    server_version: str
    connection_id: int
    plugin: str

    @property
    def tls(self) -> ssl.SSLSocket | None:
        found = self.channel.socket
        return found if isinstance(found, ssl.SSLSocket) else None

    def close(self) -> None:
        self.channel.sequence = 0
        self.channel.write(_COM_QUIT)
        self.channel.socket.close()


class Channel:
    """Packets: three bytes of length, one of sequence, then the payload."""

    def __init__(self, connection: Socket) -> None:
        self.socket = connection
        self.sequence = 0

    def read(self) -> bytes:
        header = self._exactly(4)
        self.sequence = (header[3] + 1) & 0xFF
        return self._exactly(int.from_bytes(header[:3], "little"))

    def write(self, payload: bytes) -> None:
        self.socket.sendall(len(payload).to_bytes(3, "little") + bytes([self.sequence]) + payload)
        self.sequence = (self.sequence + 1) & 0xFF

    def _exactly(self, size: int) -> bytes:
        # No buffer of our own: what follows SSLRequest belongs to TLS.
        received = b""
        while len(received) < size:
            chunk = self.socket.recv(size - len(received))
            if not chunk:
                raise LoginFailed("the server hung up")
            received += chunk
        return received


def log_in(
    connection: socket.socket,
    user: str,
    password: str,
    tls: ssl.SSLContext | None = None,
    session: ssl.SSLSession | None = None,
) -> LoggedIn:
    """Log in over a connected socket; with `tls`, encrypted, resuming `session` where given.

    Raises LoginFailed, ssl.SSLError and OSError.
    """
    channel = Channel(connection)
    begun = time.perf_counter_ns()
    greeting = Greeting.parse(channel.read())
    flags = _WANTED
    if tls:
        if not greeting.capabilities & _CLIENT_SSL:
            raise LoginFailed("the server does not offer TLS")
        flags |= _CLIENT_SSL
    head = struct.pack("<IIB23x", flags, _MAX_PACKET, _UTF8MB4)
    greeted = time.perf_counter_ns()
    if tls:
        channel.write(head)
        channel.socket = tls.wrap_socket(connection, session=session)
    private = time.perf_counter_ns()
    proof = _proof(greeting.plugin, password, greeting.nonce)
    channel.write(
        head
        + user.encode()
        + b"\0"
        + bytes([len(proof)])
        + proof
        + greeting.plugin.encode()
        + b"\0"
    )
    plugin = _authenticate(channel, greeting, password)
    done = time.perf_counter_ns()
    steps = Steps(greeted - begun, private - greeted if tls else 0, done - private)
    return LoggedIn(channel, steps, greeting.version, greeting.connection_id, plugin)


def _authenticate(channel: Channel, greeting: Greeting, password: str) -> str:
    """Answer the server until it lets us in; the name of the plugin that did."""
    plugin = greeting.plugin
    while True:
        packet = channel.read()
        kind = packet[0] if packet else _ERROR
        if kind == _OK:
            return plugin
        if kind == _SWITCH:
            name, _, nonce = packet[1:].partition(b"\0")
            plugin = name.decode("ascii", "replace")
            channel.write(_proof(plugin, password, nonce.rstrip(b"\0")))
        elif kind == _MORE and packet[1:] == _FULL:
            channel.write(_clear_password(channel.socket, password))
        elif not (kind == _MORE and packet[1:] == _FAST_OK):
            raise _refusal(packet)


def _clear_password(connection: Socket, password: str) -> bytes:
    """caching_sha2_password's full exchange, for a password the server has not seen yet."""
    if not isinstance(connection, ssl.SSLSocket) and connection.family != socket.AF_UNIX:
        raise LoginFailed(
            "caching_sha2_password wants the password itself, and the connection is not private:"
            " log in once over TLS or the socket first"
        )
    return password.encode() + b"\0"


def _proof(plugin: str, password: str, nonce: bytes) -> bytes:
    """That the password is known, without saying it."""
    if not password:
        return b""
    if plugin == "mysql_native_password":
        inner = hashlib.sha1(password.encode()).digest()
        outer = hashlib.sha1(nonce[:20] + hashlib.sha1(inner).digest()).digest()
    elif plugin == "caching_sha2_password":
        inner = hashlib.sha256(password.encode()).digest()
        outer = hashlib.sha256(hashlib.sha256(inner).digest() + nonce[:20]).digest()
    else:
        raise LoginFailed(f"the server wants {plugin}, which is not known here")
    return bytes(a ^ b for a, b in zip(inner, outer, strict=True))


def _refusal(packet: bytes) -> LoginFailed:
    """ff code(2) "#28000" "Access denied..." (no state before the capabilities are known)"""
    if len(packet) < 3 or packet[0] != _ERROR:
        return LoginFailed(f"the server sent {packet[:20]!r}")
    code = int.from_bytes(packet[1:3], "little")
    words = packet[3:].decode("utf-8", "replace")
    text = words[6:] if words.startswith("#") else words
    return LoginFailed(f"{code}: {text}", refused=True)
