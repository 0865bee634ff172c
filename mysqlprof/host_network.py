"""What this kernel and this user can do about networks, tried in namespaces that end at once."""

from typing import Protocol

from mysqlprof.frozen import Frozen


class Ran(Protocol):
    @property
    def code(self) -> int: ...
    @property
    def out(self) -> str: ...


class Runner(Protocol):
    def run(self, *command: str) -> Ran: ...
    def glob(self, pattern: str) -> list[str]: ...


class NetworkFacts(Frozen):
    namespaces: bool = False
    refusal: str = ""
    """The words of what could not make one."""
    shaping: bool = False
    """The kernel has a token bucket (tbf), and tc can set it."""
    delay: bool = False
    """The same for netem."""
    tun: bool = False
    """There is a device for tunnels."""


def network_facts(machine: Runner) -> NetworkFacts:
    made = machine.run("unshare", "--net", "true")
    lines = made.out.strip().splitlines() or [f"unshare ended with {made.code}"]
    bucket = ("tbf", "rate", "1mbit", "burst", "10kb", "latency", "10ms")
    return NetworkFacts(
        namespaces=made.code == 0,
        refusal="" if made.code == 0 else lines[-1],
        shaping=_has_qdisc(machine, *bucket),
        delay=_has_qdisc(machine, "netem", "delay", "1ms"),
        tun=bool(machine.glob("/dev/net/tun")),
    )


def _has_qdisc(machine: Runner, *words: str) -> bool:
    command = ("unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root")
    return machine.run(*command, *words).code == 0
