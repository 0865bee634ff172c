"""What a capture is read into."""

from dataclasses import dataclass, field

from mysqlprof.frozen import Frozen


class WireCommand(Frozen):
    """One row of wire.csv: a command of a client and the server's response to it.

    The three times count from the request's first byte, as the capturing machine saw them; they
    are empty where the capture does not hold the byte.
    """

    cell: str = ""
    """Empty in captures made elsewhere."""
    connection: str
    """The client's address and port."""
    number: int
    """Of the command on its connection, from 1; the handshake is 0."""
    command: str
    """As the protocol names it: COM_QUERY..., or "handshake"."""
    statement: int | None = None
    """The server's number of the prepared statement."""
    started_s: float
    """Since the capture's first packet."""
    at: str
    """ISO 8601, UTC."""
    request_bytes: int
    """With packet headers; before compression."""
    response_bytes: int
    sent_ms: float
    """The request's last byte was sent."""
    first_ms: float | None = None
    """The response's first byte came."""
    last_ms: float | None = None
    """The response's last byte came."""
    status: str
    """OK, ERR with its number, "no response", "none expected" or "unknown"."""
    rows: int | None = None
    """Sent, or changed."""
    rtt_ms: float | None = None
    """Of the connection's TCP handshake: once over the network and back."""
    retransmitted: int = 0
    """TCP segments that brought bytes a second time, between request and response."""
    sql: str = ""
    """The statement's beginning."""
    note: str = ""
    """What could not be read of it."""

    @property
    def wait_ms(self) -> float | None:
        """From the request's last byte to the response's first: the server's or the network's."""
        return None if self.first_ms is None else max(0.0, self.first_ms - self.sent_ms)

    @property
    def fetch_ms(self) -> float | None:
        """From the response's first byte to its last."""
        if self.first_ms is None or self.last_ms is None:
            return None
        return self.last_ms - self.first_ms

    @property
    def total_ms(self) -> float:
        """From the request's first byte to the last byte of either side."""
        return max(self.sent_ms, self.last_ms or 0.0)


@dataclass(frozen=True)
class WireSession:
    """One TCP connection to a server."""

    connection: str
    server: str
    version: str
    """From the server's greeting; empty where it was not captured."""
    complete: bool
    """Its beginning was captured."""
    unreadable: str
    """Why its commands (from some point on) cannot be read; empty where they can."""
    notes: tuple[str, ...]
    commands: tuple[WireCommand, ...]
    sent_bytes: int
    received_bytes: int
    retransmitted: int
    rtt_ms: float | None


@dataclass(frozen=True)
class Wire:
    """A capture, read."""

    sessions: tuple[WireSession, ...]
    packets: int
    seconds: float
    """From the first packet to the last."""
    problems: tuple[str, ...] = ()
    """What of the file could not be read."""
    ports: dict[int, int] = field(default_factory=dict)
    """Server port -> bytes, of all TCP connections, also those that are no MySQL."""

    @property
    def commands(self) -> list[WireCommand]:
        """Of all connections, by time."""
        found = [command for session in self.sessions for command in session.commands]
        return sorted(found, key=lambda command: command.started_s)
