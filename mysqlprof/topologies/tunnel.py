"""An OpenVPN tunnel through the link: TLS for its keys, UDP for its packets, as users run it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.model import Place
from mysqlprof.packages import first_line, require
from mysqlprof.topologies.certificates import CertificateFiles, KeyKind, authority
from mysqlprof.topologies.namespaces import Network
from mysqlprof.topologies.programs import Program, program
from mysqlprof.topologies.streams import stream
from mysqlprof.workdir import work_directory

INSTALL_OPENVPN = "sudo apt-get install -y --no-install-recommends openvpn"
TUN_DEVICE = Path("/dev/net/tun")
MAKE_TUN = "sudo modprobe tun"

SERVER_ADDRESS = "198.18.1.1"
CLIENT_ADDRESS = "198.18.1.2"

_DEVICE = "tun0"
_PORT = "1194"
_READY = "Initialization Sequence Completed"
_DEADLINE_S = 30.0
_PROOF_S = 0.1


@dataclass(frozen=True)
class Tunnel:
    """Both ends, by the addresses that lead through it."""

    server: Place
    client: Place
    version: str
    cipher: str
    """What both ends agreed on for the packets: "AES-256-GCM"."""
    goodput_bps: float
    """Of a short TCP stream that proved the tunnel; no measurement to rely on."""
    processes: tuple[int, int]
    """OpenVPN's process ids, server's first: what the tunnel costs is their CPU time."""


@contextmanager
def openvpn(network: Network, kind: KeyKind = "rsa-2048") -> Iterator[Tunnel]:
    """A tunnel that a TCP stream has crossed. Raises EnvironmentLacks or ServerFailed."""
    path = require("openvpn", INSTALL_OPENVPN)
    if not TUN_DEVICE.exists():
        raise EnvironmentLacks(f"there is no {TUN_DEVICE}", MAKE_TUN)
    server, client = network.server, network.client
    with authority() as signer, work_directory("tunnel") as work:
        one_end = _command(path, "server", signer.issue("vpn-server", kind), server.address)
        other_end = _command(path, "client", signer.issue("vpn-client", kind), server.address)
        with (
            program("openvpn-server", one_end, work, prefix=server.place.prefix) as one,
            program("openvpn-client", other_end, work, prefix=client.place.prefix) as other,
        ):
            one.await_ready(lambda: _READY in _log(one), _DEADLINE_S)
            other.await_ready(lambda: _READY in _log(other), _DEADLINE_S)
            yield Tunnel(
                replace(server.place, address=SERVER_ADDRESS),
                replace(client.place, address=CLIENT_ADDRESS),
                first_line([path, "--version"]).split(" [")[0],
                _cipher(_log(other)),
                stream(client, server, SERVER_ADDRESS, _PROOF_S),
                (one.pid, other.pid),
            )


def _command(path: str, role: str, identity: CertificateFiles, server: str) -> list[str]:
    """One peer at each end (p2p), certificates of one authority on both sides."""
    own, peer = (
        (SERVER_ADDRESS, CLIENT_ADDRESS) if role == "server" else (CLIENT_ADDRESS, SERVER_ADDRESS)
    )
    side = (
        ["--tls-server", "--dh", "none", "--local", server]
        if role == "server"
        else ["--tls-client", "--remote", server, "--nobind"]
    )
    return [
        path,
        *("--dev", _DEVICE, "--dev-type", "tun", "--proto", "udp4", "--port", _PORT),
        *("--ifconfig", own, peer),
        *side,
        *("--ca", str(identity.authority), "--cert", str(identity.certificate)),
        *("--key", str(identity.key), "--verb", "3"),
    ]


def _log(end: Program) -> str:
    return end.log.read_text(encoding="utf-8", errors="replace")


def _cipher(log: str) -> str:
    """Data Channel: Outgoing Data Channel: Cipher 'AES-256-GCM' initialized with 256 bit key
    or, since 2.6:  Data Channel: cipher 'AES-256-GCM', peer-id: 0
    """
    _, _, rest = log.partition("Data Channel")
    return rest.partition("'")[2].partition("'")[0] or "unknown"
