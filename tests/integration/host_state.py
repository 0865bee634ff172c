"""What of this machine a topology could leave behind: looked at before and after."""

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

# Containers of others may come and go meanwhile.
_OF_CONTAINERS = ("veth", "docker", "br-")


@dataclass(frozen=True)
class HostState:
    links: frozenset[str]
    qdiscs: frozenset[str]
    addresses: frozenset[str]
    routes: frozenset[str]
    mounts: frozenset[str]
    named_namespaces: frozenset[str]

    @classmethod
    def now(cls) -> "HostState":
        return cls(
            links=_lines("ip", "-o", "-br", "link"),
            qdiscs=_lines("tc", "qdisc", "show"),
            addresses=_lines("ip", "-o", "-br", "address"),
            routes=_lines("ip", "route", "show", "table", "all"),
            mounts=_mounts(),
            named_namespaces=frozenset(path.name for path in Path("/run").glob("netns/*")),
        )


def _lines(*command: str) -> frozenset[str]:
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return frozenset(
        line for line in out.splitlines() if not any(name in line for name in _OF_CONTAINERS)
    )


def _mounts() -> frozenset[str]:
    text = Path("/proc/self/mounts").read_text()
    return frozenset(line for line in text.splitlines() if "docker" not in line)


def namespaces_in_use() -> set[str]:
    """Network namespaces that a process lives in, as the kernel names them."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found.add(os.readlink(process / "ns/net"))
    return found


def living(processes: list[tuple[int, float]]) -> list[int]:
    """Of process ids with their start times, those that still run."""
    found = []
    for pid, started in processes:
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            if process.create_time() == started and process.status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
    return found
