"""What the server and the kernel counted over one execute, and over the whole run."""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

from mysqlprof import host
from mysqlprof.model import Caveat
from mysqlprof.servers.admin import Admin
from mysqlprof.statistics import THRESHOLDS

_SETTLING_READS = 20
_OWN = "Questions"
"""Counts the readings themselves."""


@dataclass(frozen=True)
class Counters:
    """The server's status counters, and what its process and the machine counted: CPU time, minor
    page faults, time stolen by a hypervisor (all CPUs), time stopped by a CPU limit (ms)."""

    values: dict[str, int]

    @classmethod
    def before(cls, admin: Admin, pid: int, names: Iterable[str]) -> Self:
        """At the start of a window, once connections that were closed have ended.

        While one still ends, the server sums its counters twice or not at all: a difference from
        such a reading can even be negative.
        """
        wanted = list(names)
        found = cls.read(admin, pid, wanted)
        for _ in range(_SETTLING_READS):
            earlier, found = found, cls.read(admin, pid, wanted)
            if all(found.values.get(n) == earlier.values.get(n) for n in wanted if n != _OWN):
                break
            time.sleep(0.005)
        return found

    @classmethod
    def read(cls, admin: Admin, pid: int, names: Iterable[str]) -> Self:
        """`names` are the status counters that are wanted."""
        values = admin.status(names)
        try:
            times = psutil.Process(pid).cpu_times()
            values["cpu_ms"] = round((times.user + times.system) * 1000)
            values["minor_faults"] = _minor_faults(pid)
            values |= _throttled_ms(pid)
        except (psutil.Error, OSError):
            pass  # another user's process: the counters above must do
        stolen = host.cpu_times().get("steal")
        if stolen is not None:
            values["steal_ms"] = stolen * 1000 // os.sysconf("SC_CLK_TCK")
        return cls(values)

    def since(self, earlier: "Counters") -> dict[str, int]:
        return {k: v - earlier.values[k] for k, v in self.values.items() if k in earlier.values}


def _minor_faults(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        # The second field is a name in brackets, which may hold spaces.
        return int(file.read().rpartition(")")[2].split()[7])


def _throttled_ms(pid: int) -> dict[str, int]:
    """Time that the process's control group was stopped by its CPU limit; empty without cgroup v2.

    /proc/PID/cgroup: 0::/docker/3f2a...
    cpu.stat: throttled_usec 123456
    """
    try:
        group = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").partition("0::/")[2]
        lines = Path("/sys/fs/cgroup", group.strip(), "cpu.stat").read_text(encoding="utf-8")
    except OSError:
        return {}
    fields = dict(line.split() for line in lines.splitlines())
    found = fields.get("throttled_usec")
    return {} if found is None else {"throttled_ms": int(found) // 1000}


class StolenTime:
    """CPU time that a hypervisor gave to others since this was made."""

    def __init__(self) -> None:
        self._before = host.cpu_times()

    def caveats(self) -> list[Caveat]:
        share = host.steal_share(self._before, host.cpu_times())
        if share <= THRESHOLDS["max_steal_share"]:
            return []
        text = f"the hypervisor took {share * 100:.1f} % of the CPU time away during the run"
        return [Caveat(kind="steal", text=text)]
