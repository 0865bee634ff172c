"""Networks, links, tunnels, proxies and certificates, with real servers behind them."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest
from host_state import namespaces_in_use

from mysqlprof import host
from mysqlprof.drivers.line_host import line_host
from mysqlprof.errors import EnvironmentLacks, ServerFailed
from mysqlprof.model import LaunchSpec
from mysqlprof.servers.admin import Admin
from mysqlprof.servers.base import Server
from mysqlprof.servers.local import LocalBackend
from mysqlprof.topologies.certificates import Authority, authority
from mysqlprof.topologies.connect import Tls
from mysqlprof.topologies.delay import delayed
from mysqlprof.topologies.link import Shape, measure, shaped, verified
from mysqlprof.topologies.namespaces import DEVICE, Network, two_hosts
from mysqlprof.topologies.proxy import PoolOptions, mysql_router
from mysqlprof.topologies.shardingsphere import shardingsphere_proxy
from mysqlprof.topologies.storm import storm
from mysqlprof.topologies.tunnel import openvpn

pytestmark = [
    pytest.mark.network,
    pytest.mark.server,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]
ROW = 20


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    with two_hosts() as made:
        yield made


@pytest.fixture(scope="module")
def signer() -> Iterator[Authority]:
    with authority() as made:
        yield made


@pytest.fixture(scope="module")
def server(network: Network, signer: Authority) -> Iterator[Server]:
    files = signer.issue("server").mysqld_files()
    spec = LaunchSpec("server", "8.0.31", files=files, place=network.server.place)
    with LocalBackend("topologies").launch(spec, "server") as running:
        yield running


@pytest.fixture
def counted(server: Server) -> Iterator["Counted"]:
    admin = Admin(server.endpoint)
    yield Counted(admin)
    admin.close()


class Counted:
    """What the server counts of its connections, since this was made or asked."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._before = self._now()

    def _now(self) -> dict[str, int]:
        return self._admin.status(["Connections", "Ssl_finished_accepts"])

    def since(self) -> tuple[int, int]:
        """Connections, and TLS handshakes that succeeded."""
        before, self._before = self._before, self._now()
        made = {name: self._before[name] - before[name] for name in before}
        return made["Connections"], made["Ssl_finished_accepts"]


# --- links ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", ["100mbit", "1gbit"])
def test_a_shaped_link_carries_what_it_is_called(network, rate):
    shape = Shape.parse(rate)
    with shaped(network, shape):
        found = verified(network, shape, 0.5)
    assert [one.direction for one in found] == ["to the client", "to the server"]
    for one in found:
        assert one.share is not None
        assert 0.4 < one.share < 1.15  # who else uses the CPUs can keep it from being filled


def test_an_unlimited_link_is_faster_and_a_false_name_is_found_out(network):
    (down, _) = measure(network, Shape(), 0.3)
    assert down.goodput_bps > 1.5e9
    with shaped(network, Shape.parse("100mbit")):
        (slow, _) = measure(network, Shape.parse("1gbit"), 0.3)
    assert "cannot fill it" in slow.caveat
    (fast, _) = measure(network, Shape.parse("100mbit"), 0.3)
    assert "does not hold" in fast.caveat


def test_shaping_goes_with_its_context(network):
    show = ("tc", "qdisc", "show", "dev", DEVICE)
    with shaped(network, Shape.parse("10gbit")):
        assert "tbf" in network.client.run(*show)
    assert "noqueue" in network.client.run(*show)
    assert "noqueue" in network.server.run(*show)


def test_a_delay_is_there_or_its_lack_is_named(network):
    show = ("tc", "qdisc", "show", "dev", DEVICE)
    delayed = shaped(network, Shape(delay_ms=1))
    if host.facts().network.delay:
        with delayed:
            assert "delay 1" in network.client.run(*show)
    else:
        with pytest.raises(EnvironmentLacks, match="netem"), delayed:
            pass
    assert "noqueue" in network.client.run(*show)


@pytest.mark.parametrize(("version", "round_trips"), [("TLSv1_2", 2), ("TLSv1_3", 1)])
def test_a_relay_makes_every_round_trip_longer(network, server, signer, version, round_trips):
    rtt_ms = 80
    with delayed(server.endpoint, network.client.place, rtt_ms / 2) as far:
        tls = Tls(version, str(signer.file))
        found = storm(far, 2, place=network.client.place, tls=tls)
    trips = {name: spent / 2 / 1e6 / rtt_ms for name, spent in found.steps_ns.items()}
    assert 1.95 < trips["greeting"] < 2.5  # TCP's own, and the server's first words
    assert round_trips - 0.05 < trips["tls"] < round_trips + 0.5
    # The greeting names another plugin than the account's: the server asks once more.
    assert found.plugin == "mysql_native_password"
    assert 1.95 < trips["authentication"] < 2.5


# --- places -----------------------------------------------------------------------------------


def test_a_server_runs_in_its_namespace_under_its_own_process_id(network, server):
    assert os.readlink(f"/proc/{server.pid}/ns/net") == network.server.identity()
    with open(f"/proc/{server.pid}/comm") as file:
        assert file.read() == "mysqld\n"
    settings = server.info().settings
    assert settings["ssl_key"] == "WORK/ssl_key.pem"


def test_a_drivers_host_runs_beside_the_client(network):
    answer = "input(); import os; print('OK', os.readlink('/proc/self/ns/net'), sep='\\t')"
    prefix = network.client.place.prefix
    with line_host([sys.executable, "-c", answer], prefix=prefix) as driver:
        assert driver.ask("WHERE") == [network.client.identity()]


def test_a_failure_inside_takes_the_network_down_at_once():
    made = set()

    def fail() -> None:
        with two_hosts() as own, shaped(own, Shape.parse("1gbit")):
            made.update([own.server.identity(), own.client.identity()])
            assert made <= namespaces_in_use()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert len(made) == 2
    assert not made & namespaces_in_use()


# --- TLS --------------------------------------------------------------------------------------


def test_connections_without_tls_are_counted_one_by_one(network, server, counted):
    over_tcp = storm(server.endpoint, ROW, place=network.client.place)
    assert len(over_tcp.elapsed_ns) == ROW
    assert counted.since() == (ROW, 0)
    storm(server.endpoint, ROW, by_socket=True)
    assert counted.since() == (ROW, 0)
    assert set(over_tcp.steps_ns) == {"connect", "greeting", "tls", "authentication", "close"}
    assert sum(over_tcp.steps_ns.values()) <= sum(over_tcp.elapsed_ns)
    assert over_tcp.steps_ns["tls"] == 0


def test_the_servers_own_plugin_wants_a_private_connection_once(network, server):
    admin = Admin(server.endpoint)
    admin.query("CREATE USER newer@'%%' IDENTIFIED WITH caching_sha2_password BY %s", ["word"])
    newer = replace(server.endpoint, user="newer", password="word")
    with pytest.raises(ServerFailed, match="the connection is not private"):
        storm(newer, 1, place=network.client.place)
    assert storm(newer, 1, by_socket=True).plugin == "caching_sha2_password"
    assert storm(newer, 2, place=network.client.place).plugin == "caching_sha2_password"
    admin.close()


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
@pytest.mark.parametrize("resume", [False, True])
def test_sessions_are_resumed_where_they_are_offered(
    network, server, signer, counted, version, resume
):
    tls = Tls(version, str(signer.file), resume)
    found = storm(server.endpoint, ROW, place=network.client.place, tls=tls)
    assert found.tls_version.replace(".", "_") == version
    assert found.resumed == (ROW - 1 if resume else 0)
    assert counted.since() == (ROW, ROW)
    assert found.steps_ns["tls"] > 0


def test_a_server_of_another_authority_is_not_believed(network, server):
    with authority() as stranger:
        tls = Tls("TLSv1_2", str(stranger.file))
        with pytest.raises(ServerFailed, match="CERTIFICATE_VERIFY_FAILED"):
            storm(server.endpoint, 1, place=network.client.place, tls=tls)


@pytest.mark.parametrize(("kind", "cipher"), [("ec-p256", "ECDSA"), ("rsa-4096", "RSA")])
def test_an_old_server_takes_every_kind_of_key_and_refuses_tls_1_3(signer, kind, cipher):
    files = signer.issue(f"old-{kind}", kind).mysqld_files()
    with LocalBackend("topologies").launch(LaunchSpec("old", "5.7.29", files=files), "old") as old:
        found = storm(old.endpoint, 2, tls=Tls("TLSv1_2", str(signer.file)))
        assert f"ECDHE-{cipher}-" in found.cipher
        with pytest.raises(ServerFailed, match=r"(?i)protocol.version"):
            storm(old.endpoint, 1, tls=Tls("TLSv1_3", str(signer.file)))


# --- tunnel and proxies -----------------------------------------------------------------------


def packets(network: Network, device: str) -> int:
    (link,) = json.loads(network.server.run("ip", "-s", "-j", "link", "show", device))
    return int(link["stats64"]["rx"]["packets"])


def test_connections_through_the_tunnel_cross_it(network, server, counted):
    with openvpn(network) as tunnel:
        before = packets(network, "tun0")
        endpoint = replace(server.endpoint, host=tunnel.server.address)
        storm(endpoint, ROW, place=tunnel.client)
        # At least SYN, response, and goodbye of each.
        assert packets(network, "tun0") - before >= 3 * ROW
        assert tunnel.cipher == "AES-256-GCM"
    assert not any(psutil.pid_exists(pid) for pid in tunnel.processes)
    assert counted.since() == (ROW, 0)


@pytest.mark.parametrize(("options", "pooled"), [
    (PoolOptions(server_tls="REQUIRED"), True),
    (PoolOptions(idle_connections=0, server_tls="REQUIRED"), False),
])  # fmt: skip
def test_a_pool_keeps_the_servers_connections(network, server, counted, options, pooled):
    with mysql_router(server.endpoint, network.client.place, options) as proxy:
        assert "MySQL Router" in proxy.product
        counted.since()  # less what readiness took
        storm(proxy.endpoint, ROW, place=network.client.place, by_socket=True)
        connections, handshakes = counted.since()
        if pooled:
            assert connections <= 2
            assert handshakes <= 2
        else:
            assert (connections, handshakes) == (ROW, ROW)


def test_a_pooled_connection_is_not_given_to_who_has_no_password(network, server):
    with mysql_router(server.endpoint, network.client.place) as proxy:
        stranger = replace(proxy.endpoint, password="guessed")
        with pytest.raises(ServerFailed, match="1045"):
            storm(stranger, 1, place=network.client.place, by_socket=True)
        storm(proxy.endpoint, 1, place=network.client.place)  # and by TCP, who has it


def test_tls_can_end_at_the_proxy(network, server, signer, counted):
    options = PoolOptions(client_tls=signer.issue("proxy", "ec-p256"))
    with mysql_router(server.endpoint, network.client.place, options) as proxy:
        tls = Tls("TLSv1_3", str(signer.file))
        found = storm(proxy.endpoint, 3, place=network.client.place, tls=tls)
        assert found.tls_version == "TLSv1.3"
        (_, handshakes) = counted.since()
        assert handshakes == 0


def test_shardingsphere_answers_in_front_of_the_server(network, server):
    admin = Admin(server.endpoint)
    admin.query("CREATE DATABASE bench")
    admin.close()
    with shardingsphere_proxy(server.endpoint, "bench", place=network.client.place) as proxy:
        found = storm(proxy.endpoint, 2, place=network.client.place)
        assert "ShardingSphere-Proxy 5.1.0" in found.server_version
        assert proxy.driver == "mysql-connector-java-5.1.47.jar"
