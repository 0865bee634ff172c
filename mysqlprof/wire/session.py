"""One connection's bytes as commands and responses.

The protocol takes turns: a command has sequence number 0 and its response counts on from it. So
every packet can be checked, and after a gap the next command after the server's turn is a place to
go on from. What cannot be followed is named; no row is made of guesses.
"""

from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime

from mysqlprof.wire.framing import Framer, Packet
from mysqlprof.wire.inflate import Damaged, Inflater
from mysqlprof.wire.model import WireCommand, WireSession
from mysqlprof.wire.protocol import (
    COMMANDS,
    COMPRESS,
    SSL,
    WITHOUT_RESPONSE,
    ZSTD,
    Greeting,
    Malformed,
    client_capabilities,
    error_code,
    greeting,
    sql_of,
    statement_id,
)
from mysqlprof.wire.responses import Response
from mysqlprof.wire.streams import Chunk, Conversation

_HANDSHAKE = "handshake"
_TLS_RECORDS = range(0x14, 0x18)
_SSL_REQUEST = 32
_TLS = "it is encrypted (TLS)"
_MISSING = "bytes are missing from the capture"


@dataclass
class _Exchange:
    """A command and its response, as far as they came."""

    command: str
    response: Response
    request: Packet
    statement: int | None = None
    sql: str = ""
    request_bytes: int = 0
    sent_ns: int = 0
    next_sequence: int = 0
    response_bytes: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    note: str = ""

    def request_goes_on(self, packet: Packet) -> None:
        self.request_bytes += packet.wire_bytes
        self.sent_ns = packet.last_ns if self.first_ns is None else self.sent_ns
        self.next_sequence = packet.next_sequence

    def response_goes_on(self, packet: Packet) -> None:
        self.answered(packet.first_ns, packet.last_ns, packet.wire_bytes)
        self.next_sequence = packet.next_sequence

    def answered(self, first_ns: int, last_ns: int, size: int) -> None:
        if self.first_ns is None:
            self.first_ns = first_ns
        self.last_ns = last_ns
        self.response_bytes += size

    @property
    def status(self) -> str:
        if self.command in WITHOUT_RESPONSE:
            return "none expected"
        if self.response.done:
            return self.response.status
        return "unknown" if self.first_ns is not None else "no response"


def read_session(conversation: Conversation, begin_ns: int) -> WireSession:
    """All commands of a connection; `begin_ns` is when the capture began."""
    return _Reader(conversation, begin_ns).read()


class _Reader:
    def __init__(self, conversation: Conversation, begin_ns: int) -> None:
        self._conversation = conversation
        self._connection = str(conversation.client)
        self._begin_ns = begin_ns
        self._client, self._server = Framer(), Framer()
        self._inflaters: dict[bool, Inflater] = {}
        self._greeting: Greeting | None = None
        self._capabilities: int | None = None
        self._open: deque[_Exchange] = deque()
        self._done: list[_Exchange] = []
        self._unreadable = ""
        self._notes: dict[str, None] = {}
        self._bytes = {True: 0, False: 0}
        self._began = False
        self._client_spoke = True
        """Last: then a chunk may be the middle of a request."""

    def read(self) -> WireSession:
        for of_client, chunk in self._conversation.chunks():
            self._bytes[of_client] += chunk.length
            if self._unreadable:
                continue
            if chunk.data is None:
                self._notes[f"{_MISSING}; what they belong to is marked"] = None
            try:
                self._chunk(of_client, chunk)
            except Damaged as damage:
                self._unreadable = f"compressed, and {damage}"
        self._finish()
        return self._session()

    # --- chunks ---

    def _chunk(self, of_client: bool, chunk: Chunk) -> None:
        if not self._began:
            self._begin(of_client, bytes(chunk.data[:512]) if chunk.data else b"")
        if self._unreadable:
            return
        inflater = self._inflaters.get(of_client)
        for plain in inflater.feed(chunk) if inflater else (chunk,):
            if of_client:
                self._of_client(plain)
            else:
                self._of_server(plain)

    def _begin(self, of_client: bool, head: bytes) -> None:
        """Either with the server's greeting, or somewhere in the middle."""
        self._began = True
        if not of_client and head[3:4] == b"\0" and (greeting(head[4:]) or head[4:5] == b"\xff"):
            return
        if head and self._conversation.complete:
            self._unreadable = "it does not begin with a MySQL server's greeting"
        elif head[1:2] == b"\x03" and head[0] in _TLS_RECORDS:
            self._unreadable = _TLS
        else:
            self._notes["it began before the capture: what was negotiated is not known"] = None
            self._client.lost = self._server.lost = True

    def _of_client(self, chunk: Chunk) -> None:
        if self._client.lost and chunk.data is not None and self._is_a_command(chunk.data):
            self._give_up_open(_MISSING)
            self._client.resume()
            self._server.resume()
        self._client_spoke = True
        for packet in self._client.feed(chunk):
            self._request(packet)
            if self._unreadable:
                return

    def _is_a_command(self, data: memoryview) -> bool:
        """Whether a chunk begins with one; where it may be the middle of a request, it must
        also end with one."""
        at = 0
        while at + 5 <= len(data):
            length = int.from_bytes(data[at : at + 3], "little")
            if not length or data[at + 3] or data[at + 4] not in COMMANDS:
                return False
            at += 4 + length
        return at == len(data) or (at > len(data) and not self._client_spoke)

    def _of_server(self, chunk: Chunk) -> None:
        self._client_spoke = False
        if self._server.lost and chunk.data is not None and self._is_the_answer(chunk.data):
            newest = self._open.pop()
            self._give_up_open(_MISSING)
            self._open.append(newest)
            self._server.resume()
        if self._server.lost:
            self._unfollowed(chunk)
            return
        for packet in self._server.feed(chunk):
            self._answer(packet)
            if self._unreadable:
                return
        if self._server.lost and self._open:
            self._open[0].note = self._open[0].note or _MISSING
            if chunk.data is None:
                self._unfollowed(chunk)

    def _unfollowed(self, chunk: Chunk) -> None:
        """Part of a response whose packets are not known. When a gap's bytes came is not either."""
        if not self._open:
            return
        current = self._open[0]
        if chunk.data is not None:
            current.answered(chunk.first_ns, chunk.last_ns, chunk.length)
        elif current.first_ns is not None:
            current.response_bytes += chunk.length

    def _is_the_answer(self, data: memoryview) -> bool:
        """Whether a chunk begins with the response to the newest command, and goes on so."""
        if not self._open or self._open[-1].first_ns is not None:
            return False
        at, sequence = 0, self._open[-1].next_sequence
        while at + 5 <= len(data):
            length = int.from_bytes(data[at : at + 3], "little")
            if not length or data[at + 3] != sequence:
                return False
            at, sequence = at + 4 + length, (sequence + 1) & 255
        return at >= len(data)

    # --- packets ---

    def _request(self, packet: Packet) -> None:
        current = self._open[0] if self._open else None
        if current and packet.sequence == current.next_sequence:
            if current.command == _HANDSHAKE and self._capabilities is None:
                self._negotiated(packet)
            if packet.sequence or current.response.awaits_client:
                current.request_goes_on(packet)
                return
        command = COMMANDS.get(packet.head[0]) if packet.head else None
        if packet.sequence or command is None:
            self._client.lost = True
            return
        if self._server.lost:
            self._give_up_open("")
            self._server.resume()
        response = Response(command, self._capabilities)
        exchange = _Exchange(command, response, packet)
        exchange.statement = statement_id(command, packet.head)
        exchange.sql = sql_of(command, packet.head, self._capabilities)
        exchange.request_goes_on(packet)
        if command in WITHOUT_RESPONSE:
            self._done.append(exchange)
        else:
            self._open.append(exchange)

    def _negotiated(self, packet: Packet) -> None:
        flags = client_capabilities(packet.head)
        if packet.length == _SSL_REQUEST and flags & SSL:
            self._unreadable = _TLS
            return
        self._capabilities = flags & self._greeting.capabilities if self._greeting else flags

    def _answer(self, packet: Packet) -> None:
        if not self._open:
            self._unasked(packet)
            return
        current = self._open[0]
        if packet.sequence != current.next_sequence:
            current.note = "the response's packets are not in sequence"
            current.answered(packet.first_ns, packet.last_ns, packet.wire_bytes)
            self._server.lost = True
            return
        current.response_goes_on(packet)
        try:
            current.response.feed(packet)
        except Malformed as error:
            current.note = f"the response was not understood: {error}"
            self._server.lost = True
            return
        if current.response.done:
            self._answered(current)

    def _answered(self, exchange: _Exchange) -> None:
        self._open.popleft()
        self._done.append(exchange)
        if exchange.response.statement is not None:
            exchange.statement = exchange.response.statement
        if exchange.command == _HANDSHAKE and self._capabilities is not None:
            if self._capabilities & COMPRESS:
                self._inflaters = {True: Inflater(), False: Inflater()}
                self._notes["it is compressed (zlib); bytes are those before compression"] = None
            elif self._capabilities & ZSTD:
                self._unreadable = "it is compressed with zstd"

    def _unasked(self, packet: Packet) -> None:
        """The greeting, the end of definitions, or an error that closes the connection."""
        last = self._done[-1] if self._done else None
        if last is None and packet.sequence == 0:
            self._greeting = greeting(packet.head)
            exchange = _Exchange(_HANDSHAKE, Response(_HANDSHAKE, None), packet)
            exchange.sent_ns = packet.last_ns
            exchange.next_sequence = packet.next_sequence
            if self._greeting is None:
                exchange.response_goes_on(packet)
                exchange.response.feed(packet)
                self._done.append(exchange)
            else:
                self._open.append(exchange)
        elif last and last.first_ns is not None and packet.sequence == last.next_sequence:
            last.response_goes_on(packet)
        elif packet.head[:1] == b"\xff":
            self._notes[f"the server ended it: ERR {error_code(packet.head)}"] = None
        else:
            self._notes["the server sent what answers no command"] = None
            self._server.lost = True

    # --- the end ---

    def _give_up_open(self, note: str) -> None:
        for exchange in self._open:
            exchange.note = exchange.note or note
            self._done.append(exchange)
        self._open.clear()

    def _finish(self) -> None:
        handshake_only = self._unreadable and len(self._open) == 1 and not self._done
        if not handshake_only:
            self._give_up_open("")
        if not self._unreadable and self._client.pending:
            self._notes["the capture ends within a request"] = None
        if not self._unreadable and not self._done and any(self._bytes.values()):
            self._unreadable = "no command was recognised in it"

    def _session(self) -> WireSession:
        conversation = self._conversation
        exchanges = sorted(self._done, key=lambda exchange: exchange.request.first_ns)
        first = 0 if exchanges and exchanges[0].command == _HANDSHAKE else 1
        return WireSession(
            connection=self._connection,
            server=str(conversation.server),
            version=self._greeting.version if self._greeting else "",
            complete=conversation.complete,
            unreadable=self._unreadable,
            notes=tuple(self._notes),
            commands=tuple(self._row(e, number) for number, e in enumerate(exchanges, first)),
            sent_bytes=self._bytes[True],
            received_bytes=self._bytes[False],
            retransmitted=conversation.retransmitted(0, 2**64),
            rtt_ms=_milliseconds(conversation.rtt_ns),
        )

    def _row(self, exchange: _Exchange, number: int) -> WireCommand:
        start_ns = exchange.request.first_ns

        def since_start(time_ns: int | None) -> float | None:
            return None if time_ns is None else _milliseconds(time_ns - start_ns)

        return WireCommand(
            connection=self._connection,
            number=number,
            command=exchange.command,
            statement=exchange.statement,
            started_s=round((start_ns - self._begin_ns) / 1e9, 6),
            at=_iso(start_ns),
            request_bytes=exchange.request_bytes,
            response_bytes=exchange.response_bytes,
            sent_ms=since_start(exchange.sent_ns) or 0.0,
            first_ms=since_start(exchange.first_ns),
            last_ms=since_start(exchange.last_ns),
            status=exchange.status,
            rows=exchange.response.rows,
            rtt_ms=_milliseconds(self._conversation.rtt_ns),
            retransmitted=self._conversation.retransmitted(
                start_ns, max(exchange.sent_ns, exchange.last_ns or 0)
            ),
            sql=exchange.sql,
            note=exchange.note,
        )


def _milliseconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else round(time_ns / 1e6, 6)


def _iso(time_ns: int) -> str:
    """Any 64-bit time: damaged files hold some that no calendar knows."""
    try:
        when = datetime.fromtimestamp(time_ns // 10**9, UTC)
    except (OverflowError, ValueError, OSError):
        return ""
    return f"{when:%Y-%m-%dT%H:%M:%S}.{time_ns % 10**9 // 1000:06}Z"
