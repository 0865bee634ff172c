"""`mysqlprof wire`: what it prints, and what it says to files that are none."""

import csv
import gzip
import io
import json
import os
import re
import shutil

import pytest
from typer.testing import CliRunner
from wire_factory import Talk, plain_talk, query

from mysqlprof.cli import app
from mysqlprof.errors import MysqlprofError, PartialData, UsageError


def run(*arguments: object) -> tuple[MysqlprofError | None, str]:
    """The error that it ended with, and stdout."""
    done = CliRunner().invoke(app, ["wire", *map(str, arguments)])
    if done.exception is None:
        return None, done.stdout
    assert isinstance(done.exception, MysqlprofError), done.exception
    return done.exception, done.stdout


@pytest.fixture
def capture(tmp_path):
    path = tmp_path / "some.pcap"
    path.write_bytes(plain_talk().capture())
    return path


def test_the_answer_comes_first_then_the_commands(capture):
    error, out = run(capture)
    assert error is None
    assert out.index("COM_STMT_EXECUTE took 50") < out.index("median ms")
    assert "the server was working, not the network" in out
    (row,) = re.findall(r"^COM_STMT_EXECUTE +1 .*$", out, re.MULTILINE)
    assert row.split()[1:3] == ["1", "0"]


def test_json_has_every_command(capture):
    _, out = run(capture, "--json")
    data = json.loads(out)
    assert [c["command"] for c in data["commands"]][1:3] == ["COM_QUERY", "COM_QUERY"]
    assert sum(row["count"] for row in data["summary"]) == len(data["commands"]) == 7
    assert data["sessions"][0]["version"] == "5.7.22"


def test_csv_on_stdout_is_csv_and_nothing_else(capture):
    _, out = run(capture, "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 7
    assert rows[4]["command"] == "COM_STMT_EXECUTE"
    assert float(rows[4]["first_ms"]) - float(rows[4]["sent_ms"]) == pytest.approx(500.1, abs=0.1)


def test_a_gzipped_capture_is_read_the_same(capture, tmp_path):
    packed = tmp_path / "some.pcap.gz"
    packed.write_bytes(gzip.compress(capture.read_bytes()))
    assert run(packed, "--json") == run(capture, "--json")


def test_a_capture_cut_short_shows_what_it_has_and_ends_with_4(capture):
    capture.write_bytes(capture.read_bytes()[:-30])
    error, out = run(capture)
    assert isinstance(error, PartialData)
    assert "ends within packet" in error.message
    assert "COM_STMT_EXECUTE" in out


def test_a_gzip_file_cut_short_too(capture, tmp_path):
    packed = tmp_path / "some.pcap.gz"
    packed.write_bytes(gzip.compress(os.urandom(9) + capture.read_bytes())[:-900])
    assert isinstance(run(packed)[0], UsageError), "no capture begins with noise"
    packed.write_bytes(gzip.compress(capture.read_bytes(), 0)[:-900])
    error, _ = run(packed)
    assert isinstance(error, PartialData)
    assert "gzip" in error.message


@pytest.mark.parametrize("content", [b"", b"PNG", b"\0" * 400, b"\xd4\xc3\xb2\xa1"])
def test_a_foreign_file_is_refused(tmp_path, content):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    error, out = run(path)
    assert isinstance(error, UsageError)
    assert "not a capture" in error.message
    assert "tcpdump" in error.hint
    assert out == ""


def test_a_capture_without_mysql_names_the_ports_that_it_has(tmp_path):
    path = tmp_path / "web.pcap"
    talk = Talk(server=(b"\x0a\0\0\x02", 80)).opened().says(True, b"GET / HTTP/1.1\r\n\r\n")
    path.write_bytes(talk.says(False, b"HTTP/1.1 200 OK\r\n\r\n").capture())
    error, _ = run(path)
    assert isinstance(error, UsageError)
    assert "80" in error.message
    assert "--port" in error.hint


def test_a_server_on_another_port_is_found_by_its_greeting(tmp_path):
    path = tmp_path / "other.pcap"
    path.write_bytes(plain_talk(server=(b"\x0a\0\0\x02", 13306)).capture())
    assert run(path)[0] is None
    assert run(path, "--port", 13306)[0] is None
    assert isinstance(run(path, "--port", 3306)[0], UsageError)


def test_a_file_that_may_not_be_read_says_so(capture, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)  # root may read everything
    error, _ = run(capture)
    assert isinstance(error, UsageError)
    assert "Permission denied" in error.message
    assert "chown" in error.hint


def test_tls_alone_ends_with_4(tmp_path, request):
    path = request.path.parents[1] / "data" / "mysqld-5.7.29-tls.pcap"
    error, out = run(shutil.copy(path, tmp_path))
    assert isinstance(error, PartialData)
    assert "encrypted" in out


def test_a_statement_cannot_command_the_terminal(tmp_path):
    path = tmp_path / "hostile.pcap"
    talk = Talk().logged_in().asks(query("SELECT '\x1b[31m\u202e=1'"), b"\xff\x28\x04#42000no")
    path.write_bytes(talk.capture())
    _, out = run(path)
    assert "\x1b" not in out
    assert "\u202e" not in out
