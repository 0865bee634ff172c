"""How a cell's driver reaches its server: where both run, and what stands on the way.

Opened with the servers and closed with them. What this host cannot have is said once, by an
EnvironmentLacks for the cells that need it; the others do without.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import psutil

from mysqlprof.drivers.connector_j import DEFAULT_VERSION, connector_jar
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.level import Route
from mysqlprof.links import Line
from mysqlprof.model import Endpoint, LaunchSpec, Place
from mysqlprof.topologies.certificates import Authority, CertificateFiles, KeyKind, authority
from mysqlprof.topologies.delay import delayed
from mysqlprof.topologies.namespaces import Network, two_hosts
from mysqlprof.topologies.proxy import PoolOptions, mysql_router
from mysqlprof.topologies.shardingsphere import shardingsphere_proxy
from mysqlprof.topologies.tunnel import Tunnel, openvpn
from mysqlprof.workloads.tasks import DATABASE

# ShardingSphere-Proxy 5.1.0 gives datetimes of prepared statements the milliseconds of its own
# clock, and MySQL would round them up to the next second in half of all cases: they are cut off.
_STORAGE = {"allowPublicKeyRetrieval": "true", "sendFractionalSeconds": "false"}


@dataclass(frozen=True)
class Way:
    """From a driver to a server."""

    endpoint: Endpoint
    programs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of the topology: name -> process ids. What they cost is their CPU time."""
    product: str = ""
    """What stands on the way, with its version; empty where nothing does."""
    storage: Endpoint | None = None
    """The server behind what speaks to it in its own words; None where those are the driver's."""
    line: Line | None = None
    """The link, where the cell says what rate it has."""

    @property
    def captured(self) -> Endpoint:
        """Whose wire tells what the server was asked."""
        return self.storage or self.endpoint

    def ready(self) -> AbstractContextManager[None]:
        """The link has its rate within it."""
        return self.line.shaped() if self.line else nullcontext()

    def readings(self) -> dict[str, float]:
        """Counters that only grow: CPU time of each program, traffic of the link."""
        cpu = {f"{name}_cpu_ms": sum(map(_cpu_ms, pids)) for name, pids in self.programs.items()}
        return cpu | (self.line.readings() if self.line else {})

    def figures(
        self, elapsed_ms: float, units: int, spent: Mapping[str, float]
    ) -> dict[str, float]:
        """Of a trial, from what the readings grew by."""
        return self.line.figures(elapsed_ms, units, spent) if self.line else {}


class Hosts:
    """One host, or two with a link between them; within `open_hosts`."""

    def __init__(
        self,
        stack: ExitStack,
        network: Network | None,
        lacking: EnvironmentLacks | None,
        progress: Callable[[str], None],
    ) -> None:
        self.lacking = lacking
        """Why there is no network of two hosts, where one was wanted."""
        self._stack = stack
        self._network = network
        self._progress = progress
        self._authority: Authority | None = None
        self._tunnel: Tunnel | None = None
        self._lines: dict[str, Line] = {}
        self._client: CertificateFiles | None = None

    def equipped(self, spec: LaunchSpec) -> LaunchSpec:
        """With its place and the files of its certificate."""
        place = self._network.server.place if self._network else spec.place
        return replace(spec, place=place, files={**spec.files, **self._certificate(spec)})

    def way(
        self,
        route: Route,
        server: Endpoint,
        spec: LaunchSpec,
        rtt_ms: float = 0.0,
        link: str = "",
    ) -> Way:
        """To a server that runs, whatever stands on the way ready. Closed with the hosts.

        Raises EnvironmentLacks and ServerFailed.
        """
        client = self._network.client.place if self._network else Place()
        server = replace(server, client=client)
        if spec.certificate:
            server = self._with_identity(server)
        if rtt_ms:
            server = self._stack.enter_context(delayed(server, client, rtt_ms / 2))
        way = self._past(route, server, client)
        if rtt_ms and not way.product:
            held = f"a relay that adds {rtt_ms:g} ms to every round trip, and its own CPU time"
            way = replace(way, product=held)
        return replace(way, line=self._line(link)) if link else way

    @property
    def lines(self) -> list[Line]:
        """All that were asked for, measured."""
        return list(self._lines.values())

    def _past(self, route: Route, server: Endpoint, client: Place) -> Way:
        if route == "tunnel":
            return self._through_tunnel(server)
        if route == "sharding-proxy":
            return self._through_shardingsphere(server, client)
        if route in ("proxy", "proxy-without-pool"):
            pool = PoolOptions() if route == "proxy" else PoolOptions(idle_connections=0)
            proxy = self._stack.enter_context(mysql_router(server, client, pool, self._progress))
            product = f"{proxy.product}, which asks the server about each login"
            return Way(proxy.endpoint, {"mysqlrouter": (proxy.pid,)}, product)
        return Way(server)

    def _through_shardingsphere(self, server: Endpoint, client: Place) -> Way:
        proxy = self._stack.enter_context(
            shardingsphere_proxy(
                server,
                DATABASE,
                place=client,
                driver=connector_jar(DEFAULT_VERSION),  # the one that goes directly, too
                properties=_STORAGE,
                progress=self._progress,
            )
        )
        product = f"{proxy.product} with Connector/J {DEFAULT_VERSION}"
        return Way(proxy.endpoint, {"shardingsphere": (proxy.pid,)}, product, server)

    def _line(self, link: str) -> Line:
        if self._network is None:
            raise self.lacking or EnvironmentLacks(
                f"a link of {link} needs two hosts", "write hosts = 2 into the scenario's file"
            )
        if link not in self._lines:
            self._progress(f"measuring the link of {link}")
            self._lines[link] = Line.measured(self._network, link)
        return self._lines[link]

    def _with_identity(self, server: Endpoint) -> Endpoint:
        """With what a client may check the server by, and prove itself with."""
        if self._client is None:
            self._client = self._signer.issue("client")
        return replace(
            server,
            authority=str(self._client.authority),
            client_certificate=str(self._client.certificate),
            client_key=str(self._client.key),
        )

    def _through_tunnel(self, server: Endpoint) -> Way:
        if self._network is None:
            raise self.lacking or EnvironmentLacks(
                "a tunnel needs two hosts", "write hosts = 2 into the scenario's file"
            )
        if self._tunnel is None:
            self._tunnel = self._stack.enter_context(openvpn(self._network))
        tunnel = self._tunnel
        return Way(
            replace(server, host=tunnel.server.address, client=tunnel.client),
            {"openvpn": tunnel.processes},
            f"{tunnel.version}, {tunnel.cipher}",
        )

    @property
    def _signer(self) -> Authority:
        if self._authority is None:
            self._authority = self._stack.enter_context(authority())
        return self._authority

    def _certificate(self, spec: LaunchSpec) -> Mapping[str, Path]:
        if not spec.certificate:
            return {}
        kind = cast(KeyKind, spec.certificate)  # issue() refuses what is none
        return self._signer.issue(f"{spec.role}-{kind}", kind).mysqld_files()


@contextmanager
def open_hosts(hosts: int, progress: Callable[[str], None]) -> Iterator[Hosts]:
    """As many hosts as a scenario asks for; one, with the reason, where there cannot be two."""
    with ExitStack() as stack:
        network, lacking = None, None
        if hosts == 2:
            try:
                network = stack.enter_context(two_hosts())
            except EnvironmentLacks as error:
                lacking = error
        yield Hosts(stack, network, lacking, progress)


def _cpu_ms(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return (times.user + times.system) * 1e3
