"""Commands and responses: captures of real servers, and conversations built for what is rare."""

from pathlib import Path

import pytest
from wire_factory import (
    COMPRESS,
    DEPRECATE_EOF,
    EOF,
    OK,
    SSL,
    ZSTD,
    Talk,
    greeting,
    login,
    packet,
    plain_talk,
    query,
)

from mysqlprof.wire.decode import decode, read_capture
from mysqlprof.wire.model import Wire, WireCommand
from mysqlprof.wire.summary import by_command, phases, statement_commands, wait_share

DATA = Path(__file__).parents[1] / "data"

# As tshark's dissector reads the same files, field mysql.command; the handshake is no command.
COMMANDS = [
    "handshake",
    "COM_QUERY",
    "COM_QUERY",
    "COM_PING",
    "COM_QUERY",
    "COM_QUERY",
    "COM_QUERY",
    "COM_QUERY",
    "COM_STMT_PREPARE",
    "COM_STMT_EXECUTE",
    "COM_STMT_EXECUTE",
    "COM_STMT_EXECUTE",
    "COM_STMT_CLOSE",
    "COM_QUERY",
    "COM_QUERY",
    "COM_PING",
    "COM_STMT_PREPARE",
    "COM_STMT_RESET",
    "COM_STMT_EXECUTE",
    "COM_STMT_CLOSE",
    "COM_PING",
    "COM_QUIT",
]


def read(talk: Talk) -> Wire:
    return decode(memoryview(talk.capture()), frozenset(), [])


def only(talk: Talk) -> WireCommand:
    """The command after the handshake."""
    _, command = read(talk).commands
    return command


# --- real servers ---


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("mysqld-5.7.22-commands.pcap", "5.7.22"),
        ("mysqld-5.7.22-commands.pcapng", "5.7.22"),
        ("mysqld-5.7.22-compressed.pcap", "5.7.22"),
        ("mysqld-8.0.31-commands.pcap", "8.0.31"),
    ],
)
def test_a_real_session_is_read_command_by_command(name: str, version: str) -> None:
    wire = read_capture(DATA / name)
    (session,) = wire.sessions
    assert (session.version, session.unreadable) == (version, "")
    assert [c.command for c in session.commands] == COMMANDS
    assert [c.number for c in session.commands] == list(range(22))
    inserts = session.commands[9:12]
    assert [(c.status, c.rows, c.response_bytes) for c in inserts] == [("OK", 2, 50)] * 3
    assert len({c.statement for c in session.commands[8:13]}) == 1
    select, mistake = session.commands[13:15]
    assert (select.status, select.rows, select.response_bytes) == ("OK", 6, 1033)
    assert (mistake.status, mistake.sql) == ("ERR 1054", "SELECT nothing FROM t")
    slow = session.commands[18]
    assert slow.rows == 2
    assert 100 < (slow.wait_ms or 0) < 150, "it sleeps 50 ms for each of two rows"
    assert session.notes == (
        ("it is compressed (zlib); bytes are those before compression",)
        if "compressed" in name
        else ()
    )


def test_the_same_packets_in_pcapng_give_the_same_rows() -> None:
    classic = read_capture(DATA / "mysqld-5.7.22-commands.pcap")
    assert read_capture(DATA / "mysqld-5.7.22-commands.pcapng").commands == classic.commands


def test_a_real_session_with_tls_is_named() -> None:
    (session,) = read_capture(DATA / "mysqld-5.7.29-tls.pcap").sessions
    assert session.unreadable == "it is encrypted (TLS)"
    assert (session.version, session.commands) == ("5.7.29", ())


def test_a_real_capture_from_the_middle_of_a_connection() -> None:
    (session,) = read_capture(DATA / "mysqld-5.7.22-middle.pcap", frozenset([60431])).sessions
    assert [(c.command, c.rows) for c in session.commands] == [
        ("COM_PING", 0),
        ("COM_QUERY", 1),
        ("COM_QUERY", 5),
        ("COM_PING", 0),
        ("COM_STMT_PREPARE", None),
        ("COM_STMT_RESET", 0),
        ("COM_STMT_EXECUTE", 1),
    ]
    assert all(c.status == "OK" for c in session.commands)
    assert "before the capture" in session.notes[0]


# --- what is rare ---


@pytest.mark.parametrize("size", [0xFFFFFF - 1, 0xFFFFFF + 77])
def test_requests_and_rows_over_16_mb_are_put_together(size: int) -> None:
    talk = Talk(mss=60000).logged_in()
    text = b"\x03" + b"S" * size
    kind = b"\xfe" if size >= 0xFFFFFF else b"\xfd"  # an end begins so too, and is short
    parts = 1 + (size + 1) // 0xFFFFFF
    answers = [b"\x01", b"column", EOF, kind + b"r" * (size - 1), EOF]
    talk.says(True, packet(0, text))
    sequence, replies = parts, b""
    for answer in answers:
        replies += packet(sequence, answer)
        sequence += 1 + len(answer) // 0xFFFFFF
    command = only(talk.says(False, replies, 0.3))
    assert (command.status, command.rows) == ("OK", 1)
    assert command.request_bytes == 1 + size + 4 * parts
    assert command.response_bytes == len(replies)


def test_a_newer_client_gets_ok_in_place_of_eof() -> None:
    end = b"\xfe\0\0\x02\0\0\0"
    talk = Talk().logged_in(DEPRECATE_EOF)
    talk.asks(query("SELECT 1"), b"\x02", b"a", b"b", b"\x011\x012", b"\x013\x014", end)
    talk.asks(b"\x16SELECT ?", b"\0\x09\0\0\0\x01\0\x01\0\0\0\0", b"parameter", b"column")
    talk.asks(b"\x0e", OK)
    found = read(talk).commands[1:]
    assert [(c.command, c.status, c.rows, c.statement) for c in found] == [
        ("COM_QUERY", "OK", 2, None),
        ("COM_STMT_PREPARE", "OK", None, 9),
        ("COM_PING", "OK", 0, None),
    ]


def test_several_results_are_one_response() -> None:
    more = b"\0\x03\0\x0a\0\0\0"
    rows = [b"\x01", b"c", EOF, b"\x011", b"\xfe\0\0\x0a\0"]
    command = only(Talk().logged_in().asks(query("CALL p()"), more, *rows, OK))
    assert (command.status, command.rows) == ("OK", 4)


def test_a_file_of_the_client_s_belongs_to_the_request() -> None:
    talk = Talk().logged_in().asks(query("LOAD DATA LOCAL INFILE 'x'"), b"\xfbx")
    talk.says(True, packet(2, b"f" * 5000) + packet(3, b"")).says(False, packet(4, OK))
    command = only(talk)
    assert command.status == "OK"
    assert command.request_bytes == 4 + 27 + 5004 + 4


def test_commands_may_be_sent_before_the_answer_to_the_one_before() -> None:
    talk = Talk().logged_in().says(True, packet(0, query("SELECT 1")) + packet(0, b"\x0e"))
    rows = (b"\x01", b"c", EOF, b"\x011", EOF)
    talk.says(False, b"".join(packet(1 + n, row) for n, row in enumerate(rows)) + packet(1, OK))
    assert [(c.command, c.status) for c in read(talk).commands[1:]] == [
        ("COM_QUERY", "OK"),
        ("COM_PING", "OK"),
    ]


def test_long_data_and_fetches_belong_to_their_statement() -> None:
    talk = Talk().logged_in()
    talk.asks(b"\x18\x05\0\0\0\0\0" + b"x" * 3000)
    talk.asks(b"\x1c\x05\0\0\0\x02\0\0\0", b"\0\0\x01", b"\0\0\x02", EOF)
    found = read(talk).commands[1:]
    assert [(c.command, c.statement, c.rows) for c in found] == [
        ("COM_STMT_SEND_LONG_DATA", 5, None),
        ("COM_STMT_FETCH", 5, 2),
    ]


@pytest.mark.parametrize(
    ("capabilities", "reason"),
    [(ZSTD, "it is compressed with zstd"), (SSL, "it is encrypted (TLS)")],
)
def test_sessions_that_cannot_be_read_say_why(capabilities: int, reason: str) -> None:
    talk = Talk().opened().says(False, packet(0, greeting()))
    hello = login(capabilities)[:32] if capabilities == SSL else login(capabilities)
    talk.says(True, packet(1, hello)).says(False, packet(2, OK)).says(True, b"\x16\x03\1" * 9)
    assert read(talk).sessions[0].unreadable == reason


def test_a_damaged_compressed_stream_is_unreadable_from_there() -> None:
    talk = Talk().logged_in(COMPRESS)
    talk.says(True, b"\x05\0\0\0\0\0\0" + packet(0, b"\x0e"))
    talk.says(False, b"\x0b\0\0\1\0\0\0" + packet(1, OK))
    talk.says(True, b"\x05\0\0\0\xff\xff\0" + b"zzzzz")
    (session,) = read(talk).sessions
    assert [c.command for c in session.commands] == ["handshake", "COM_PING"]
    assert "not zlib" in session.unreadable


def test_a_refused_client_is_told_from_a_session() -> None:
    refusal = b"\xff\x10\x04Too many connections"
    (command,) = read(Talk().opened().says(False, packet(0, refusal))).commands
    assert (command.command, command.status) == ("handshake", "ERR 1040")


def test_what_may_hold_a_password_is_not_shown() -> None:
    command = only(Talk().logged_in().asks(query("SET PASSWORD = 'hunter2'"), OK))
    assert "hunter2" not in command.model_dump_json()
    assert command.sql.startswith("SET ")


def test_no_row_is_made_of_a_response_that_is_out_of_sequence() -> None:
    talk = Talk().logged_in().says(True, packet(0, query("SELECT 1"))).says(False, packet(7, OK))
    command = only(talk)
    assert (command.status, command.rows) == ("unknown", None)
    assert "sequence" in command.note


# --- what it comes to ---


def test_phases_sum_to_the_time_of_the_statement_s_commands() -> None:
    statement = statement_commands(read(plain_talk()).commands)
    assert [c.command for c in statement] == ["COM_STMT_PREPARE", "COM_STMT_EXECUTE"]
    found = phases(statement)
    assert sum(phase.ms for phase in found) == pytest.approx(sum(c.total_ms for c in statement))
    assert sum(phase.share for phase in found) == pytest.approx(1)
    share = wait_share(statement, "COM_STMT_EXECUTE")
    assert share == pytest.approx(500 / sum(c.total_ms for c in statement), abs=0.002)
    assert wait_share(statement, "COM_STMT_FETCH") is None


def test_without_server_side_prepare_the_largest_query_is_the_statement() -> None:
    talk = Talk().logged_in().asks(query("SET NAMES x"), OK)
    talk.asks(query("INSERT " + "x" * 300), OK).asks(query("COMMIT"), OK)
    (command,) = statement_commands(read(talk).commands)
    assert command.sql.startswith("INSERT")


def test_the_summary_counts_and_adds_up() -> None:
    talk = Talk().logged_in()
    for wait in (0.010, 0.020, 0.090):
        talk.asks(b"\x0e", OK, wait=wait)
    talk.asks(query("wrong"), b"\xff\x28\x04#42000no")
    ping = next(row for row in by_command(read(talk).commands) if row.command == "COM_PING")
    assert (ping.count, ping.errors, ping.request_bytes, ping.response_bytes) == (3, 0, 15, 33)
    assert ping.median_ms == pytest.approx(20.1, abs=0.01)
    assert ping.max_ms == pytest.approx(90.1, abs=0.01)
    query_row = next(row for row in by_command(read(talk).commands) if row.command == "COM_QUERY")
    assert (query_row.count, query_row.errors) == (1, 1)
