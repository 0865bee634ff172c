"""tls-inserts and connections in a small size: real drivers, servers, network, tunnel, proxy."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from host_state import HostState, namespaces_in_use

from mysqlprof.children import wait_until
from mysqlprof.model import Run
from mysqlprof.store import RunDirectory

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the servers"),
]

HEAD = """
title = "t"
summary = "s"
trials = 3
warmups = 1
claims = []
"""
CONNECTIONS = f"""
name = "small"
driver = "connect"
hosts = 2
{HEAD}
include = [{{ tls = "off" }}, {{ way = "tcp" }}]
[workload]
kind = "connections"
connections = 5
[servers.before]
version = "8.0.31"
[[factors]]
name = "server"
levels.before.certificate = "ec-p256"
[[factors]]
name = "way"
levels.tcp = {{}}
levels.socket.driver.by_socket = true
levels.vpn.route = "tunnel"
levels.proxy = {{ route = "proxy", driver = {{ by_socket = true }} }}
levels.no-pool = {{ route = "proxy-without-pool", driver = {{ by_socket = true }} }}
[[factors]]
name = "tls"
levels.off = {{}}
levels."1.2".driver.tls = "TLSv1.2"
levels.resumed.driver = {{ tls = "TLSv1.3", resume = true }}
[[contrasts]]
name = "tls"
text = "tls"
numerator = {{ way = "tcp", tls = "1.2" }}
denominator = {{ way = "tcp", tls = "off" }}
[noise]
cell = {{ way = "tcp", tls = "off" }}
trials = 3
visible = 1.2
"""
INSERTS = f"""
name = "small"
{HEAD}
include = [
  {{ driver = "old", tls = "off", way = "each" }},
  {{ driver = "new", way = "each" }},
  {{ driver = "new", tls = "1.2" }},
]
[workload]
kind = "row-inserts"
rows = 40
[servers.before]
version = "5.7.29"
[[factors]]
name = "server"
levels.before = {{}}
[[factors]]
name = "driver"
levels.old.driver_name = "connector-j:5.1.6"
levels.new.driver_name = "connector-j:8.0.16"
[[factors]]
name = "tls"
levels.off = {{}}
levels.default.driver.tls = "default"
levels."1.2".driver.tls = "TLSv1.2"
[[factors]]
name = "way"
levels.each.driver.way = "each"
levels.rewritten.driver = {{ way = "batch", properties = "rewriteBatchedStatements=true", \
rewritten = true }}
levels.pool.driver.way = "checkout"
levels.local.driver = {{ way = "checkout", properties = "useLocalSessionState=true" }}
[[contrasts]]
name = "tls"
text = "tls"
numerator = {{ driver = "new", tls = "1.2", way = "each" }}
denominator = {{ driver = "new", tls = "off", way = "each" }}
"""


def command(folder: Path, scenario: str, *options: str) -> list[str]:
    file = folder / "small.toml"
    file.write_text(scenario)
    verb = [sys.executable, "-m", "mysqlprof", "reproduce", str(file), "--backend"]
    return [*verb, "local", "--no-profile", "--out", str(folder / "run"), *options]


def measured(folder: Path, scenario: str) -> Run:
    done = subprocess.run(command(folder, scenario), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return RunDirectory.open(folder / "run").read_run()


def words_of(run: Run, kind: str) -> str:
    return "; ".join(caveat.text for caveat in run.caveats if caveat.kind == kind)


@pytest.mark.network
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_every_way_to_a_server_is_measured_and_nothing_is_left(tmp_path):
    before = HostState.now()
    run = measured(tmp_path, CONNECTIONS)
    assert HostState.now() == before
    cells = {cell.id: cell for cell in run.cells}
    assert {cell.trials for cell in cells.values()} == {3}
    accepted = {name: c.metrics["server_accepts_per_connection"] for name, c in cells.items()}
    assert accepted.pop("before_proxy_off") == 0  # all on one connection that is kept
    assert set(accepted.values()) == {1.0}
    resumed = {name for name, cell in cells.items() if cell.metrics["resumed"]}
    assert resumed == {"before_tcp_resumed"}
    assert cells["before_tcp_resumed"].metrics["resumed"] == 4
    for name, cell in cells.items():
        assert (cell.metrics["tls_ms"] > 0) == (name in ("before_tcp_1.2", "before_tcp_resumed"))
        assert ("openvpn_cpu_ms" in cell.metrics) == (name == "before_vpn_off")
        assert ("mysqlrouter_cpu_ms" in cell.metrics) == ("prox" in name or "no-pool" in name)
    assert "OpenVPN" in words_of(run, "on_the_way")
    assert "MySQL Router" in words_of(run, "on_the_way")
    assert "one cell was run 6 times" in words_of(run, "noise_check")
    assert run.gaps == []


@pytest.mark.network
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_an_interrupted_run_leaves_nothing_of_its_network(tmp_path):
    before, namespaces = HostState.now(), namespaces_in_use()
    long = command(tmp_path, CONNECTIONS, "--trials", "200")
    with subprocess.Popen(
        long, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        while "trial 1 of 1400" not in (line := run.stderr.readline()):
            assert line, "it ended before its trials"
        made = namespaces_in_use() - namespaces
        run.send_signal(signal.SIGINT)
        run.stderr.read()
        assert run.wait(40) == 130
    assert len(made) >= 2
    assert wait_until(lambda: not namespaces_in_use() & made, 5)
    assert HostState.now() == before


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_a_driver_s_tls_and_round_trips_are_what_the_server_saw(tmp_path):
    run = measured(tmp_path, INSERTS)
    cells = {cell.id: cell for cell in run.cells}
    (gap,) = run.gaps
    assert gap.cells == ["before_new_default_each"]
    assert "the client refused" in gap.why
    assert "enabledTLSProtocols" in gap.remedy
    assert cells.pop("before_new_default_each").trials == 0
    assert "the client refused" in words_of(run, "not_measured_here")
    assert not any(caveat.partial for caveat in run.caveats)
    spoken = {name: cell.metrics["tls_version"] for name, cell in cells.items()}
    plain = {"before_old_off_each", "before_new_off_each"}
    assert {name for name, version in spoken.items() if not version} == plain
    assert {version for name, version in spoken.items() if name not in plain} == {1.2}
    trips = {name: cell.metrics["round_trips_per_row"] for name, cell in cells.items()}
    assert trips["before_old_off_each"] == trips["before_new_1.2_each"] == 1.0
    assert trips["before_new_1.2_local"] == 1.0
    assert trips["before_new_1.2_pool"] == 3.0
    assert trips["before_new_1.2_rewritten"] < 0.5
    assert "TLSv1.2" in run.drivers["connector-j:8.0.16"]["TLS"]
    assert "TLS" not in run.drivers["connector-j:5.1.6"]
