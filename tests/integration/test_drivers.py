"""Every driver, prepared on each side, on a real server of either kind: what arrives is exact."""

import shutil
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest

from mysqlprof.drivers.base import Driver, DriverFailed
from mysqlprof.drivers.registry import open_driver
from mysqlprof.model import Endpoint, LaunchSpec
from mysqlprof.servers.admin import Admin
from mysqlprof.servers.local import LocalBackend
from mysqlprof.workload_spec import PreparedInsertSpec
from mysqlprof.workloads.prepared_insert import make
from mysqlprof.workloads.tasks import DATABASE, Statement

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the servers"),
]
WORKLOAD = make(
    PreparedInsertSpec(kind="prepared-insert", rows=20, columns=24, value_bytes=40), 1, 64 * 2**20
)
COMMANDS = ("Com_stmt_prepare", "Com_stmt_reprepare", "Com_stmt_execute", "Com_insert")


def driver_named(text: str, program: str) -> object:
    missing = shutil.which(program) is None
    return pytest.param(text, marks=pytest.mark.skipif(missing, reason=f"needs {program}"))


DRIVERS = [
    driver_named("connector-j:5.1.49", "javac"),
    driver_named("connector-j:8.0.33", "javac"),
    driver_named("connector-j:8.3.0", "javac"),
    "python",
    driver_named("go", "go"),
    driver_named("node", "npm"),
]


@pytest.fixture(scope="module", params=["5.7.22", "8.0.31"])
def server(request) -> Iterator[tuple[Endpoint, Admin]]:
    spec = LaunchSpec(role="before", requested=request.param)
    with LocalBackend("drivers").launch(spec, "before") as launched:
        admin = Admin(launched.endpoint)
        for sql in WORKLOAD.setup:
            admin.query(sql)
        yield launched.endpoint, admin
        admin.close()


@pytest.fixture(params=DRIVERS)
def driver(request, own_directories) -> Iterator[Driver]:
    processes = {child.pid for child in psutil.Process().children(recursive=True)}
    directories = own_directories()
    with open_driver(request.param) as opened:
        yield opened
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= processes
    assert own_directories() == directories


def empty(admin: Admin) -> None:
    for sql in WORKLOAD.reset:
        admin.query(sql)


def since(start: dict[str, int], admin: Admin) -> dict[str, int]:
    return {name: value - start[name] for name, value in admin.status(COMMANDS).items()}


@pytest.mark.parametrize("server_prepare", [True, False])
def test_each_execute_is_one_of_its_kind_and_every_value_arrives(server, driver, server_prepare):
    endpoint, admin = server
    empty(admin)
    options = {"server_prepare": server_prepare}
    start = admin.status(COMMANDS)
    with driver.session(endpoint, WORKLOAD.statement, options) as session:
        prepared = since(start, admin)
        executions = [session.execute()]
        executed = since(start, admin)
        arrival = WORKLOAD.arrival
        assert arrival.failure(admin.query(arrival.query)[0]) == ""
        executions.append(session.execute())
    once = int(server_prepare)
    assert (prepared["Com_stmt_prepare"], prepared["Com_stmt_execute"]) == (once, 0)
    assert (executed["Com_stmt_execute"], executed["Com_insert"]) == (once, 1)
    # From 8.0.22 on the server prepares again when values have other types than it derived.
    assert executed["Com_stmt_prepare"] == once + executed["Com_stmt_reprepare"]
    assert all(execution.elapsed_ms > 0 for execution in executions)
    assert [execution.affected_rows for execution in executions] == [20, 20]
    if server_prepare:
        assert session.prepare_ms > 0


@pytest.mark.parametrize("server_prepare", [True, False])
def test_a_refused_statement_is_reported_and_the_driver_goes_on(server, driver, server_prepare):
    endpoint, admin = server
    bad = Statement("INSERT INTO no_such_table VALUES (?)", ("long",), ((1,),))
    options = {"server_prepare": server_prepare}
    with (
        pytest.raises(DriverFailed, match="no_such_table"),
        driver.session(endpoint, bad, options) as session,
    ):
        session.execute()
    empty(admin)
    with driver.session(endpoint, WORKLOAD.statement, options) as session:
        assert session.execute().affected_rows == 20


@pytest.mark.parametrize("server_prepare", [True, False])
def test_a_lost_connection_is_reported_not_mended_and_the_driver_goes_on(
    server, driver, server_prepare
):
    endpoint, admin = server
    options = {"server_prepare": server_prepare}
    with driver.session(endpoint, WORKLOAD.statement, options) as session:
        session.execute()
        connections = admin.query(
            "SELECT id FROM information_schema.processlist WHERE db = %s", (DATABASE,)
        )
        for (identity,) in connections:
            admin.query(f"KILL {identity}")
        with pytest.raises(DriverFailed):
            session.execute()
    with driver.session(endpoint, WORKLOAD.statement, options) as session:
        assert session.execute().affected_rows == 20


def test_a_server_that_is_not_there_is_reported(server, driver):
    nobody = replace(server[0], port=1)
    with (
        pytest.raises(DriverFailed),
        driver.session(nobody, WORKLOAD.statement, {"server_prepare": True}),
    ):
        pass


def test_it_says_what_it_is(server, driver):
    with driver.session(server[0], WORKLOAD.statement, {"server_prepare": False}):
        pass
    described = driver.describe()
    assert described["version"] in described.get("product", described["version"])
    assert described["runtime"]
