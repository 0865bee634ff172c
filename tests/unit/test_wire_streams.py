"""Captures in all layouts, with all damages that TCP and tcpdump make: the same rows, or a name."""

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_factory import CLIENT, LAYOUTS, PLAIN, Piece, Talk, packet, plain_talk, query

from mysqlprof.formats.pcap import NotACapture
from mysqlprof.wire.decode import decode
from mysqlprof.wire.model import Wire


def read(data: bytes, *ports: int) -> Wire:
    return decode(memoryview(data), frozenset(ports), [])


def rows(wire: Wire) -> list[tuple[str, str, int | None]]:
    return [(c.command, c.status, c.rows) for c in wire.commands]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_rows(layout: str) -> None:
    wire = read(plain_talk().capture(layout=layout))
    assert rows(wire) == PLAIN
    assert wire.problems == ()
    assert wire.sessions[0].rtt_ms == pytest.approx(1.0, abs=0.01)


def test_times_are_those_of_the_bytes() -> None:
    talk = Talk(mss=100).logged_in()
    begin = talk.at + 0.001
    talk.asks(query("x" * 295), b"\x01", b"c" * 100, wait=0.25)
    command = read(talk.capture(nano=True)).commands[1]
    assert command.started_s == pytest.approx(begin - 100.0, abs=1e-5)
    assert command.sent_ms == pytest.approx(0.2, abs=1e-3), "three segments, 0.1 ms apart"
    assert command.wait_ms == pytest.approx(250.1, abs=1e-3)
    assert command.fetch_ms == pytest.approx(0.1, abs=1e-3)
    assert (command.request_bytes, command.response_bytes) == (300, 109)


def test_sequence_numbers_may_pass_their_end() -> None:
    assert rows(read(plain_talk(first=(2**32 - 3000, 2**32 - 60)).capture())) == PLAIN


def test_a_port_that_is_used_again_is_another_connection() -> None:
    first = plain_talk()
    second = plain_talk(first=(77, 88), at=first.at + 1)
    wire = read(first.capture() + second.capture()[24:])
    assert len(wire.sessions) == 2
    assert rows(wire) == PLAIN * 2


def test_connections_may_be_interleaved() -> None:
    one, other = plain_talk(), plain_talk(client=(CLIENT[0], 42000))
    both = [(p, CLIENT) for p in one.pieces] + [(p, other.client) for p in other.pieces]
    both.sort(key=lambda pair: pair[0].at)
    parts = [Talk(client=c, pieces=[p]).capture() for p, c in both]
    wire = read(parts[0] + b"".join(part[24:] for part in parts[1:]))
    assert [rows(replace(wire, sessions=(s,))) for s in wire.sessions] == [PLAIN, PLAIN]


# --- what TCP does ---


def test_retransmissions_and_overlaps_change_nothing_but_their_count() -> None:
    talk = plain_talk()
    pieces = []
    for piece in talk.pieces:
        pieces.append(piece)
        if len(piece.payload) > 40:
            again = Piece(piece.at + 5e-5, piece.of_client, piece.sequence + 20, piece.payload[20:])
            pieces += [replace(piece, at=piece.at + 5e-5), again]
    wire = read(replace(talk, pieces=pieces).capture())
    assert rows(wire) == PLAIN
    plain = read(talk.capture())
    assert [c.last_ms for c in wire.commands] == [c.last_ms for c in plain.commands]
    assert wire.sessions[0].retransmitted == len(pieces) - len(talk.pieces)


def test_a_segment_that_comes_again_with_more_keeps_the_times_of_what_was_there() -> None:
    talk = Talk().logged_in()
    request = packet(0, query("x" * 195))
    start = talk.pieces[-1].at
    sent = sum(len(p.payload) for p in talk.pieces if p.of_client) + 1001
    for at, begin, end in ((0.1, 0, 100), (0.2, 100, 200), (0.9, 0, 200)):
        talk.pieces.append(Piece(start + at, True, sent + begin, request[begin:end]))
    assert read(talk.capture()).commands[1].sent_ms == pytest.approx(100, abs=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_disorder_within_a_turn_gives_the_same_rows(seed: int) -> None:
    chance = random.Random(seed)
    talk = plain_talk()
    pieces = list(talk.pieces)
    for at in range(3, len(pieces) - 1):
        one, other = pieces[at], pieces[at + 1]
        if one.of_client == other.of_client and chance.random() < 0.5:
            pieces[at], pieces[at + 1] = replace(other, at=one.at), replace(one, at=other.at)
    wire = read(replace(talk, pieces=pieces).capture())
    assert rows(wire) == PLAIN
    assert wire.sessions[0].notes == ()


# --- what is not there ---


def test_a_gap_within_a_request_is_counted_and_named() -> None:
    talk = plain_talk()
    large = [p for p in talk.pieces if len(p.payload) == 1448]
    wire = read(replace(talk, pieces=[p for p in talk.pieces if p is not large[3]]).capture())
    assert rows(wire) == PLAIN, "its length is in the header, which is there"
    assert "missing" in " ".join(wire.sessions[0].notes)


def test_after_a_lost_header_the_next_command_is_read_again() -> None:
    talk = plain_talk()
    lost = next(p for p in talk.pieces if p.payload[4:].startswith(b"\x03INSERT"))
    wire = read(replace(talk, pieces=[p for p in talk.pieces if p is not lost]).capture())
    assert rows(wire) == [*PLAIN[:2], *PLAIN[3:]], "the row whose header is gone is no row"
    assert "missing" in " ".join(wire.sessions[0].notes)


def test_a_response_that_is_not_there_is_unknown_not_ok() -> None:
    talk = plain_talk()
    lost = next(p for p in talk.pieces if b"column" in p.payload)
    wire = read(replace(talk, pieces=[p for p in talk.pieces if p is not lost]).capture())
    found = rows(wire)
    assert found[1] == ("COM_QUERY", "no response", None)
    assert found[2:] == PLAIN[2:]
    assert wire.commands[1].note


def test_a_snap_length_that_cuts_payloads_keeps_what_its_headers_tell() -> None:
    server = (b"\x0a\0\0\x02", 13306)  # told by its greeting, which is cut as well
    wire = read(plain_talk(mss=30000, server=server).capture(snap=120))
    assert rows(wire) == PLAIN
    assert [c.request_bytes for c in wire.commands][2] == 20000 + 30


def test_one_direction_alone_gives_commands_without_responses() -> None:
    talk = plain_talk()
    pieces = [p for p in talk.pieces if p.of_client][2:]
    wire = read(replace(talk, pieces=pieces).capture())
    assert {c.status for c in wire.commands} == {"no response", "none expected"}
    assert all(c.first_ms is None for c in wire.commands)


def test_a_file_that_ends_early_gives_what_came_before() -> None:
    data = plain_talk().capture()
    wire = read(data[:-10])
    assert rows(wire) == PLAIN[:-1]
    assert "ends within packet" in wire.problems[0]


def test_fragments_and_unknown_links_are_named() -> None:
    data = bytearray(plain_talk().capture())
    data[20:24] = b"\x93\0\0\0"
    assert "link type 147" in read(bytes(data)).problems[0]
    fragment = bytearray(plain_talk().capture())
    fragment[24 + 16 + 14 + 6] = 0x20
    assert "fragments" in read(bytes(fragment)).problems[0]


# --- anything at all ---


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32), st.sampled_from(["ethernet", "raw", "null, ipv6"]))
def test_damaged_captures_never_break_the_reader(seed: int, layout: str) -> None:
    chance = random.Random(seed)
    data = bytearray(plain_talk(mss=chance.choice([400, 1448])).capture(layout=layout))
    for _ in range(chance.randrange(1, 30)):
        at = chance.randrange(24, len(data))
        data[at] = chance.randrange(256)
    if chance.random() < 0.3:
        del data[chance.randrange(24, len(data)) :]
    for command in read(bytes(data), 3306).commands:
        assert command.command == "handshake" or command.request_bytes > 4


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=200)), max_size=12), st.booleans())
def test_any_bytes_in_both_directions_never_break_the_reader(
    said: list[tuple[bool, bytes]], logged_in: bool
) -> None:
    talk = Talk().logged_in() if logged_in else Talk()
    for of_client, data in said:
        talk.says(of_client, data)
    read(talk.capture())


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b"\x0a\x0d\x0d\x0a", b"\xd4\xc3\xb2\xa1"]))
def test_any_file_is_read_or_refused(data: bytes, magic: bytes) -> None:
    try:
        read(magic + data)
    except NotACapture:
        assert not (magic == b"\xd4\xc3\xb2\xa1" and len(data) >= 20)
