"""Exact counts inside real servers: as many replaces as parameters, and the wall time closed."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mysqlprof import doctor, host, scenario
from mysqlprof.counted_types import CountedFunction, CountersPlan
from mysqlprof.counters import Counters
from mysqlprof.counting import count_cell
from mysqlprof.drivers.base import Driver
from mysqlprof.drivers.registry import open_driver
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.model import LaunchSpec, TrialResult, TrialSpec
from mysqlprof.probes import bcc
from mysqlprof.servers.admin import Admin
from mysqlprof.servers.base import Server
from mysqlprof.servers.docker import DockerBackend
from mysqlprof.servers.local import LocalBackend
from mysqlprof.workload_spec import PreparedInsertSpec
from mysqlprof.workloads.prepared_insert import PreparedInsert, make

pytest_plugins = ("docker_fixtures",)
pytestmark = pytest.mark.server

# Thresholds held: each growth beyond 128 KiB is mmap, page faults, munmap.
FIXED = {
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "MALLOC_TOP_PAD_": "0",
}
SIZES = [(7, 24, 20), (60, 24, 40), (150, 24, 64)]
"""Rows, columns, bytes of text values: three sizes, none a multiple of another."""


def plan() -> CountersPlan:
    found = scenario.load("bug-73056").counters
    assert found is not None
    return found


def workload(rows: int, columns: int, value_bytes: int) -> PreparedInsert:
    spec = PreparedInsertSpec(
        kind="prepared-insert", rows=rows, columns=columns, value_bytes=value_bytes
    )
    return make(spec, rows, 64 * 2**20)


@pytest.fixture(scope="module")
def python() -> str:
    try:
        doctor.require("bcc")
    except EnvironmentLacks as error:
        pytest.skip(f"{error.message}: {error.hint}")
    return host.facts().bcc.python


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with open_driver("python") as opened:
        yield opened


class Bench:
    """A running server, and executes on it with the slow log on or off."""

    def __init__(self, server: Server, admin: Admin, driver: Driver) -> None:
        self.server = server
        self.admin = admin
        self.driver = driver

    def execute(self, work: PreparedInsert, probe: bcc.Counting | bcc.Watching) -> dict[str, int]:
        """What the kernel and the server counted themselves."""
        for sql in work.setup:
            self.admin.query(sql)
        options = {"server_prepare": True}
        with self.driver.session(self.server.endpoint, work.statement, options) as session:
            before = Counters.read(self.admin, self.server.pid, work.counters)
            with probe.window():
                session.execute()
            return Counters.read(self.admin, self.server.pid, work.counters).since(before)


Launch = Callable[[str, str], Bench]


@pytest.fixture(scope="module")
def launch(driver: Driver, request: pytest.FixtureRequest) -> Iterator[Launch]:
    """Backend and version -> a bench; each is started once."""
    known: dict[tuple[str, str], Bench] = {}
    with ExitStack() as stack:

        def start(backend: str, version: str) -> Bench:
            if (backend, version) in known:
                return known[backend, version]
            spec = LaunchSpec("before", version, {}, FIXED)
            if backend == "docker":
                offline = request.getfixturevalue("offline")
                request.getfixturevalue("image_of")(version)
                opened = stack.enter_context(DockerBackend("testcounted", resolver=offline))
                server = stack.enter_context(opened.launch(spec, "before"))
            else:
                server = stack.enter_context(LocalBackend("counted").launch(spec, "before"))
            admin = Admin(server.endpoint)
            stack.callback(admin.close)
            known[backend, version] = Bench(server, admin, driver)
            return known[backend, version]

        yield start


@pytest.mark.parametrize(
    ("backend", "version"),
    [
        ("local", "5.7.22"),
        ("local", "5.7.29"),
        pytest.param("docker", "5.7.22", marks=pytest.mark.docker),
    ],
)
def test_each_execute_replaces_once_a_parameter_at_every_size(python, launch, backend, version):
    bench = launch(backend, version)
    bench.admin.set_global("slow_query_log", "ON")
    binary = bcc.examine(bench.server.pid, plan())
    with bcc.counting(python, binary) as probe:
        for size in SIZES:
            work = workload(*size)
            facts = work.facts()
            bench.execute(work, probe)
            tallies = probe.result.tallies
            assert tallies["execute"].calls == 1
            assert tallies["String::replace"].calls == len(work.statement.parameters)
            assert tallies["String::mem_realloc"].calls == facts["predicted_growths"]
            predicted = facts["predicted_growth_copy_bytes"]
            assert tallies["String::mem_realloc"].bytes == pytest.approx(predicted, rel=0.05)
            for name in ("String::replace", "String::mem_realloc"):
                assert sum(probe.result.sizes[name].values()) == tallies[name].calls


def test_the_thread_s_page_faults_are_those_that_the_kernel_counts(python, launch):
    bench = launch("local", "5.7.22")
    bench.admin.set_global("slow_query_log", "ON")
    work = workload(*SIZES[-1])
    with bcc.counting(python, bcc.examine(bench.server.pid, plan())) as probe:
        kernel = bench.execute(work, probe)
        tallies = probe.result.tallies
    faults = tallies["page faults"].calls
    assert faults > 5_000
    assert faults == pytest.approx(kernel["minor_faults"], rel=0.2)
    assert tallies["mmap"].calls > 50
    assert abs(tallies["mmap"].calls - tallies["munmap"].calls) <= 2
    assert tallies["mmap"].bytes >= tallies["mmap"].calls * 131_072


@pytest.mark.parametrize(("version", "log"), [("5.7.22", "OFF"), ("8.0.31", "ON")])
def test_without_the_bug_nothing_is_replaced(python, launch, version, log):
    bench = launch("local", version)
    bench.admin.set_global("slow_query_log", log)
    with bcc.counting(python, bcc.examine(bench.server.pid, plan())) as probe:
        bench.execute(workload(*SIZES[1]), probe)
        tallies = probe.result.tallies
    assert tallies["execute"].calls == 1
    assert tallies["String::replace"] == bcc.Tally(0, 0, 0)


def test_the_wall_time_of_a_slow_execute_is_explained(python, launch):
    bench = launch("local", "5.7.22")
    bench.admin.set_global("slow_query_log", "ON")
    work = workload(*SIZES[-1])

    def execute(spec: TrialSpec, window) -> TrialResult:
        for sql in work.setup:
            bench.admin.query(sql)
        options = {"server_prepare": True}
        endpoint = bench.server.endpoint
        with bench.driver.session(endpoint, work.statement, options) as session, window:
            done = session.execute()
        return TrialResult(
            cell=spec.cell, trial=0, round=0, kind=spec.kind, profiled=False,
            elapsed_ms=done.elapsed_ms, prepare_ms=0, rows_written=done.affected_rows,
        )  # fmt: skip

    gone = CountedFunction(name="String::gone", symbols=["^_ZN6String4goneEv$"])
    wanted = plan()
    wanted = wanted.model_copy(update={"functions": [*wanted.functions, gone], "executes": 3})
    counts = count_cell("slow", bench.server.pid, wanted, python, execute=execute, shares=[])
    assert counts.caveats == []
    assert counts.counting_cost is not None
    assert counts.counting_cost > 1 / 3
    closure = counts.closure
    assert closure is not None
    assert abs(closure.unexplained_ms) < 0.15 * closure.client_ms
    assert sum(part.ms for part in closure.parts) == pytest.approx(closure.client_ms)
    assert 0 < closure.server_ms <= closure.client_ms
    loop, parameters = closure.phases.values()
    assert 0.3 * loop < parameters < loop
    # A symbol that the server has not costs its own row, and nothing else.
    absent = [row for row in counts.rows if row.counter == "String::gone"]
    assert len(absent) == 3
    assert {row.calls for row in absent} == {None}
    assert "no symbol fits" in absent[0].how
    replaces = {row.calls for row in counts.rows if row.counter == "String::replace"}
    assert replaces == {len(work.statement.parameters)}


def test_a_whole_run_holds_its_counted_claims_and_shows_them(python, tmp_path: Path):
    out = tmp_path / "run"
    done = subprocess.run(
        [
            sys.executable, "-m", "mysqlprof", "reproduce", "bug-73056", "--backend", "local",
            "--before", "5.7.22", "--driver", "python", "--rows", "40", "--value-bytes", "40",
            "--trials", "1", "--quick", "--no-profile", "--evidence", "full", "--seed", "1",
            "--out", str(out),
        ],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    run = json.loads((out / "run.json").read_text())
    about = {c["id"] for c in run["plan"]["definition"]["claims"] if c["counter"]}
    verdicts = {c["id"]: c["verdict"] for c in run["claims"] if c["id"] in about}
    assert len(verdicts) == 5
    assert set(verdicts.values()) == {"holds"}
    with (out / "counters.csv").open() as file:
        rows = [r for r in csv.DictReader(file) if r["counter"] == "String::replace"]
    slow = {r["calls"] for r in rows if "before" in r["cell"] and "log-on" in r["cell"]}
    assert slow == {"960"}
    with (out / "trials.csv").open() as file:
        kinds = [row["kind"] for row in csv.DictReader(file)]
    assert kinds.count("timed") == 12
    assert kinds.count("probed") >= 4 * 6  # and those that are captured on the wire
    assert kinds.count("reference") == 4 * 3
    assert {cell["trials"] for cell in run["cells"]} == {1}
    assert 'id="counted"' in (out / "report.html").read_text()
    assert "String::replace" in (out / "report.md").read_text()
