"""The wire of a real execute: captured by tcpdump, read, counted exactly."""

import csv
import json
import shutil
import socket
import subprocess
import sys
import threading

import pymysql
import pytest

from mysqlprof.model import LaunchSpec
from mysqlprof.probes.wire import WireCapture
from mysqlprof.servers.local import LocalBackend
from mysqlprof.wire.decode import read_capture


def may_capture() -> bool:
    path = shutil.which("tcpdump")
    return path is not None and (
        subprocess.run([path, "-i", "lo", "-L"], capture_output=True, check=False).returncode == 0
    )


pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not may_capture(), reason="needs tcpdump and the permission to capture"),
]
ROWS, COLUMNS, VALUE_BYTES = 250, 24, 40


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("wire") / "run"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mysqlprof", "reproduce", "bug-73056", "--backend", "local"),
            *("--before", "5.7.22", "--rows", str(ROWS), "--value-bytes", str(VALUE_BYTES)),
            *("--columns", str(COLUMNS), "--trials", "1", "--quick"),
            *("--no-profile", "--evidence", "full", "--out", str(out)),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (4, 5), "without profiles some claims cannot be told"
    return out


def rows_of(run) -> dict[str, list[dict[str, str]]]:
    cells: dict[str, list[dict[str, str]]] = {}
    with (run / "wire.csv").open() as file:
        for row in csv.DictReader(file):
            cells.setdefault(row["cell"], []).append(row)
    return cells


def test_each_captured_execute_is_one_prepare_one_execute_one_close(run):
    cells = rows_of(run)
    assert "before_fixed_log-on_prepare-on" in cells
    assert "before_fixed_log-off_prepare-on" in cells
    for cell, rows in cells.items():
        assert "prepare-on" in cell
        assert len({row["connection"] for row in rows}) == 1, "the driver's alone"
        names = [row["command"] for row in rows]
        for name in ("COM_STMT_PREPARE", "COM_STMT_EXECUTE", "COM_STMT_CLOSE"):
            assert names.count(name) == 1
        prepare = rows[names.index("COM_STMT_PREPARE")]
        execute = rows[names.index("COM_STMT_EXECUTE")]
        assert prepare["statement"] == execute["statement"] != ""
        assert (execute["status"], execute["rows"]) == ("OK", str(ROWS))
        assert names[-1] == "COM_QUIT"
        assert float(execute["sent_ms"]) <= float(execute["first_ms"]) <= float(execute["last_ms"])


def test_the_request_holds_the_parameters_and_little_else(run):
    facts = json.loads((run / "run.json").read_text())["workload"]
    assert facts["parameters"] == ROWS * COLUMNS
    for rows in rows_of(run).values():
        (execute,) = (row for row in rows if row["command"] == "COM_STMT_EXECUTE")
        kinds = facts["parameters"] * 2  # two bytes each name the parameters' types
        assert int(execute["request_bytes"]) > kinds + ROWS * VALUE_BYTES


def test_captured_executes_are_no_timings_and_their_phase_is_a_claim(run):
    with (run / "trials.csv").open() as file:
        kinds = [row["kind"] for row in csv.DictReader(file)]
    assert kinds.count("probed") >= len(rows_of(run)) >= 2
    data = json.loads((run / "run.json").read_text())
    assert all(cell["trials"] == 1 for cell in data["cells"])
    (claim,) = (c for c in data["claims"] if c["id"] == "execute_is_the_slow_phase")
    assert claim["verdict"] == "holds"
    assert [c for c in data["caveats"] if c["kind"] == "wire"] == []
    assert "On the wire" in (run / "report.html").read_text()


def test_what_is_sent_last_before_the_stop_is_in_the_capture():
    """Kernel and tcpdump buffer; many connections, each with its first and last packet."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            for _ in range(200):
                connection, _ = server.accept()
                connection.sendall(b"x" * 100)
                connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        with WireCapture("127.0.0.1", port) as capture:
            for _ in range(200):
                with socket.create_connection(("127.0.0.1", port)) as client:
                    while client.recv(1000):
                        pass
            captured = capture.finish()
            wire = read_capture(captured.path, frozenset([port]))
        thread.join()
    assert captured.dropped == 0
    assert len(wire.sessions) == 200
    assert {session.received_bytes for session in wire.sessions} == {100}
    assert all(session.complete for session in wire.sessions)


def test_a_request_and_a_row_over_16_mb_from_a_real_server():
    from mysql.connector.connection import MySQLConnection

    with LocalBackend("test").launch(LaunchSpec(role="before", requested="5.7.22"), "x") as server:
        end = server.endpoint
        with WireCapture(end.host, end.port) as capture:
            connection = MySQLConnection(
                host=end.host, port=end.port, user=end.user, password=end.password,
                ssl_disabled=True,
            )  # fmt: skip
            cursor = connection.cursor()
            cursor.execute("SELECT REPEAT('q', 17000000), LENGTH('" + "z" * 17_000_000 + "')")
            cursor.fetchall()
            connection.disconnect()
            wire = read_capture(capture.finish().path, frozenset([end.port]))
    command = max(wire.commands, key=lambda c: c.request_bytes)
    assert (command.command, command.status, command.rows) == ("COM_QUERY", "OK", 1)
    assert command.request_bytes > 17_000_000 < command.response_bytes


@pytest.mark.skipif(shutil.which("sysbench") is None, reason="needs sysbench")
def test_commands_of_many_connections_are_as_many_as_the_server_counts():
    with LocalBackend("test").launch(LaunchSpec(role="before", requested="5.7.22"), "x") as server:
        end = server.endpoint
        admin = pymysql.connect(host=end.host, port=end.port, user=end.user, password=end.password)
        cursor = admin.cursor()
        cursor.execute("CREATE DATABASE sbtest")
        sysbench = [
            *("sysbench", "oltp_read_write", f"--mysql-host={end.host}", "--tables=1"),
            *(f"--mysql-port={end.port}", f"--mysql-user={end.user}", "--table-size=200"),
            *(f"--mysql-password={end.password}", "--threads=4", "--time=1"),
        ]
        subprocess.run([*sysbench, "prepare"], check=True, stdout=subprocess.DEVNULL)

        def counted() -> dict[str, int]:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Com\\_stmt\\_%'")
            return {name.upper(): int(value) for name, value in cursor.fetchall()}

        with WireCapture(end.host, end.port) as capture:
            before = counted()
            subprocess.run([*sysbench, "run"], check=True, stdout=subprocess.DEVNULL)
            after = counted()
            captured = capture.finish()
            wire = read_capture(captured.path, frozenset([end.port]))
        admin.close()
    assert captured.dropped == 0
    own = [command for s in wire.sessions if s.complete for command in s.commands]
    for name in ("COM_STMT_PREPARE", "COM_STMT_EXECUTE", "COM_STMT_CLOSE"):
        assert sum(c.command == name for c in own) == after[name] - before[name] > 0
    assert all(c.status in ("OK", "none expected") or c.status[:4] == "ERR " for c in own)
    assert all(c.note == "" for c in own)
