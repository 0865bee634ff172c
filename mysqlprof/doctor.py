"""What this host can do, and for each "no" the exact command that mends it.

The same rows answer `mysqlprof doctor` and the checks made before a run (require_*), so that both
always say the same.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mysqlprof import host
from mysqlprof.errors import EnvironmentLacks, UsageError
from mysqlprof.host import HostFacts

_MIB = 2**20
_CACHE_NEEDED = 1024 * _MIB
"""Archives, unpacked servers and data directories of the two servers of a run."""
_SHM_NEEDED = 1536 * _MIB
"""Below that, data directories go to disk and its noise goes into the timings."""


@dataclass(frozen=True)
class Check:
    """One row of doctor's table.

    `ok` is None where it is neither good nor bad: not there, and not needed on this host.
    `essential` ones must be ok for the main job, `mysqlprof reproduce bug-73056`.
    """

    name: str
    ok: bool | None
    found: str
    needed_for: str
    mend: str = ""
    essential: bool = False
    commands: tuple[str, ...] = ()
    """Of `mend`, where `doctor --mend` may run them as they stand: shell commands, in order."""

    @property
    def prevents(self) -> bool:
        return self.essential and self.ok is False


def checks(facts: HostFacts | None = None) -> list[Check]:
    """All rows, for this machine unless `facts` are another's."""
    facts = facts or host.facts()
    return [row(facts) for row in _ROWS.values()]


def can_run(rows: Iterable[Check]) -> bool:
    """Whether the main job can run."""
    return not any(row.prevents for row in rows)


# --- mending ----------------------------------------------------------------------------------


def mend(name: str, tell: Callable[[str], None]) -> Check:
    """Run the commands that a row shows, each told before it runs; the row as it is afterwards.

    Raises UsageError for a row that does not exist, EnvironmentLacks where a command fails or
    where mending is not a matter of commands.
    """
    if name not in _ROWS:
        raise UsageError(f"doctor has no row {name!r}", f"its rows are: {', '.join(_ROWS)}")
    row = _ROWS[name](host.facts())
    if row.ok:
        return row
    if not row.commands:
        raise EnvironmentLacks(f"{name} is nothing that commands here could mend", row.mend)
    for command in row.commands:
        tell(command)
        done = subprocess.run(["sh", "-c", command], stdout=sys.stderr, check=False)
        if done.returncode:
            raise EnvironmentLacks(
                f"`{command}` ended with {done.returncode}", "see its words above"
            )
    return _ROWS[name](host.collect())


# --- before a run -----------------------------------------------------------------------------


def require(name: str, facts: HostFacts | None = None) -> Check:
    """The row of that name; EnvironmentLacks, in its words, where it is not ok."""
    row = _ROWS[name](facts or host.facts())
    if row.ok is False:
        raise EnvironmentLacks(f"{row.name}: {row.found}; needed for {row.needed_for}", row.mend)
    return row


def require_perf(facts: HostFacts | None = None) -> host.PerfFacts:
    """A perf that runs and may record this user's processes with their kernel stacks."""
    facts = facts or host.facts()
    require("perf", facts)
    require("perf permission", facts)
    assert facts.perf is not None
    return facts.perf


def require_perf_of_containers(facts: HostFacts | None = None) -> host.PerfFacts:
    """The same, for a mysqld of another user, as a container's is."""
    facts = facts or host.facts()
    perf = require_perf(facts)
    require("perf in containers", facts)
    return perf


def require_flamegraph(facts: HostFacts | None = None) -> str:
    """The path of flamegraph.pl."""
    facts = facts or host.facts()
    require("flamegraph.pl", facts)
    return facts.programs["flamegraph.pl"].path


def require_java(facts: HostFacts | None = None) -> None:
    require("JDK", facts)


def require_maven(facts: HostFacts | None = None) -> None:
    require("Maven", facts)


def require_npm(facts: HostFacts | None = None) -> None:
    if "npm" not in (facts or host.facts()).programs:
        row = _npm(facts or host.facts())
        raise EnvironmentLacks(f"{row.name}: {row.found}; needed for {row.needed_for}", row.mend)


def require_docker(facts: HostFacts | None = None) -> None:
    """An engine that answers: for --backend docker; `auto` looks at engine.state instead."""
    facts = facts or host.facts()
    row = _docker(facts)
    if facts.engine.state != "answers":
        raise EnvironmentLacks(f"{row.name}: {row.found}; needed for {row.needed_for}", row.mend)


def require_libraries(facts: HostFacts | None = None) -> None:
    require("mysqld's libraries", facts)


def require_space(facts: HostFacts | None = None) -> None:
    require("disk", facts)


# --- the rows ---------------------------------------------------------------------------------


def _perf(facts: HostFacts) -> Check:
    perf = facts.perf
    if perf is None:
        package = "linux-perf"
        if "ubuntu" in facts.distro_ids:
            package = f"linux-tools-{facts.kernel} || {_apt(facts, 'linux-tools-generic')}"
        return Check(
            "perf",
            False,
            "no perf that runs on this kernel",
            "profiles",
            _apt(facts, package),
            essential=True,
        )
    note = "" if perf.event == "cycles" else "; no hardware counters here: cpu-clock is used"
    return Check(
        "perf", True, f"perf {perf.version}{note if perf.event else ''}", "profiles", essential=True
    )


def _perf_permission(facts: HostFacts) -> Check:
    # Up to 1 the kernel lets every user record processes of their own with the kernel's part;
    # at 2 only the user part, silently; distributions' 3 and 4 forbid all.
    perf, level = facts.perf, facts.perf_event_paranoid
    setting = f"kernel.perf_event_paranoid is {'not shown' if level is None else level}"
    name, needed_for = "perf permission", "profiles with the kernel's share"
    if perf is None:
        return Check(name, None, f"cannot be tried without perf; {setting}", needed_for)
    if perf.event and perf.kernel:
        who = "as root" if facts.is_root else setting
        return Check(name, True, f"may record own processes ({who})", needed_for, essential=True)
    if facts.is_root or level is None or level <= 1:
        # A container or a sandbox took the system call or the capability away.
        words = perf.refusal or "the kernel's part is refused"
        mend = "allow perf_event_open here: outside of the container, or with CAP_PERFMON"
        return Check(name, False, f"{words} ({setting})", needed_for, mend, essential=True)
    found = f"user code only ({setting})" if perf.event else f"refused ({setting})"
    mend = _sudo(facts, "sysctl kernel.perf_event_paranoid=1")
    return Check(name, False, found, needed_for, mend, essential=True)


def _kernel_symbols(facts: HostFacts) -> Check:
    name, needed_for = "kernel symbols", "names of kernel functions in profiles"
    if facts.kernel_symbols:
        return Check(name, True, "readable", needed_for)
    restricted, level = facts.kptr_restrict, facts.perf_event_paranoid
    wanted = []
    if restricted is None or restricted > (1 if facts.is_root else 0):
        wanted.append(f"kernel.kptr_restrict={1 if facts.is_root else 0}")
    if not facts.is_root and (level is None or level > 1):
        wanted.append("kernel.perf_event_paranoid=1")
    mend = (
        _sudo(facts, f"sysctl {' '.join(wanted)}") if wanted else "run as root on the host itself"
    )
    found = f"hidden (kptr_restrict is {restricted}, perf_event_paranoid is {level})"
    return Check(name, False, found, needed_for, mend)


def _libc_symbols(facts: HostFacts) -> Check:
    name, needed_for = "libc symbols", "the names of memory copies in profiles"
    if facts.libc_symbols:
        return Check(name, True, "installed", needed_for)
    return Check(name, False, "not installed", needed_for, _apt(facts, "libc6-dbg"))


def _perf_of_containers(facts: HostFacts) -> Check:
    name = "perf in containers"
    needed_for = "profiles of servers in Docker, which run as another user"
    perf = facts.perf
    if perf is None or not perf.event:
        return Check(name, None, "cannot be tried without perf", needed_for)
    if perf.any_process:
        return Check(name, True, "may record other users' processes", needed_for)
    grant = (
        f"setcap cap_perfmon,cap_sys_ptrace,cap_syslog=ep {os.path.realpath(perf.path)}"
        " (or run mysqlprof as root, or use --backend local)"
    )
    if facts.engine.state != "answers":
        return Check(name, None, "refused, but no Docker engine to use it with", needed_for)
    return Check(name, False, "other users' processes are refused", needed_for, _sudo(facts, grant))


def _flamegraph(facts: HostFacts) -> Check:
    name, needed_for = "flamegraph.pl", "flame graphs"
    program = facts.programs.get("flamegraph.pl")
    if program and "perl" in facts.programs:
        return Check(name, True, program.path, needed_for, essential=True)
    found = "perl is missing" if program else "not found"
    package = "perl" if program else "libdevel-nytprof-perl"
    return Check(name, False, found, needed_for, _apt(facts, package), essential=True)


def _jdk(facts: HostFacts) -> Check:
    name, needed_for = "JDK", "the Connector/J driver (--driver python does without)"
    absent = [name for name in ("java", "javac") if name not in facts.programs]
    if not absent:
        version = facts.programs["javac"].version
        return Check(name, True, f"javac {version}", needed_for, essential=True)
    mend = _apt(facts, "default-jdk-headless")
    found = f"no {' and no '.join(absent)}"
    return Check(name, False, found, needed_for, mend, essential=True)


def _maven(facts: HostFacts) -> Check:
    name, needed_for = "Maven", "fetching Connector/J and the archives of servers"
    if program := facts.programs.get("mvn"):
        return Check(name, True, f"Maven {program.version}", needed_for, essential=True)
    return Check(name, False, "not found", needed_for, _apt(facts, "maven"), essential=True)


def _npm(facts: HostFacts) -> Check:
    name, needed_for = "npm", "fetching the archive of MySQL 5.7.29, once"
    if program := facts.programs.get("npm"):
        return Check(name, True, f"npm {program.version}", needed_for)
    return Check(name, None, "not found", needed_for, _apt(facts, "npm"))


def _sysbench(facts: HostFacts) -> Check:
    name, needed_for = "sysbench", "the scenarios oltp_read_write and oltp_point_select"
    if program := facts.programs.get("sysbench"):
        return Check(name, True, f"sysbench {program.version}", needed_for)
    return Check(name, None, "not found", needed_for, _apt(facts, "sysbench"))


def _docker(facts: HostFacts) -> Check:
    name, needed_for = "Docker", "servers in containers (--backend local does without)"
    engine = facts.engine
    if engine.state == "answers":
        return Check(name, True, f"engine {engine.version}", needed_for)
    if engine.state == "denied":
        mend = _sudo(facts, "usermod -aG docker $USER") + ", then log in again"
        return Check(name, False, f"no permission for {engine.address}", needed_for, mend)
    start = _sudo(
        facts,
        "systemctl start docker"
        if facts.systemd
        else "sh -c 'dockerd >/var/log/dockerd.log 2>&1 &'",
    )
    if engine.state == "silent":
        return Check(name, False, f"{engine.address} does not answer", needed_for, start)
    if "dockerd" in facts.programs:
        return Check(name, None, "installed, not running", needed_for, start)
    mend = f"{_apt(facts, 'docker.io')} && {start}"
    return Check(name, None, "no engine", needed_for, mend)


def _bcc(facts: HostFacts) -> Check:
    name, needed_for = "bcc", "exact counts and time off the CPU (--evidence full)"
    bcc = facts.bcc
    if not bcc.uprobes:
        mend = "use a kernel with CONFIG_UPROBES; runs go on without counts"
        return Check(name, False, "this kernel has no uprobes", needed_for, mend)
    lacking = [] if bcc.python else ["no Python that can import bcc"]
    lacking += [] if bcc.headers else [f"no headers of kernel {facts.kernel}"]
    if lacking:
        commands = _bcc_commands(facts)
        mend = " && ".join(commands)
        found = " and ".join(lacking)
        runnable = commands if {"debian", "ubuntu"} & set(facts.distro_ids) else ()
        return Check(name, False, found, needed_for, mend, commands=runnable)
    if not facts.is_root:
        mend = "run mysqlprof as root"
        return Check(name, False, "only root may load its programs", needed_for, mend)
    return Check(name, True, f"for {bcc.python}, with kernel headers", needed_for)


def _bcc_commands(facts: HostFacts) -> tuple[str, ...]:
    """Where the running kernel's own headers are not packaged, those of the distribution's kernel
    serve: of the kernel's structures, the programs here read none that differs."""
    packages = [] if facts.bcc.python else ["python3-bpfcc"]
    if facts.bcc.headers:
        return (_apt(facts, *packages),)
    modules = f"/lib/modules/{facts.kernel}"
    distributed = re.search(r"-(amd64|arm64|generic)$", facts.kernel)
    if distributed:
        return (_apt(facts, " ".join([*packages, f"linux-headers-{facts.kernel}"])),)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(facts.architecture, facts.architecture)
    flavour = "generic" if "ubuntu" in facts.distro_ids else machine
    links = [("build", f"linux-headers-*-{flavour}")]
    if flavour != "generic":
        links.append(("source", "linux-headers-*-common"))
    return (
        _apt(facts, " ".join([*packages, f"linux-headers-{flavour}"])),
        _sudo(facts, f"mkdir -p {modules}"),
        *(
            _sudo(facts, f'ln -sfn "$(ls -d /usr/src/{headers} | tail -n 1)" {modules}/{link}')
            for link, headers in links
        ),
    )


def _libraries(facts: HostFacts) -> Check:
    name, needed_for = "mysqld's libraries", "servers as local processes"
    absent = [library for library, soname in facts.libraries.items() if not soname]
    if not absent:
        found = ", ".join(soname for soname in facts.libraries.values())
        return Check(name, True, found, needed_for)
    packages = [_LIBRARY_PACKAGES[library] for library in absent]
    mend = _apt(facts, " ".join(packages))
    if "libaio" in absent:
        mend += " (libaio1t64 instead of libaio1 from Debian 13 and Ubuntu 24.04 on)"
    # Containers bring libraries of their own.
    essential = facts.engine.state != "answers"
    return Check(name, False, f"no {', no '.join(absent)}", needed_for, mend, essential)


_LIBRARY_PACKAGES = {
    "libaio": "libaio1",
    "libnuma": "libnuma1",
    "libatomic": "libatomic1",
    "libcrypt": "libcrypt1",
    "libstdc++": "libstdc++6",
}


def _allocators(facts: HostFacts) -> Check:
    name, needed_for = "allocators", "the arms of `scale` and `remedies` with another malloc"
    absent = [allocator for allocator, soname in facts.allocators.items() if not soname]
    if not absent:
        return Check(name, True, ", ".join(facts.allocators.values()), needed_for)
    packages = " ".join(_ALLOCATOR_PACKAGES[allocator] for allocator in absent)
    return Check(name, None, f"no {', no '.join(absent)}", needed_for, _apt(facts, packages))


_ALLOCATOR_PACKAGES = {"jemalloc": "libjemalloc2", "tcmalloc": "libtcmalloc-minimal4"}


def mend_of_allocator(soname: str, facts: HostFacts | None = None) -> str:
    """The command that installs a library known here; of others, that it must be installed."""
    for allocator, sonames in host.ALLOCATORS.items():
        if soname in sonames:
            return _apt(facts or host.facts(), _ALLOCATOR_PACKAGES[allocator])
    return f"install {soname}, or correct LD_PRELOAD in the scenario"


def _busybox(facts: HostFacts) -> Check:
    name, needed_for = "busybox", "building a server's image where none can be pulled"
    if program := facts.programs.get("busybox"):
        return Check(name, True, f"busybox {program.version}", needed_for)
    ok = False if facts.engine.state == "answers" else None
    return Check(name, ok, "not found", needed_for, _apt(facts, "busybox-static"))


def _wire(facts: HostFacts) -> Check:
    name, needed_for = "wire capture", "what goes over the network (--evidence full)"
    program = facts.programs.get("tcpdump")
    if program is None:
        return Check(name, False, "no tcpdump", needed_for, _apt(facts, "tcpdump"))
    if facts.captures:
        return Check(name, True, f"tcpdump {program.version}", needed_for)
    mend = _sudo(facts, f"setcap cap_net_raw=ep {os.path.realpath(program.path)}")
    return Check(name, False, "tcpdump may not capture: no CAP_NET_RAW", needed_for, mend)


def _disk(facts: HostFacts) -> Check:
    name, needed_for = "disk", "servers and runs"
    free = facts.cache_free_bytes
    found = f"{free // _MIB} MiB free for archives and data directories"
    if free >= _CACHE_NEEDED:
        return Check(name, True, found, needed_for, essential=True)
    lacking = (_CACHE_NEEDED - free) // _MIB + 1
    mend = f"free {lacking} MiB, or set MYSQLPROF_CACHE to a directory on another disk"
    return Check(name, False, found, needed_for, mend, essential=True)


def _memory_disk(facts: HostFacts) -> Check:
    name, needed_for = "memory disk", "timings without the disk's noise"
    free = facts.shm_free_bytes
    found = f"{free // _MIB} MiB free in /dev/shm" if free else "no /dev/shm"
    if free >= _SHM_NEEDED:
        return Check(name, True, found, needed_for)
    mend = _sudo(facts, f"mount -o remount,size={2 * _SHM_NEEDED // _MIB}m /dev/shm")
    return Check(name, None, found, needed_for, mend)


def _governor(facts: HostFacts) -> Check:
    governor = facts.governor
    bad = governor in ("powersave", "ondemand", "conservative", "schedutil")
    return Check(
        "CPU governor",
        None if bad else True,
        governor,
        "steady timings",
        _sudo(facts, "cpupower frequency-set -g performance") if bad else "",
    )


def _cpus(facts: HostFacts) -> Check:
    found = f"{facts.cores} usable, load {facts.load_1m:.1f}, steal {facts.steal_share:.1%}"
    quiet = facts.load_1m <= facts.cores / 2 and facts.steal_share <= 0.02
    ok = None if facts.cores < 2 or not quiet else True
    mend = "" if ok else "use a machine of 2 or more cores with nothing else running"
    return Check("CPUs", ok, found, "trustworthy timings", mend)


def _namespaces(facts: HostFacts) -> Check:
    name, needed_for = "network namespaces", "links, tunnels and proxies between two hosts"
    if facts.network.namespaces and "ip" in facts.programs:
        return Check(name, True, "can be made", needed_for)
    if facts.network.namespaces:
        return Check(name, False, "no ip", needed_for, _apt(facts, "iproute2"))
    mend = "run mysqlprof as root, outside of a container (or with CAP_SYS_ADMIN, CAP_NET_ADMIN)"
    return Check(name, False, f"refused ({facts.network.refusal})", needed_for, mend)


def _shaping(facts: HostFacts) -> Check:
    return _qdisc(facts, "link rates", facts.network.shaping, "tbf", "links of a known rate")


def _delay(facts: HostFacts) -> Check:
    return _qdisc(facts, "link delay", facts.network.delay, "netem", "links of a known round trip")


def _qdisc(facts: HostFacts, name: str, able: bool, kind: str, needed_for: str) -> Check:
    if not facts.network.namespaces:
        return Check(name, None, "cannot be tried without network namespaces", needed_for)
    if able:
        return Check(name, True, f"tc and the kernel's {kind}", needed_for)
    mend = _sudo(facts, f"modprobe sch_{kind}") + " (a kernel without it cannot; Debian's has it)"
    return Check(name, False, f"no {kind} in this kernel", needed_for, mend)


def _openvpn(facts: HostFacts) -> Check:
    name, needed_for = "OpenVPN", "connections through a tunnel"
    program = facts.programs.get("openvpn")
    if not program:
        return Check(name, False, "not found", needed_for, _apt(facts, "openvpn"))
    if not facts.network.tun:
        return Check(name, False, "no /dev/net/tun", needed_for, _sudo(facts, "modprobe tun"))
    return Check(name, True, f"OpenVPN {program.version}", needed_for)


def _router(facts: HostFacts) -> Check:
    name, needed_for = "MySQL Router", "connections through a pooling proxy"
    if program := facts.programs.get("mysqlrouter"):
        return Check(name, True, f"MySQL Router {program.version}", needed_for)
    if _unpacks_debians_packages(facts):
        found = "not installed: unpacked from Debian's packages on first use"
        return Check(name, True, found, needed_for)
    return Check(name, False, "not found", needed_for, _apt(facts, "mysql-router"))


def _debian_packages(facts: HostFacts) -> Check:
    name, needed_for = "Debian's packages", "MySQL 9.7 without an image of it"
    if _unpacks_debians_packages(facts):
        return Check(name, True, "unpacked beside this system on first use", needed_for)
    return Check(name, None, "this system's packages are not Debian's", needed_for)


def _unpacks_debians_packages(facts: HostFacts) -> bool:
    return facts.distro_ids[0] == "debian" and "dpkg-deb" in facts.programs


_ROWS: dict[str, Callable[[HostFacts], Check]] = {
    "perf": _perf,
    "perf permission": _perf_permission,
    "kernel symbols": _kernel_symbols,
    "libc symbols": _libc_symbols,
    "perf in containers": _perf_of_containers,
    "flamegraph.pl": _flamegraph,
    "JDK": _jdk,
    "Maven": _maven,
    "npm": _npm,
    "sysbench": _sysbench,
    "Docker": _docker,
    "bcc": _bcc,
    "mysqld's libraries": _libraries,
    "allocators": _allocators,
    "busybox": _busybox,
    "network namespaces": _namespaces,
    "link rates": _shaping,
    "link delay": _delay,
    "OpenVPN": _openvpn,
    "MySQL Router": _router,
    "wire capture": _wire,
    "Debian's packages": _debian_packages,
    "disk": _disk,
    "memory disk": _memory_disk,
    "CPU governor": _governor,
    "CPUs": _cpus,
}


# --- the commands that mend -------------------------------------------------------------------


def _sudo(facts: HostFacts, command: str) -> str:
    return command if facts.is_root else f"sudo {command}"


def _apt(facts: HostFacts, packages: str) -> str:
    if not {"debian", "ubuntu"} & set(facts.distro_ids):
        return f"install it with this system's package manager (on Debian: {packages})"
    return _sudo(facts, f"apt-get install -y --no-install-recommends {packages}")
