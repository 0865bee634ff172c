"""sysbench on real servers: the counts are exact, and every server gets the same rows."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from mysqlprof.drivers.base import DriverFailed
from mysqlprof.drivers.sysbench import SysbenchDriver
from mysqlprof.model import Endpoint, LaunchSpec
from mysqlprof.servers.admin import Admin
from mysqlprof.servers.local import LocalBackend
from mysqlprof.workload_spec import SysbenchSpec
from mysqlprof.workloads import make

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the servers"),
    pytest.mark.skipif(shutil.which("sysbench") is None, reason="needs sysbench"),
]
WORK = make(
    SysbenchSpec(
        kind="sysbench", test="oltp_read_write", tables=2, table_rows=300, threads=2, events=40
    ),
    7,
    2**26,
)
DATA = "SELECT SUM(CRC32(CONCAT_WS('|', id, k, c, pad))) FROM mysqlprof."


@pytest.fixture(scope="module", params=["5.7.22", "8.0.31"])
def server(request) -> Iterator[tuple[str, Endpoint, Admin]]:
    spec = LaunchSpec(role="before", requested=request.param)
    with LocalBackend("sysbench").launch(spec, "before") as launched:
        admin = Admin(launched.endpoint)
        for sql in WORK.setup:
            admin.query(sql)
        yield request.param, launched.endpoint, admin
        admin.close()


@pytest.fixture
def driver(own_directories) -> Iterator[SysbenchDriver]:
    processes = {child.pid for child in psutil.Process().children(recursive=True)}
    directories = own_directories()
    with SysbenchDriver() as opened:
        yield opened
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= processes
    assert own_directories() == directories


def test_transactions_are_counted_alike_by_sysbench_and_by_the_server(server, driver):
    version, endpoint, admin = server
    sums = [int(admin.query(f"{DATA}sbtest{number}")[0][0]) for number in (1, 2)]
    # The same on both servers: the seed alone makes the rows.
    assert sums == [662339056549, 620438474331], version
    for number, server_prepare in ((1, True), (2, False)):
        options = {"server_prepare": server_prepare}
        before = admin.status(WORK.counters)
        with driver.session(endpoint, WORK.task(number), options) as session:
            done = session.execute()
        status = {k: v - before[k] for k, v in admin.status(WORK.counters).items()}
        assert WORK.disagreement(options, status, done.metrics) == ""
        assert (status["Com_commit"], done.metrics["transactions"]) == (40, 40)
        assert WORK.arrival.failure(admin.query(WORK.arrival.query)[0]) == ""
        assert done.elapsed_ms > 0
        assert session.prepare_ms == 0


def test_what_the_server_refuses_is_reported_in_its_words(server, driver):
    _, endpoint, _ = server
    nowhere = Endpoint(endpoint.host, 1, endpoint.user, endpoint.password)
    with (
        pytest.raises(DriverFailed, match="error 2002"),
        driver.session(nowhere, WORK.task(0), {}) as session,
    ):
        session.execute()


def test_a_scenario_without_claims_ends_as_measured(tmp_path):
    done = subprocess.run(
        [
            sys.executable, "-m", "mysqlprof", "reproduce", "oltp_point_select",
            "--backend", "local", "--before", "5.7.22", "--after", "8.0.31",
            "--events", "500", "--threads", "3", "--trials", "3", "--no-profile",
            "--out", str(tmp_path / "run"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["verdict"] == "measured"
    assert (run["workload"]["unit"], run["workload"]["units_per_trial"]) == ("transaction", 500)
    assert run["driver"]["name"] == "sysbench"
    for cell in run["cells"]:
        assert cell["metrics"]["transactions"] == 500
        assert cell["metrics"]["latency_p95_ms"] > 0
    report = (tmp_path / "run" / "report.html").read_text()
    assert "sysbench oltp_point_select, 500 transactions a trial by 3 threads" in report
