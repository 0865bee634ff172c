"""Read-only facts about this machine. Nothing here installs, changes or leaves anything.

All facts are read through one narrow object, Probe, so that a test can be another machine.
"""

import contextlib
import glob
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import platformdirs

from mysqlprof.elf import build_id
from mysqlprof.frozen import Frozen
from mysqlprof.host_network import NetworkFacts, network_facts

EngineState = Literal["answers", "denied", "silent", "absent"]

FLAMEGRAPH_VARIABLE = "MYSQLPROF_FLAMEGRAPH"
DEFAULT_DOCKER_SOCKET = "/var/run/docker.sock"
_TIMEOUT_S = 20.0
_ENGINE_TIMEOUT_S = 5
_ENOUGH = 1 << 16  # characters: /proc/kallsyms has millions

# Ubuntu's /usr/bin/perf is a wrapper that refuses kernels without tools of their own, though any
# perf will do; the binaries themselves lie in the two other places.
_PERF_PLACES = ("/usr/lib/linux-tools*/perf", "/usr/lib/linux-tools/*/perf")
# Where Debian and Ubuntu put FlameGraph's script (package libdevel-nytprof-perl).
_FLAMEGRAPH_PLACES = ("/usr/share/perl5/Devel/NYTProf/flamegraph.pl",)
# libaio's soname got a suffix in Debian 13 and Ubuntu 24.04; its ABI on 64 bits is the same.
MYSQLD_LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "libaio": ("libaio.so.1", "libaio.so.1t64"),
    "libnuma": ("libnuma.so.1",),
    "libatomic": ("libatomic.so.1",),
    "libcrypt": ("libcrypt.so.1",),
    "libstdc++": ("libstdc++.so.6",),
}
ALLOCATORS: Mapping[str, tuple[str, ...]] = {
    "jemalloc": ("libjemalloc.so.2",),
    "tcmalloc": ("libtcmalloc_minimal.so.4",),
}
# Bits of CapEff that recording can need; /usr/include/linux/capability.h.
_CAPABILITIES = {
    12: "CAP_NET_ADMIN",
    13: "CAP_NET_RAW",
    19: "CAP_SYS_PTRACE",
    21: "CAP_SYS_ADMIN",
    34: "CAP_SYSLOG",
    38: "CAP_PERFMON",
    39: "CAP_BPF",
}


class Program(Frozen):
    path: str
    version: str


class PerfFacts(Frozen):
    """What perf can do here, found out by letting it count for a moment."""

    path: str
    version: str
    event: str
    """`cycles` where this machine counts them, else `cpu-clock`; empty where perf may not count."""
    kernel: bool
    """It may record the kernel's part of this user's own processes."""
    any_process: bool
    """It may record other users' processes too: a container's mysqld is one."""
    refusal: str = ""
    """perf's own words where it may not count at all."""


class EngineFacts(Frozen):
    """The Docker engine that the environment points at."""

    state: EngineState
    address: str
    version: str = ""
    detail: str = ""


class BccFacts(Frozen):
    """What exact counts need; whether the kernel then lets a program in shows when it is tried."""

    python: str
    """That can import bcc, which distributions ship for their own; empty where none can."""
    headers: bool
    """bcc finds the running kernel's headers."""
    uprobes: bool


class HostFacts(Frozen):
    cpu_model: str
    cores: int
    """That this process may run on."""
    memory_bytes: int
    memory_available_bytes: int
    kernel: str
    architecture: str
    distro: str
    distro_ids: list[str]
    """ID and ID_LIKE of os-release: ["ubuntu", "debian"]."""
    virtualisation: str
    """"none", "container", "vm", or the name that systemd-detect-virt has for it."""
    governor: str
    transparent_hugepages: str
    glibc: str
    load_1m: float
    steal_share: float
    """Of all CPU time since boot, 0..1."""
    systemd: bool
    is_root: bool
    capabilities: list[str]
    perf_event_paranoid: int | None
    kptr_restrict: int | None
    kernel_symbols: bool
    """The kernel shows its addresses to this user, so that perf can name its functions."""
    perf: PerfFacts | None
    engine: EngineFacts
    programs: dict[str, Program]
    """Those that were found, of _programs' and flamegraph.pl."""
    captures: bool
    """tcpdump may capture on the loopback interface."""
    libraries: dict[str, str]
    """MYSQLD_LIBRARIES -> the soname found; empty where there is none."""
    allocators: dict[str, str]
    """ALLOCATORS, likewise."""
    libc_symbols: bool
    """The debug file of the C library is installed: without it its memory copies have no name."""
    cache_free_bytes: int
    shm_free_bytes: int
    """Of /dev/shm, where data directories are put; 0 where there is none."""
    network: NetworkFacts = NetworkFacts()
    bcc: BccFacts = BccFacts(python="", headers=False, uprobes=False)


@dataclass(frozen=True)
class Ran:
    code: int
    out: str


class Probe:
    """The edge to the real machine."""

    def read(self, path: str) -> str:
        """The beginning of a file's text; empty where it cannot be read."""
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read(_ENOUGH)
        except OSError:
            return ""

    def glob(self, pattern: str) -> list[str]:
        return sorted(glob.glob(pattern))

    def which(self, program: str) -> str | None:
        return shutil.which(program)

    def run(self, *command: str) -> Ran:
        """Exit code and both outputs; 127 where it could not be run, 124 where it did not end."""
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=_TIMEOUT_S,
                check=False,
                env={**os.environ, "LC_ALL": "C", "NO_COLOR": "1"},
            )
        except subprocess.TimeoutExpired:
            return Ran(124, "")
        except OSError as error:
            return Ran(127, str(error))
        return Ran(done.returncode, done.stdout)

    def free_bytes(self, path: str) -> int:
        """Of the file system that holds the path, or will once it exists."""
        place = Path(path).absolute()
        while not place.exists() and place != place.parent:
            place = place.parent
        try:
            return shutil.disk_usage(place).free
        except OSError:
            return 0

    def build_id(self, path: str) -> str:
        """Of an ELF file; empty where it has none."""
        return build_id(Path(path))

    def variable(self, name: str) -> str:
        """Of the environment; empty where it is not set."""
        return os.environ.get(name, "")

    def euid(self) -> int:
        return os.geteuid()

    def engine(self) -> EngineFacts:
        return _docker_engine()


def collect(probe: Probe | None = None) -> HostFacts:
    """All facts; takes about half a second, most of it spent waiting for programs' versions."""
    probe = probe or Probe()
    is_root = probe.euid() == 0
    capabilities = _capabilities(probe)
    libraries = probe.run("/sbin/ldconfig", "-p").out
    with ThreadPoolExecutor() as pool:
        engine = pool.submit(probe.engine)
        perf = pool.submit(_perf_facts, probe)
        bcc = pool.submit(_bcc_facts, probe)
        programs = pool.submit(_programs, probe)
        captures = pool.submit(_captures, probe)
        return HostFacts(
            cpu_model=_cpu_model(probe),
            cores=len(os.sched_getaffinity(0)),
            memory_bytes=_meminfo(probe, "MemTotal"),
            memory_available_bytes=_meminfo(probe, "MemAvailable"),
            kernel=platform.release(),
            architecture=platform.machine(),
            distro=_os_release(probe).get("PRETTY_NAME", "unknown"),
            distro_ids=_distro_ids(probe),
            virtualisation=_virtualisation(probe),
            governor=_first_line(
                probe, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "not shown"
            ),
            transparent_hugepages=_chosen(
                probe.read("/sys/kernel/mm/transparent_hugepage/enabled")
            ),
            glibc=" ".join(platform.libc_ver()[1:]) or "unknown",
            load_1m=float((probe.read("/proc/loadavg").split() or ["0"])[0]),
            steal_share=steal_share({}, cpu_times(probe)),
            systemd=bool(probe.glob("/run/systemd/system")),
            is_root=is_root,
            capabilities=capabilities,
            perf_event_paranoid=_integer(probe, "/proc/sys/kernel/perf_event_paranoid"),
            kptr_restrict=_integer(probe, "/proc/sys/kernel/kptr_restrict"),
            kernel_symbols=_shows_addresses(probe),
            libraries=_libraries(libraries, MYSQLD_LIBRARIES),
            allocators=_libraries(libraries, ALLOCATORS),
            libc_symbols=_has_symbols(probe, libraries, "libc.so.6"),
            cache_free_bytes=probe.free_bytes(_cache_root()),
            shm_free_bytes=probe.free_bytes("/dev/shm") if probe.glob("/dev/shm") else 0,
            perf=perf.result(),
            engine=engine.result(),
            programs=programs.result(),
            network=network_facts(probe),
            captures=captures.result(),
            bcc=bcc.result(),
        )


@cache
def facts() -> HostFacts:
    """collect(), once a process."""
    return collect()


def to_environment(host: HostFacts) -> dict[str, Any]:
    """What a run records of its machine: no names of hosts or users, no paths."""
    perf = host.perf
    return {
        "cpu_model": host.cpu_model,
        "cores": host.cores,
        "memory_bytes": host.memory_bytes,
        "memory_available_bytes": host.memory_available_bytes,
        "kernel": host.kernel,
        "architecture": host.architecture,
        "distro": host.distro,
        "virtualisation": host.virtualisation,
        "governor": host.governor,
        "transparent_hugepages": host.transparent_hugepages,
        "glibc": host.glibc,
        "load_1m": host.load_1m,
        "steal_share": round(host.steal_share, 4),
        "perf_version": perf.version if perf else "",
        "perf_event": perf.event if perf else "",
        "perf_kernel": bool(perf and perf.kernel),
        "perf_event_paranoid": host.perf_event_paranoid,
        "kptr_restrict": host.kptr_restrict,
        "kernel_symbols": host.kernel_symbols,
        "libc_symbols": host.libc_symbols,
        "root": host.is_root,
        "docker": host.engine.version,
        "programs": {name: program.version for name, program in sorted(host.programs.items())},
        "cache_free_bytes": host.cache_free_bytes,
        "shm_free_bytes": host.shm_free_bytes,
    }


# --- CPU time ---------------------------------------------------------------------------------


def cpu_times(probe: Probe | None = None) -> dict[str, int]:
    """Ticks of all CPUs since boot: {"total": ..., "steal": ...}; empty where not known."""
    # cpu  user nice system idle iowait irq softirq steal guest guest_nice
    for line in (probe or Probe()).read("/proc/stat").splitlines():
        name, *fields = line.split()
        if name == "cpu" and len(fields) >= 8:
            ticks = [int(field) for field in fields[:8]]  # guest time is within user's
            return {"total": sum(ticks), "steal": ticks[7]}
    return {}


def steal_share(before: Mapping[str, int], after: Mapping[str, int]) -> float:
    """Share of the CPU time between two cpu_times() that the hypervisor gave to others."""
    total = after.get("total", 0) - before.get("total", 0)
    return (after.get("steal", 0) - before.get("steal", 0)) / total if total > 0 else 0.0


# --- bcc --------------------------------------------------------------------------------------


def _bcc_facts(probe: Probe) -> BccFacts:
    find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('bcc') is None)"
    pythons = dict.fromkeys(["/usr/bin/python3", sys.executable])
    able = (python for python in pythons if probe.run(python, "-c", find).code == 0)
    return BccFacts(
        python=next(able, ""),
        # The archive of headers that some kernels carry serves bcc as well.
        headers=bool(
            probe.glob(f"/lib/modules/{platform.release()}/build/include")
            or probe.glob("/sys/kernel/kheaders.tar.xz")
        ),
        uprobes=bool(probe.glob("/sys/bus/event_source/devices/uprobe")),
    )


# --- programs ---------------------------------------------------------------------------------


def find_perf(probe: Probe | None = None) -> str | None:
    """A perf that runs on this kernel, or None."""
    probe = probe or Probe()
    candidates = [probe.which("perf")]
    for place in _PERF_PLACES:
        candidates += reversed(probe.glob(place))
    return next((c for c in candidates if c and probe.run(c, "version").code == 0), None)


def find_flamegraph(probe: Probe | None = None) -> str | None:
    """FlameGraph's flamegraph.pl: the user's choice, on PATH, or where Debian and Ubuntu put it."""
    probe = probe or Probe()
    if chosen := probe.variable(FLAMEGRAPH_VARIABLE):
        return chosen if probe.glob(chosen) else None
    places = [path for place in _FLAMEGRAPH_PLACES for path in probe.glob(place)]
    return probe.which("flamegraph.pl") or next(iter(places), None)


def _captures(probe: Probe) -> bool:
    """Listing an interface's link types takes the same permission as capturing on it."""
    path = probe.which("tcpdump")
    return path is not None and probe.run(path, "-i", "lo", "-L").code == 0


def _perf_facts(probe: Probe) -> PerfFacts | None:
    path = find_perf(probe)
    if path is None:
        return None
    version = _version_in(probe.run(path, "version").out)
    # A line of -x, is "value,unit,event,..."; "<not supported>" and "<not counted>" are values too.
    counted = probe.run(path, "stat", "-x,", "-e", "cycles", "-e", "cpu-clock", "--", "true")
    events = re.findall(r"^[\d.]+,[^,]*,([^,]+),", counted.out, re.MULTILINE)
    event = next((name for name in ("cycles", "cpu-clock") if name in " ".join(events)), "")
    # Without the permission perf silently counts user code only, unless ":k" forbids that.
    own_kernel = ("-e", "cpu-clock:k", "--", "true")
    other_process = ("-e", "cpu-clock", "-p", "1", "--", "sleep", "0")
    return PerfFacts(
        path=path,
        version=version,
        event=event,
        kernel=bool(event) and _counts(probe, path, *own_kernel),
        any_process=bool(event) and _counts(probe, path, *other_process),
        refusal="" if event else _refusal(counted),
    )


def _counts(probe: Probe, perf: str, *arguments: str) -> bool:
    return probe.run(perf, "stat", "-x,", *arguments).code == 0


def _refusal(ran: Ran) -> str:
    lines = [line.strip() for line in ran.out.splitlines()]
    useful = [line for line in lines if line and line != "Error:"]
    return useful[0] if useful else f"perf stat ended with {ran.code}"


def _programs(probe: Probe) -> dict[str, Program]:
    commands = {
        "java": ("-version",),
        "javac": ("-version",),
        "mvn": ("--version",),
        "npm": ("--version",),
        "sysbench": ("--version",),
        "perl": ("--version",),
        "busybox": (),
        "tcpdump": ("--version",),
        "dockerd": ("--version",),
        "ip": ("-V",),
        "openvpn": ("--version",),
        "mysqlrouter": ("--version",),
        "dpkg-deb": ("--version",),
    }
    found = {name: path for name in commands if (path := probe.which(name))}
    with ThreadPoolExecutor() as pool:  # a JVM or Node each: slow one after the other
        outputs = pool.map(lambda name: probe.run(found[name], *commands[name]).out, found)
        programs = {
            name: Program(path=found[name], version=_version_in(out))
            for name, out in zip(found, outputs, strict=True)
        }
    if flamegraph := find_flamegraph(probe):
        programs["flamegraph.pl"] = Program(path=flamegraph, version="")
    return programs


def _version_in(text: str) -> str:
    """What a program calls its version; empty where it does not say.

    openjdk version "25" 2025-09-16           perf version 6.1.192
    Apache Maven 3.8.7 (...)                  11.19.1
    Picked up JAVA_TOOL_OPTIONS: -Dx=1.2      (before a JVM's own lines)
    """
    lines = [line for line in text.splitlines() if not line.startswith("Picked up ")]
    for pattern in (r'version "([^"]+)"', r"(\d+(?:\.\d+)+[\w.+-]*)", r"\b(\d+)\b"):
        if found := re.search(pattern, "\n".join(lines)):
            return found.group(1)
    return ""


# --- the Docker engine ------------------------------------------------------------------------


def _docker_engine() -> EngineFacts:
    address = os.environ.get("DOCKER_HOST") or f"unix://{DEFAULT_DOCKER_SOCKET}"
    path = address.removeprefix("unix://")
    if "://" in path:
        return _remote_engine(address)
    if not Path(path).exists():
        return EngineFacts(state="absent", address=address)
    if not os.access(path, os.R_OK | os.W_OK):
        return EngineFacts(state="denied", address=address)
    try:
        version = json.loads(_ask_socket(path, "/version"))["Version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return EngineFacts(state="silent", address=address, detail=str(error))
    return EngineFacts(state="answers", address=address, version=str(version))


def _ask_socket(path: str, url: str) -> str:
    """The body of an HTTP answer from a Unix socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_ENGINE_TIMEOUT_S)
        client.connect(path)
        client.sendall(f"GET {url} HTTP/1.0\r\nHost: docker\r\n\r\n".encode())
        with client.makefile("rb") as answer:
            return answer.read(_ENOUGH).partition(b"\r\n\r\n")[2].decode(errors="replace")


def _remote_engine(address: str) -> EngineFacts:
    # Certificates and contexts are the SDK's business; imported here because it is slow.
    import docker
    from docker.errors import DockerException

    try:
        with contextlib.closing(docker.from_env(timeout=_ENGINE_TIMEOUT_S)) as client:
            version = client.version()["Version"]
    except (DockerException, OSError, KeyError) as error:
        return EngineFacts(state="silent", address=address, detail=str(error))
    return EngineFacts(state="answers", address=address, version=str(version))


# --- files of /proc, /sys and /etc ------------------------------------------------------------


def _cpu_model(probe: Probe) -> str:
    text = probe.read("/proc/cpuinfo")
    found = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.processor() or "unknown"


def _meminfo(probe: Probe, key: str) -> int:
    found = re.search(rf"^{key}:\s+(\d+) kB", probe.read("/proc/meminfo"), re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


def _os_release(probe: Probe) -> dict[str, str]:
    pairs = re.findall(r"^(\w+)=(.*)$", probe.read("/etc/os-release"), re.MULTILINE)
    return {key: value.strip("\"'") for key, value in pairs}


def _distro_ids(probe: Probe) -> list[str]:
    release = _os_release(probe)
    return [release.get("ID", ""), *release.get("ID_LIKE", "").split()]


def _virtualisation(probe: Probe) -> str:
    if detect := probe.which("systemd-detect-virt"):
        # It ends with 1 for "none".
        return probe.run(detect).out.strip() or "unknown"
    if probe.glob("/.dockerenv") or probe.glob("/run/.containerenv"):
        return "container"
    flags = re.search(r"^flags\s*:.*\bhypervisor\b", probe.read("/proc/cpuinfo"), re.MULTILINE)
    return "vm" if flags else "none"


def _first_line(probe: Probe, path: str, default: str) -> str:
    return probe.read(path).strip() or default


def _chosen(text: str) -> str:
    """ "madvise" of "always [madvise] never"."""
    found = re.search(r"\[(\w+)\]", text)
    return found.group(1) if found else "not shown"


def _integer(probe: Probe, path: str) -> int | None:
    text = probe.read(path).strip()
    return int(text) if re.fullmatch(r"-?\d+", text) else None


def _capabilities(probe: Probe) -> list[str]:
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", probe.read("/proc/self/status"), re.MULTILINE)
    bits = int(found.group(1), 16) if found else 0
    return [name for bit, name in _CAPABILITIES.items() if bits >> bit & 1]


def _shows_addresses(probe: Probe) -> bool:
    # To those who may not see them all are 0; the first few are 0 in truth on some kernels.
    found = re.search(r"^0*[1-9a-f][0-9a-f]* ", probe.read("/proc/kallsyms"), re.MULTILINE)
    return found is not None


def finds_library(name: str) -> bool:
    """Whether the dynamic linker would find a library of this soname or path."""
    if "/" in name:
        return Path(name).is_file()
    return f"\t{name} (" in Probe().run("/sbin/ldconfig", "-p").out


def _libraries(ldconfig: str, wanted: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    # \tlibaio.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libaio.so.1
    return {
        name: next((soname for soname in sonames if f"\t{soname} (" in ldconfig), "")
        for name, sonames in wanted.items()
    }


def _has_symbols(probe: Probe, ldconfig: str, soname: str) -> bool:
    """Whether the debug file of a stripped library lies where perf looks for it."""
    found = re.search(rf"^\t{re.escape(soname)} \(.*=> (\S+)$", ldconfig, re.MULTILINE)
    identity = probe.build_id(found.group(1)) if found else ""
    return bool(
        identity and probe.glob(f"/usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug")
    )


def _cache_root() -> str:
    return os.environ.get("MYSQLPROF_CACHE") or platformdirs.user_cache_dir("mysqlprof")
