"""Two hosts on one machine: network namespaces joined by a pair of virtual Ethernet devices.

The namespaces have no names: each is held by a process of its own, and the kernel removes it, its
device and its shaping when the last process in it ends. So nothing can be left behind, not even by
a run that is killed, and the host's own network is never touched.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mysqlprof.children import wait_until
from mysqlprof.errors import EnvironmentLacks, ServerFailed
from mysqlprof.model import Place
from mysqlprof.packages import require
from mysqlprof.topologies.programs import Program, program
from mysqlprof.workdir import work_directory

DEVICE = "link0"
"""The name of either end of the link, each in its own namespace."""

# RFC 2544 sets these addresses apart for measuring networks: no real host has one.
SERVER_ADDRESS = "198.18.0.1"
CLIENT_ADDRESS = "198.18.0.2"

INSTALL_IPROUTE = "sudo apt-get install -y --no-install-recommends iproute2"
_INSTALL_UTIL_LINUX = "sudo apt-get install -y --no-install-recommends util-linux"
_AS_ROOT = "run mysqlprof as root (network namespaces need CAP_SYS_ADMIN and CAP_NET_ADMIN)"
_START_DEADLINE_S = 10.0
_COMMAND_TIMEOUT_S = 30


@dataclass(frozen=True)
class Namespace:
    """One host of the two."""

    role: str
    holder: int
    """Process id of what keeps the namespace alive."""
    address: str

    @property
    def place(self) -> Place:
        """For whatever is to run here. The program becomes the started process: no shell, no fork.

        Sockets of the file system are shared with the rest of this machine; only the network is
        apart.
        """
        return Place((require("nsenter", _INSTALL_UTIL_LINUX), f"--net={self._file}"), self.address)

    @property
    def _file(self) -> str:
        return f"/proc/{self.holder}/ns/net"

    def identity(self) -> str:
        """As the kernel names it: "net:[4026532211]"."""
        return os.readlink(self._file)

    def run(self, *command: str) -> str:
        """What a short command here writes. Raises EnvironmentLacks with its own words."""
        done = subprocess.run(
            [*self.place.prefix, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_COMMAND_TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            words = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
            raise EnvironmentLacks(f"`{' '.join(command)}` failed: {words}", _AS_ROOT)
        return done.stdout


@dataclass(frozen=True)
class Network:
    """Both hosts; what they say to each other crosses the link, and nothing else does."""

    server: Namespace
    client: Namespace


@contextmanager
def two_hosts() -> Iterator[Network]:
    """A network of two hosts. Raises EnvironmentLacks where this user or kernel cannot have one."""
    if os.geteuid() != 0:
        raise EnvironmentLacks("network namespaces need root", _AS_ROOT)
    with (
        work_directory("network") as work,
        _held("server", SERVER_ADDRESS, work) as server,
        _held("client", CLIENT_ADDRESS, work) as client,
    ):
        _join(server, client)
        yield Network(server, client)


@contextmanager
def _held(role: str, address: str, work: Path) -> Iterator[Namespace]:
    unshare = require("unshare", _INSTALL_UTIL_LINUX)
    with program(f"{role}-namespace", [unshare, "--net", "sleep", "infinity"], work) as holder:
        namespace = Namespace(role, holder.pid, address)
        try:
            holder.await_ready(lambda: _is_apart(holder, namespace), _START_DEADLINE_S)
        except ServerFailed as error:
            raise EnvironmentLacks(f"no network namespace: {error.hint}", _AS_ROOT) from error
        yield namespace


def _is_apart(holder: Program, namespace: Namespace) -> bool:
    try:
        return namespace.identity() != os.readlink("/proc/self/ns/net")
    except OSError:  # it has ended
        return False


def _join(server: Namespace, client: Namespace) -> None:
    ip = require("ip", INSTALL_IPROUTE)
    peer = ("peer", "name", DEVICE, "netns", str(client.holder))
    server.run(ip, "link", "add", DEVICE, "type", "veth", *peer)
    for host in (server, client):
        host.run(ip, "address", "add", f"{host.address}/24", "dev", DEVICE)
        for device in ("lo", DEVICE):
            host.run(ip, "link", "set", device, "up")
    # Ten thousand connections in a row must not run out of ports: closed ones are kept a minute.
    client.run("sh", "-c", "echo 1024 65535 >/proc/sys/net/ipv4/ip_local_port_range")
    client.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/tcp_tw_reuse")
    ready = wait_until(lambda: "state UP" in client.run(ip, "link", "show", DEVICE), 5)
    if not ready:
        raise EnvironmentLacks("the link between the namespaces does not come up")
