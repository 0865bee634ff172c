"""A server's response to one command, packet by packet: what it says and where it ends.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response.html
"""

from collections.abc import Generator

from mysqlprof.wire.framing import MAX_PART, Packet
from mysqlprof.wire.protocol import (
    CURSOR_EXISTS,
    DEPRECATE_EOF,
    MORE_RESULTS,
    OPTIONAL_METADATA,
    Malformed,
    error_code,
    length_encoded,
    ok_status,
)

_OK, _LOCAL_INFILE, _EOF, _ERR = 0x00, 0xFB, 0xFE, 0xFF
_RESULTS = {"COM_QUERY", "COM_STMT_EXECUTE", "COM_PROCESS_INFO"}
_ROWS = {"COM_FIELD_LIST", "COM_STMT_FETCH", "COM_BINLOG_DUMP", "COM_BINLOG_DUMP_GTID"}
_TALKS = {"handshake", "COM_CHANGE_USER"}
_ANY = {"COM_STATISTICS"}

Steps = Generator[None, Packet, None]


class Response:
    """Fed with the server's packets until `done`.

    `capabilities` are None where the handshake was not captured: then what they would tell is
    read from the packets themselves, which differ in length.
    """

    def __init__(self, command: str, capabilities: int | None) -> None:
        self.done = False
        self.status = ""
        """OK, or ERR with its number."""
        self.rows: int | None = None
        """Sent or changed."""
        self.statement: int | None = None
        self.awaits_client = False
        """The server asked for a file, which the client sends in packets of its own."""
        self._capabilities = capabilities
        self._steps = self._of(command)
        next(self._steps)

    def feed(self, packet: Packet) -> None:
        """Raises Malformed where the protocol does not allow the packet."""
        try:
            self._steps.send(packet)
        except StopIteration:
            self.done = True

    def _of(self, command: str) -> Steps:
        if command in _RESULTS:
            return self._results()
        if command in _ROWS:
            return self._row_packets()
        if command in _TALKS:
            return self._talk()
        return self._prepared() if command == "COM_STMT_PREPARE" else self._one(command)

    def _one(self, command: str) -> Steps:
        packet = yield
        if command in _ANY or packet.head[:1] == b"\xfe":
            self.status = "OK"
        else:
            self._ok_or_error(packet)

    def _talk(self) -> Steps:
        """Authentication: any number of packets to and fro, then OK or an error."""
        while True:
            packet = yield
            if _kind(packet) in (_OK, _ERR):
                self._ok_or_error(packet)
                return

    def _prepared(self) -> Steps:
        packet = yield
        if _kind(packet) == _ERR or len(packet.head) < 9:
            self._ok_or_error(packet)
            return
        if _kind(packet) != _OK:
            raise Malformed("the response to COM_STMT_PREPARE is none")
        head = packet.head
        self.statement = int.from_bytes(head[1:5], "little")
        columns, parameters = (int.from_bytes(head[at : at + 2], "little") for at in (5, 7))
        described = not self._has(OPTIONAL_METADATA) or head[12:13] != b"\0"
        for number in (parameters, columns):
            if number and described:
                for _ in range(number):
                    yield
                if self._capabilities is not None and not self._has(DEPRECATE_EOF):
                    _must_be_end((yield))
        self.status = "OK"

    def _results(self) -> Steps:
        more = True
        while more:
            packet = yield
            kind = _kind(packet)
            if kind == _LOCAL_INFILE:
                self.awaits_client = True
                packet = yield
                self.awaits_client, kind = False, _kind(packet)
            if kind in (_OK, _ERR):
                more = self._ok_or_error(packet)
            else:
                more = yield from self._result_set(packet)

    def _result_set(self, packet: Packet) -> Generator[None, Packet, bool]:
        """Columns, then rows; whether another result follows."""
        start = 0
        described = True
        if self._has(OPTIONAL_METADATA):
            described, start = packet.head[:1] != b"\0", 1
        columns, end = length_encoded(packet.head, start)
        if not columns or end != packet.length:
            raise Malformed("a result begins with something else than its number of columns")
        for _ in range(columns if described else 0):
            yield
        packet = yield
        if _is_end(packet) and packet.length == 5:  # EOF: an OK in its place is longer
            if _end_flags(packet) & CURSOR_EXISTS:
                self.status, self.rows = "OK", 0
                return bool(_end_flags(packet) & MORE_RESULTS)
            packet = yield
        return (yield from self._rows_until_end(packet))

    def _row_packets(self) -> Steps:
        yield from self._rows_until_end((yield))

    def _rows_until_end(self, packet: Packet) -> Generator[None, Packet, bool]:
        self.rows = self.rows or 0
        while not _is_end(packet):
            if _kind(packet) == _ERR:
                self.status = f"ERR {error_code(packet.head)}"
                return False
            self.rows += 1
            packet = yield
        self.status = "OK"
        return bool(_end_flags(packet) & MORE_RESULTS)

    def _ok_or_error(self, packet: Packet) -> bool:
        """Whether another result follows."""
        if _kind(packet) == _ERR:
            self.status = f"ERR {error_code(packet.head)}"
            return False
        if _kind(packet) != _OK:
            raise Malformed("neither OK nor an error")
        rows, flags = ok_status(packet.head)
        self.status, self.rows = "OK", (self.rows or 0) + rows
        return bool(flags & MORE_RESULTS)

    def _has(self, capability: int) -> bool:
        return bool(self._capabilities is not None and self._capabilities & capability)


def _kind(packet: Packet) -> int:
    if not packet.head:
        raise Malformed("an empty packet")
    return packet.head[0]


def _is_end(packet: Packet) -> bool:
    """EOF, or the OK that newer clients get in its place. A row may begin so if it is huge."""
    return packet.head[:1] == b"\xfe" and packet.length < MAX_PART


def _end_flags(packet: Packet) -> int:
    if packet.length == 5:
        return int.from_bytes(packet.head[3:5], "little")
    return ok_status(packet.head)[1]


def _must_be_end(packet: Packet) -> None:
    if not _is_end(packet):
        raise Malformed("definitions are not followed by their end")
