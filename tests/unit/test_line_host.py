"""A host process and the files that it reads, with a small script in the host's place."""

import stat
import sys
import time
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import psutil
import pytest

from mysqlprof.drivers.base import DriverFailed
from mysqlprof.drivers.hosted import HostedDriver, StatementFiles, built
from mysqlprof.drivers.line_host import LineHost, line_host
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.model import Endpoint
from mysqlprof.packages import require, run
from mysqlprof.workloads.tasks import Statement

FAKE = """
import os, sys, time
for line in sys.stdin:
    request, *fields = line.rstrip("\\n").split("\\t")
    if request == "PID":
        reply = ["OK", str(os.getpid())]
    elif request == "OPEN":
        user, password = open(fields[2]).read().splitlines()
        reply = ["OK", "fake", "1.0"] if password == "right" else ["ERR", "Denied", user]
    elif request == "PREPARE":
        reply = ["OK", "1500000"] if fields[3] == "server" else ["OK", "0"]
    elif request == "EXECUTE":
        reply = ["OK", "2500000", "7"]
    elif request == "DIE":
        sys.stderr.write("something\\nout of memory\\n")
        sys.exit(1)
    elif request == "SLEEP":
        time.sleep(60)
    elif request == "LINGER":
        print("OK", flush=True)
        sys.stdin.read()
        time.sleep(60)
    else:
        reply = ["OK", *fields]
    print("\\t".join(reply), flush=True)
"""
COMMAND = [sys.executable, "-c", FAKE]
STATEMENT = Statement(
    "INSERT INTO orders VALUES (?,?,?,?,?)",
    ("long", "text", "decimal", "datetime", "date"),
    ((1, "é x", Decimal("1.20"), datetime(2020, 1, 2, 0, 0), date(2020, 1, 2)),),
)
ENDPOINT = Endpoint(host="127.0.0.1", port=3306, user="somebody", password="right")


@pytest.fixture
def host() -> Iterator[LineHost]:
    with line_host(COMMAND) as opened:
        yield opened


def test_it_answers_with_the_fields_after_ok(host):
    assert host.ask("ECHO", "a", "", "b c") == ["a", "", "b c"]


def test_an_error_is_the_hosts_own_words_and_it_goes_on(tmp_path, host):
    login = tmp_path / "login"
    login.write_text("somebody\nwrong\n")
    with pytest.raises(DriverFailed, match=r"^Denied: somebody$"):
        host.ask("OPEN", "s1", "url", str(login))
    assert host.ask("ECHO", "a") == ["a"]


def test_a_host_that_dies_leaves_its_last_words(host):
    with pytest.raises(DriverFailed, match="has gone: out of memory"):
        host.ask("DIE")
    with pytest.raises(DriverFailed, match="has gone: out of memory"):
        host.ask("ECHO")


def test_a_host_that_does_not_answer_is_given_up():
    with line_host(COMMAND, reply_timeout_s=0.5) as host:
        with pytest.raises(DriverFailed, match=r"no answer from python.* within 0\.5 s"):
            host.ask("SLEEP")
        with pytest.raises(DriverFailed, match="has gone"):
            host.ask("ECHO", "a")


@pytest.mark.parametrize("request_", [("ECHO", "a"), ("LINGER",)])
def test_it_ends_with_its_context_even_if_it_would_rather_stay(monkeypatch, request_):
    monkeypatch.setattr("mysqlprof.drivers.line_host._END_TIMEOUT_S", 0.2)
    with line_host(COMMAND) as host:
        pid = int(host.ask("PID")[0])
        host.ask(*request_)
    assert not psutil.pid_exists(pid)


def test_it_ends_with_a_parent_that_is_killed(tmp_path):
    orchestrator = (
        "import sys, time\n"
        "from mysqlprof.drivers.line_host import line_host\n"
        "with line_host([sys.executable, '-c', 'import time; time.sleep(60)']) as host:\n"
        "    print(host._child.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with psutil.Popen([sys.executable, "-c", orchestrator], stdout=-1, text=True) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 5
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_values_are_written_as_they_must_arrive(tmp_path):
    sql, values = StatementFiles(tmp_path).of(STATEMENT)
    assert Path(sql).read_text() == STATEMENT.sql
    assert Path(values).read_text() == (
        "long\ttext\tdecimal\tdatetime\tdate\n1\té x\t1.20\t2020-01-02 00:00:00\t2020-01-02\n"
    )


def test_the_login_is_its_owners_alone_and_is_that_of_the_server_asked_for(tmp_path):
    files = StatementFiles(tmp_path)
    path = Path(files.login(ENDPOINT))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == "somebody\nright\n"
    other = Endpoint(host="127.0.0.1", port=3306, user="somebody", password="a:b =c")
    assert Path(files.login(other)).read_text() == "somebody\na:b =c\n"


class Fake(HostedDriver):
    name = "fake"
    version = "1"

    def command(self) -> list[str]:
        return COMMAND

    def runtime_version(self) -> str:
        return "Python"

    def url(self, endpoint, options) -> str:
        return "fake:"


@pytest.fixture
def nothing_left(own_directories) -> Iterator[None]:
    before = own_directories()
    yield
    assert own_directories() == before


@pytest.mark.parametrize(("server_prepare", "prepare_ms"), [(True, 1.5), (False, 0.0)])
def test_a_session_is_opened_prepared_and_executed(nothing_left, server_prepare, prepare_ms):
    options = {"server_prepare": server_prepare}
    with Fake() as driver, driver.session(ENDPOINT, STATEMENT, options) as session:
        assert session.prepare_ms == prepare_ms
        execution = session.execute()
        assert (execution.elapsed_ms, execution.affected_rows) == (2.5, 7)
        assert driver.describe()["product"] == "fake 1.0"


def test_a_host_that_cannot_be_started_leaves_nothing(nothing_left, monkeypatch):
    monkeypatch.setattr(Fake, "command", lambda self: ["/nonexistent/program"])
    with pytest.raises(FileNotFoundError), Fake():
        pass


def test_a_host_is_built_once_for_each_version_of_its_builder(private_cache):
    seen = []

    def build(folder: Path) -> None:
        seen.append({path.name for path in folder.iterdir()})
        (folder / "made").touch()

    first = built("go", "go 1", build)
    assert built("go", "go 1", build) == first
    assert built("go", "go 2", build) != first
    assert seen == [{"main.go", "go.mod", "go.sum"}] * 2
    assert (first / "made").exists()


def test_a_build_that_fails_says_why_and_is_tried_again(private_cache, tmp_path):
    def build(folder: Path) -> None:
        run(["sh", "-c", "echo one; echo two: error >&2; exit 1"], folder, "it failed", hint="do")

    for _ in range(2):
        with pytest.raises(EnvironmentLacks, match=r"^it failed: two: error$") as caught:
            built("go", "go 1", build)
        assert caught.value.hint == "do"
    assert not [path for path in (private_cache / "drivers").iterdir() if path.is_dir()]


def test_a_program_that_is_not_there_is_named_with_its_package(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EnvironmentLacks, match=r"^go is not installed$") as caught:
        require("go", "sudo apt-get install -y golang-go")
    assert "golang-go" in caught.value.hint
