"""A link of a known rate: shaped by the kernel, and measured before it is trusted."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mysqlprof.errors import EnvironmentLacks, UsageError
from mysqlprof.packages import require
from mysqlprof.topologies.namespaces import DEVICE, INSTALL_IPROUTE, Namespace, Network
from mysqlprof.topologies.streams import stream

TRUSTED_SHARE = (0.88, 1.01)
"""Goodput over rate within which a link is what it is called.

Headers of full Ethernet frames leave 1448 of 1514 bytes, 95.6 %, to the data.
"""

_HEADERS = 66
"""Bytes before the data of a TCP segment: Ethernet 14, IPv4 20, TCP with timestamps 32."""

_UNITS = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
# The bucket: what may pass at once. Small, so that a single answer waits for its bits as on a real
# wire; but no smaller than two frames, nor than what passes until the kernel's timer comes round.
_TWO_FRAMES = 2 * 1514
_TIMER_S = 200e-6
_QUEUE = "25ms"


@dataclass(frozen=True)
class Shape:
    """What a link is meant to be. `rate_bps` None is as fast as this machine can."""

    rate_bps: int | None = None
    delay_ms: float = 0.0
    """One way, in either direction: a round trip takes twice as long."""

    @classmethod
    def parse(cls, text: str, delay_ms: float = 0.0) -> "Shape":
        """`unlimited`, or a rate as tc writes it: 100mbit, 1gbit, 10gbit."""
        if text == "unlimited":
            return cls(None, delay_ms)
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(kbit|mbit|gbit)", text)
        if not found or not float(found[1]):
            raise UsageError(f"{text!r} is no link rate", "write 100mbit, 1gbit, 10gbit, unlimited")
        return cls(round(float(found[1]) * _UNITS[found[2]]), delay_ms)

    @property
    def burst_bytes(self) -> int:
        assert self.rate_bps is not None
        return max(_TWO_FRAMES, round(self.rate_bps / 8 * _TIMER_S))


@dataclass(frozen=True)
class Measured:
    """Payload that arrived at the other end, in one direction, by a plain TCP stream."""

    direction: str
    goodput_bps: float
    rate_bps: int | None

    @property
    def share(self) -> float | None:
        """Of the nominal rate; None for an unlimited link."""
        return self.goodput_bps / self.rate_bps if self.rate_bps else None

    @property
    def caveat(self) -> str:
        """Empty where the link is what it is called; else one sentence."""
        if self.share is None or TRUSTED_SHARE[0] <= self.share <= TRUSTED_SHARE[1]:
            return ""
        why = "this machine cannot fill it" if self.share < 1 else "the shaping does not hold"
        return (
            f"the link {self.direction} carries {self.goodput_bps / 1e6:.0f} Mbit/s,"
            f" {self.share:.0%} of its nominal rate: {why}"
        )


@dataclass(frozen=True)
class Traffic:
    """What one end has sent since it was shaped, in frames as they are on a wire.

    By the kernel's queueing discipline, which counts every segment of what the sender hands over in
    one piece. The device's own counters would count its headers once.
    """

    wire_bytes: int
    packets: int

    @property
    def payload_bytes(self) -> int:
        return self.wire_bytes - _HEADERS * self.packets


def traffic(end: Namespace) -> Traffic:
    """Of an end of a link within `shaped`."""
    tc = require("tc", INSTALL_IPROUTE)
    disciplines = json.loads(end.run(tc, "-s", "-j", "qdisc", "show", "dev", DEVICE, "root"))
    return Traffic(disciplines[0]["bytes"], disciplines[0]["packets"])


@contextmanager
def shaped(network: Network, shape: Shape) -> Iterator[None]:
    """Both directions of the link have this shape within the context, none after it.

    Raises EnvironmentLacks where the kernel or tc cannot do it.
    """
    ends = (network.server, network.client)
    try:
        for end in ends:
            _shape(end, shape)
        yield
    finally:
        for end in ends:
            _unshape(end)


def measure(network: Network, shape: Shape, seconds: float = 1.0) -> list[Measured]:
    """Both directions, one after the other, each for about `seconds`."""
    server, client = network.server, network.client
    down = stream(server, client, client.address, seconds)
    up = stream(client, server, server.address, seconds)
    return [
        Measured("to the client", down, shape.rate_bps),
        Measured("to the server", up, shape.rate_bps),
    ]


def verified(
    network: Network, shape: Shape, seconds: float = 1.0, attempts: int = 3
) -> list[Measured]:
    """measure(), again while there is a caveat: who else uses the CPUs can starve a stream.

    What the last attempt found is returned, with its caveats where they stay.
    """
    found = measure(network, shape, seconds)
    for _ in range(attempts - 1):
        if not any(one.caveat for one in found):
            break
        found = measure(network, shape, seconds)
    return found


def _shape(end: Namespace, shape: Shape) -> None:
    _unshape(end)
    tc = require("tc", INSTALL_IPROUTE)
    under = ["root", "handle", "1:"]
    if shape.delay_ms:
        try:
            end.run(tc, "qdisc", "add", "dev", DEVICE, *under, "netem", *_netem(shape))
        except EnvironmentLacks as error:
            raise EnvironmentLacks(
                f"this kernel cannot delay packets ({error.message})",
                "use a kernel with CONFIG_NET_SCH_NETEM, or leave the delay out",
            ) from error
        under = ["parent", "1:1", "handle", "10:"]
    if shape.rate_bps is not None:
        bucket = ["rate", f"{shape.rate_bps}bit", "burst", str(shape.burst_bytes)]
        end.run(tc, "qdisc", "add", "dev", DEVICE, *under, "tbf", *bucket, "latency", _QUEUE)
    elif not shape.delay_ms:  # holds nothing back: for traffic()
        end.run(tc, "qdisc", "add", "dev", DEVICE, *under, "pfifo", "limit", "100000")


def _netem(shape: Shape) -> list[str]:
    # The queue must hold what is under way: netem's own 1,000 packets would drop some.
    return ["delay", f"{shape.delay_ms}ms", "limit", "100000"]


def _unshape(end: Namespace) -> None:
    tc = require("tc", INSTALL_IPROUTE)
    if " noqueue " not in end.run(tc, "qdisc", "show", "dev", DEVICE, "root"):
        end.run(tc, "qdisc", "del", "dev", DEVICE, "root")
