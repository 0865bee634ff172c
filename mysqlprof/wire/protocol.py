"""Numbers and small structures of MySQL's client/server protocol.

https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html
"""

import re
from dataclasses import dataclass

COMMANDS = {
    0x00: "COM_SLEEP",
    0x01: "COM_QUIT",
    0x02: "COM_INIT_DB",
    0x03: "COM_QUERY",
    0x04: "COM_FIELD_LIST",
    0x05: "COM_CREATE_DB",
    0x06: "COM_DROP_DB",
    0x07: "COM_REFRESH",
    0x08: "COM_SHUTDOWN",
    0x09: "COM_STATISTICS",
    0x0A: "COM_PROCESS_INFO",
    0x0B: "COM_CONNECT",
    0x0C: "COM_PROCESS_KILL",
    0x0D: "COM_DEBUG",
    0x0E: "COM_PING",
    0x0F: "COM_TIME",
    0x10: "COM_DELAYED_INSERT",
    0x11: "COM_CHANGE_USER",
    0x12: "COM_BINLOG_DUMP",
    0x13: "COM_TABLE_DUMP",
    0x14: "COM_CONNECT_OUT",
    0x15: "COM_REGISTER_SLAVE",
    0x16: "COM_STMT_PREPARE",
    0x17: "COM_STMT_EXECUTE",
    0x18: "COM_STMT_SEND_LONG_DATA",
    0x19: "COM_STMT_CLOSE",
    0x1A: "COM_STMT_RESET",
    0x1B: "COM_SET_OPTION",
    0x1C: "COM_STMT_FETCH",
    0x1D: "COM_DAEMON",
    0x1E: "COM_BINLOG_DUMP_GTID",
    0x1F: "COM_RESET_CONNECTION",
    0x20: "COM_CLONE",
    0x21: "COM_SUBSCRIBE_GROUP_REPLICATION_STREAM",
}
WITHOUT_RESPONSE = {"COM_QUIT", "COM_STMT_CLOSE", "COM_STMT_SEND_LONG_DATA"}
_WITH_STATEMENT = {
    "COM_STMT_EXECUTE",
    "COM_STMT_SEND_LONG_DATA",
    "COM_STMT_CLOSE",
    "COM_STMT_RESET",
    "COM_STMT_FETCH",
}
_WITH_SQL = {"COM_QUERY", "COM_STMT_PREPARE", "COM_INIT_DB"}

COMPRESS = 1 << 5
PROTOCOL_41 = 1 << 9
SSL = 1 << 11
DEPRECATE_EOF = 1 << 24
OPTIONAL_METADATA = 1 << 25
ZSTD = 1 << 26
QUERY_ATTRIBUTES = 1 << 27

MORE_RESULTS = 0x0008
CURSOR_EXISTS = 0x0040

SQL_LENGTH = 120
_SECRET = re.compile(r"identified|password|secret", re.IGNORECASE)


class Malformed(ValueError):
    """Bytes that the protocol does not allow there."""


@dataclass(frozen=True)
class Greeting:
    """The server's first packet, protocol 10."""

    version: str
    capabilities: int


def greeting(payload: bytes) -> Greeting | None:
    """None where it is not one."""
    end = payload.find(b"\0", 1, 80)
    if payload[:1] != b"\x0a" or end < 2 or len(payload) < end + 16:
        return None
    version = payload[1:end]
    if not version.isascii() or not version[:1].isdigit():
        return None
    at = end + 1 + 4 + 8 + 1
    low = int.from_bytes(payload[at : at + 2], "little")
    high = int.from_bytes(payload[at + 5 : at + 7], "little")
    return Greeting(version.decode("ascii"), low | high << 16)


def client_capabilities(payload: bytes) -> int:
    """Of the client's answer to the greeting."""
    flags = int.from_bytes(payload[:4], "little")
    return flags if flags & PROTOCOL_41 else flags & 0xFFFF


def statement_id(command: str, payload: bytes) -> int | None:
    if command not in _WITH_STATEMENT or len(payload) < 5:
        return None
    return int.from_bytes(payload[1:5], "little")


def sql_of(command: str, payload: bytes, capabilities: int | None) -> str:
    """The beginning of a statement's text on one line; empty for commands without any.

    A statement that may hold a password is shown by its first word only.
    """
    if command not in _WITH_SQL:
        return ""
    start = 1
    if command == "COM_QUERY" and capabilities is not None and capabilities & QUERY_ATTRIBUTES:
        if payload[1:3] != b"\x00\x01":
            return ""  # attributes come first; their length is not followed
        start = 3
    text = " ".join(payload[start:].decode("utf-8", "replace").split())
    if _SECRET.search(text):
        return f"{text.partition(' ')[0]} (not shown: it may hold a password)"
    return text if len(text) <= SQL_LENGTH else text[: SQL_LENGTH - 1] + "…"


def length_encoded(payload: bytes, at: int) -> tuple[int, int]:
    """An integer of 1 to 9 bytes, and where it ends."""
    if at >= len(payload):
        raise Malformed("a number is cut off")
    first = payload[at]
    if first < 0xFB:
        return first, at + 1
    size = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first)
    if size is None or at + 1 + size > len(payload):
        raise Malformed("a number is cut off")
    return int.from_bytes(payload[at + 1 : at + 1 + size], "little"), at + 1 + size


def error_code(payload: bytes) -> int:
    return int.from_bytes(payload[1:3], "little")


def ok_status(payload: bytes) -> tuple[int, int]:
    """Affected rows and status flags of an OK packet."""
    rows, at = length_encoded(payload, 1)
    _, at = length_encoded(payload, at)
    return rows, int.from_bytes(payload[at : at + 2], "little")
