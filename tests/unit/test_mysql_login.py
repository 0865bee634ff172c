"""The login, against a server of a few bytes; the real ones are in the integration tests."""

import socket
import struct
from collections.abc import Callable
from threading import Thread

import pytest

from mysqlprof.topologies.login import Channel, Greeting, LoginFailed, _proof, log_in

# The first packet of a real MySQL 8.0.31 (nonce shortened to printable bytes).
GREETING = (
    b"\x0a8.0.31\0" + struct.pack("<I", 42) + b"abcdefgh\0" + struct.pack("<H", 0xFFFF)
    + b"\xff" + struct.pack("<H", 2) + struct.pack("<H", 0xDFFF) + bytes([21]) + bytes(10)
    + b"ijklmnopqrst\0" + b"caching_sha2_password\0"
)  # fmt: skip
NONCE = b"abcdefghijklmnopqrst"
OK = b"\x00\x00\x00\x02\x00\x00\x00"


def test_a_greeting_is_read_whole():
    greeting = Greeting.parse(GREETING)
    assert (greeting.version, greeting.connection_id) == ("8.0.31", 42)
    assert greeting.plugin == "caching_sha2_password"
    assert greeting.nonce[:20] == NONCE
    assert greeting.capabilities == 0xDFFFFFFF


def test_a_host_that_is_blocked_is_told_so_in_the_first_packet():
    with pytest.raises(LoginFailed, match="1129: Host is blocked") as failed:
        Greeting.parse(b"\xff\x69\x04Host is blocked")
    assert failed.value.refused


@pytest.mark.parametrize("packet", [b"", b"HTTP/1.1 400", b"\x0a5"])
def test_what_is_no_mysql_is_not_taken_for_one(packet):
    with pytest.raises(LoginFailed):
        Greeting.parse(packet)


def test_proofs_are_those_of_mysqls_own_clients():
    # From PyMySQL 1.1: _auth.scramble_native_password and scramble_caching_sha2.
    from pymysql import _auth

    native = _auth.scramble_native_password(b"secret", NONCE)
    assert _proof("mysql_native_password", "secret", NONCE) == native
    sha2 = _auth.scramble_caching_sha2(b"secret", NONCE)
    assert _proof("caching_sha2_password", "secret", NONCE) == sha2
    assert _proof("caching_sha2_password", "", NONCE) == b""


def served(script: Callable[[Channel], None], password: str = "secret"):
    """log_in() against a thread that greets, reads the response and then follows `script`."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with theirs:
            channel = Channel(theirs)
            channel.write(GREETING)
            channel.read()
            script(channel)

    thread = Thread(target=serve)
    thread.start()
    try:
        with ours:
            return log_in(ours, "somebody", password)
    finally:
        thread.join()


def test_the_fast_way_of_caching_sha2_needs_no_password():
    def script(channel: Channel) -> None:
        channel.write(b"\x01\x03")
        channel.write(OK)

    login = served(script)
    assert (login.plugin, login.connection_id, login.tls) == ("caching_sha2_password", 42, None)
    assert login.steps.greeting > 0
    assert login.steps.tls == 0


def test_the_full_way_says_the_password_on_a_private_connection_only():
    heard = []

    def script(channel: Channel) -> None:
        channel.write(b"\x01\x04")
        heard.append(channel.read())
        channel.write(OK)

    served(script)  # a socket of this machine
    assert heard == [b"secret\0"]


def test_a_switch_of_the_plugin_is_followed():
    answers = []

    def script(channel: Channel) -> None:
        channel.write(b"\xfemysql_native_password\0" + NONCE[::-1] + b"\0")
        answers.append(channel.read())
        channel.write(OK)

    assert served(script).plugin == "mysql_native_password"
    assert answers == [_proof("mysql_native_password", "secret", NONCE[::-1])]


def test_a_refusal_carries_the_servers_words():
    with pytest.raises(LoginFailed, match=r"^1045: Access denied$") as failed:
        served(lambda channel: channel.write(b"\xff\x15\x04#28000Access denied"))
    assert failed.value.refused


def test_a_server_that_hangs_up_is_no_refusal():
    with pytest.raises(LoginFailed, match="hung up") as failed:
        served(lambda channel: None)
    assert not failed.value.refused


def test_a_plugin_that_is_not_known_is_named():
    with pytest.raises(LoginFailed, match="sha256_password"):
        served(lambda channel: channel.write(b"\xfesha256_password\0" + NONCE + b"\0"))
