"""What doctor says of hosts that lack something, and the commands that mend it."""

from types import SimpleNamespace

import pytest

from mysqlprof import doctor, host
from mysqlprof.doctor import Check
from mysqlprof.errors import EnvironmentLacks, UsageError
from mysqlprof.host import BccFacts, EngineFacts, HostFacts, PerfFacts, Program
from mysqlprof.host_network import NetworkFacts

PERF = PerfFacts(path="/opt/perf", version="6.1", event="cycles", kernel=True, any_process=True)
USER_ONLY = PERF.model_copy(update={"kernel": False, "any_process": False})
REFUSED = USER_ONLY.model_copy(update={"event": "", "refusal": "Access is limited."})
ENGINE = EngineFacts(state="answers", address="unix:///run/docker.sock", version="28.2")
BCC = BccFacts(python="/usr/bin/python3", headers=True, uprobes=True)
PROGRAMS = (
    *("flamegraph.pl", "perl", "java", "javac", "mvn", "npm", "busybox", "dockerd", "sysbench"),
    *("ip", "openvpn", "mysqlrouter", "dpkg-deb", "tcpdump"),
)
NETWORK = NetworkFacts(namespaces=True, shaping=True, delay=True, tun=True)

GOOD = HostFacts(
    cpu_model="CPU",
    cores=4,
    memory_bytes=8 * 2**30,
    memory_available_bytes=7 * 2**30,
    kernel="6.8.0-31-generic",
    architecture="x86_64",
    distro="Debian GNU/Linux 12",
    distro_ids=["debian"],
    virtualisation="none",
    governor="performance",
    transparent_hugepages="madvise",
    glibc="2.36",
    load_1m=0.1,
    steal_share=0.0,
    systemd=True,
    is_root=False,
    capabilities=[],
    perf_event_paranoid=1,
    kptr_restrict=0,
    kernel_symbols=True,
    perf=PERF,
    engine=ENGINE,
    programs={name: Program(path=f"/usr/bin/{name}", version="1.0") for name in PROGRAMS},
    libraries={name: sonames[0] for name, sonames in host.MYSQLD_LIBRARIES.items()},
    allocators={name: sonames[0] for name, sonames in host.ALLOCATORS.items()},
    libc_symbols=True,
    captures=True,
    cache_free_bytes=50 * 2**30,
    shm_free_bytes=4 * 2**30,
    network=NETWORK,
    bcc=BCC,
)


def but(**changes: object) -> HostFacts:
    """A good host, but for this."""
    return GOOD.model_copy(update=changes)


def without(*programs: str, **changes: object) -> HostFacts:
    kept = {name: p for name, p in GOOD.programs.items() if name not in programs}
    return but(programs=kept, **changes)


def row(name: str, facts: HostFacts) -> Check:
    return next(check for check in doctor.checks(facts) if check.name == name)


def test_a_good_host_has_nothing_to_mend() -> None:
    rows = doctor.checks(but(is_root=True))
    assert [check.name for check in rows if check.ok is not True] == []
    assert [check.mend for check in rows if check.mend] == []
    assert doctor.can_run(rows)


APT = "sudo apt-get install -y --no-install-recommends"


@pytest.mark.parametrize(
    ("name", "facts", "mend"),
    [
        ("perf", but(perf=None), f"{APT} linux-perf"),
        (
            "perf",
            but(perf=None, distro_ids=["ubuntu", "debian"]),
            f"{APT} linux-tools-6.8.0-31-generic || {APT} linux-tools-generic",
        ),
        (
            "perf permission",
            but(perf=USER_ONLY, perf_event_paranoid=2),
            "sudo sysctl kernel.perf_event_paranoid=1",
        ),
        (
            "perf permission",
            but(perf=REFUSED, perf_event_paranoid=4),
            "sudo sysctl kernel.perf_event_paranoid=1",
        ),
        ("flamegraph.pl", without("flamegraph.pl"), f"{APT} libdevel-nytprof-perl"),
        ("flamegraph.pl", without("perl"), f"{APT} perl"),
        ("JDK", without("javac"), f"{APT} default-jdk-headless"),
        ("Maven", without("mvn"), f"{APT} maven"),
    ],
)
def test_what_the_main_job_needs_prevents_it(name: str, facts: HostFacts, mend: str) -> None:
    check = row(name, facts)
    assert check.ok is False
    assert check.mend == mend
    assert not doctor.can_run(doctor.checks(facts))


@pytest.mark.parametrize(
    ("name", "facts", "mend"),
    [
        (
            "kernel symbols",
            but(kernel_symbols=False, perf_event_paranoid=2, kptr_restrict=1),
            "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1",
        ),
        (
            "kernel symbols",
            but(kernel_symbols=False, kptr_restrict=2, is_root=True),
            "sysctl kernel.kptr_restrict=1",
        ),
        ("libc symbols", but(libc_symbols=False), f"{APT} libc6-dbg"),
        ("bcc", GOOD, "run mysqlprof as root"),
        (
            "bcc",
            but(bcc=BCC.model_copy(update={"python": "", "headers": False})),
            f"{APT} python3-bpfcc linux-headers-6.8.0-31-generic",
        ),
        (
            "bcc",
            but(bcc=BCC.model_copy(update={"headers": False}), kernel="6.18.0-own"),
            f"{APT} linux-headers-amd64 && sudo mkdir -p /lib/modules/6.18.0-own"
            ' && sudo ln -sfn "$(ls -d /usr/src/linux-headers-*-amd64 | tail -n 1)"'
            " /lib/modules/6.18.0-own/build"
            ' && sudo ln -sfn "$(ls -d /usr/src/linux-headers-*-common | tail -n 1)"'
            " /lib/modules/6.18.0-own/source",
        ),
        (
            "bcc",
            but(bcc=BCC.model_copy(update={"uprobes": False})),
            "use a kernel with CONFIG_UPROBES; runs go on without counts",
        ),
        (
            "perf in containers",
            but(perf=PERF.model_copy(update={"any_process": False})),
            "sudo setcap cap_perfmon,cap_sys_ptrace,cap_syslog=ep /opt/perf"
            " (or run mysqlprof as root, or use --backend local)",
        ),
        (
            "Docker",
            but(engine=EngineFacts(state="denied", address="unix:///run/docker.sock")),
            "sudo usermod -aG docker $USER, then log in again",
        ),
        (
            "Docker",
            but(engine=EngineFacts(state="silent", address="unix:///run/docker.sock")),
            "sudo systemctl start docker",
        ),
        ("busybox", without("busybox"), f"{APT} busybox-static"),
        ("wire capture", without("tcpdump"), f"{APT} tcpdump"),
        ("wire capture", but(captures=False), "sudo setcap cap_net_raw=ep /usr/bin/tcpdump"),
    ],
)
def test_what_the_main_job_can_do_without_does_not(name: str, facts: HostFacts, mend: str) -> None:
    check = row(name, facts)
    assert check.ok is False
    assert check.mend == mend
    assert doctor.can_run(doctor.checks(facts))


def test_no_engine_is_neither_good_nor_bad() -> None:
    absent = EngineFacts(state="absent", address="unix:///run/docker.sock")
    check = row("Docker", without("dockerd", engine=absent))
    assert check.ok is None
    assert check.mend == f"{APT} docker.io && sudo systemctl start docker"
    installed = row("Docker", but(engine=absent, systemd=False, is_root=True))
    assert installed.found == "installed, not running"
    assert installed.mend == "sh -c 'dockerd >/var/log/dockerd.log 2>&1 &'"


def test_libraries_matter_only_where_servers_are_local() -> None:
    lacking = {**GOOD.libraries, "libaio": "", "libnuma": ""}
    check = row("mysqld's libraries", but(libraries=lacking))
    assert check.found == "no libaio, no libnuma"
    assert check.mend.startswith(f"{APT} libaio1 libnuma1 (libaio1t64")
    assert not check.prevents
    absent = EngineFacts(state="absent", address="unix:///run/docker.sock")
    assert row("mysqld's libraries", but(libraries=lacking, engine=absent)).prevents


def test_root_needs_no_sudo() -> None:
    assert row("Maven", without("mvn", is_root=True)).mend.startswith("apt-get install")


def test_other_distributions_are_not_told_to_use_apt() -> None:
    mend = row("JDK", without("java", "javac", distro_ids=["fedora"])).mend
    assert "apt-get" not in mend
    assert "default-jdk-headless" in mend


def test_root_in_a_sandbox_is_not_sent_to_a_sysctl() -> None:
    check = row("perf permission", but(perf=REFUSED, is_root=True, perf_event_paranoid=4))
    assert check.ok is False
    assert "sysctl" not in check.mend
    assert "CAP_PERFMON" in check.mend
    assert "Access is limited." in check.found


def test_an_event_without_hardware_counters_is_named() -> None:
    clock = PERF.model_copy(update={"event": "cpu-clock"})
    assert "cpu-clock is used" in row("perf", but(perf=clock)).found


def test_a_disk_that_is_nearly_full_says_how_much_to_free() -> None:
    check = row("disk", but(cache_free_bytes=1000 * 2**20))
    assert check.prevents
    assert check.mend.startswith("free 25 MiB, or set MYSQLPROF_CACHE")


def test_sysbench_is_wanted_by_its_scenarios_only() -> None:
    assert row("sysbench", GOOD).found == "sysbench 1.0"
    check = row("sysbench", without("sysbench"))
    assert (check.ok, check.prevents) == (None, False)
    assert check.mend == "sudo apt-get install -y --no-install-recommends sysbench"


def test_a_busy_or_throttled_machine_is_a_warning() -> None:
    assert row("CPUs", but(load_1m=3.5)).ok is None
    assert row("CPUs", but(steal_share=0.08)).ok is None
    assert row("CPU governor", but(governor="powersave")).mend.startswith("sudo cpupower")
    assert row("memory disk", but(shm_free_bytes=64 * 2**20)).ok is None


@pytest.mark.parametrize(
    ("require", "facts", "name"),
    [
        (doctor.require_perf, but(perf=None), "perf"),
        (doctor.require_perf, but(perf=REFUSED, perf_event_paranoid=3), "perf permission"),
        (
            doctor.require_perf_of_containers,
            but(perf=PERF.model_copy(update={"any_process": False})),
            "perf in containers",
        ),
        (doctor.require_flamegraph, without("flamegraph.pl"), "flamegraph.pl"),
        (doctor.require_java, without("javac"), "JDK"),
        (doctor.require_maven, without("mvn"), "Maven"),
        (doctor.require_npm, without("npm"), "npm"),
        (doctor.require_docker, but(engine=EngineFacts(state="absent", address="a")), "Docker"),
        (doctor.require_libraries, but(libraries={"libaio": ""}), "mysqld's libraries"),
        (doctor.require_space, but(cache_free_bytes=0), "disk"),
    ],
)
def test_what_is_required_fails_in_the_words_of_its_row(require, facts, name) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(EnvironmentLacks) as raised:
        require(facts)
    check = row(name, facts)
    assert raised.value.message == f"{name}: {check.found}; needed for {check.needed_for}"
    assert raised.value.hint == check.mend
    assert check.mend


def test_what_is_there_is_handed_over() -> None:
    assert doctor.require_perf(GOOD) == PERF
    assert doctor.require_perf_of_containers(GOOD) == PERF
    assert doctor.require_flamegraph(GOOD) == "/usr/bin/flamegraph.pl"
    for require in (doctor.require_java, doctor.require_maven, doctor.require_npm):
        require(GOOD)
    doctor.require_docker(GOOD)


def test_this_machine_can_be_examined() -> None:
    rows = doctor.checks()
    assert len({check.name for check in rows}) == len(rows)
    assert all(check.found and check.needed_for for check in rows)
    assert all(check.mend for check in rows if check.ok is False)


def test_without_namespaces_the_rest_of_networking_cannot_be_tried() -> None:
    refused = but(network=NetworkFacts(refusal="unshare failed: Operation not permitted"))
    namespaces = row("network namespaces", refused)
    assert namespaces.ok is False
    assert "Operation not permitted" in namespaces.found
    assert "root" in namespaces.mend
    assert [row(name, refused).ok for name in ("link rates", "link delay")] == [None, None]
    assert doctor.can_run(doctor.checks(refused))


def test_a_kernel_without_a_queue_is_told_which() -> None:
    facts = but(network=NETWORK.model_copy(update={"delay": False}))
    assert row("link rates", facts).ok is True
    delay = row("link delay", facts)
    assert (delay.ok, "netem" in delay.found) == (False, True)
    assert delay.mend.startswith("sudo modprobe sch_netem")


def test_a_tunnel_needs_the_program_and_the_device() -> None:
    assert "openvpn" in row("OpenVPN", without("openvpn")).mend
    no_device = but(network=NETWORK.model_copy(update={"tun": False}))
    assert row("OpenVPN", no_device).mend == "sudo modprobe tun"


def test_mysql_router_is_unpacked_on_debian_and_installed_elsewhere() -> None:
    assert row("MySQL Router", without("mysqlrouter")).ok is True
    ubuntu = without("mysqlrouter", distro_ids=["ubuntu", "debian"])
    assert row("MySQL Router", ubuntu).ok is False
    assert row("MySQL Router", ubuntu).mend.endswith("mysql-router")


def test_mending_runs_exactly_the_commands_that_the_row_shows(monkeypatch) -> None:
    lacking = but(bcc=BCC.model_copy(update={"python": ""}), is_root=True)
    monkeypatch.setattr(host, "facts", lambda: lacking)
    monkeypatch.setattr(host, "collect", lambda: but(is_root=True))
    ran: list[str] = []

    def run(command: list[str], **options: object) -> SimpleNamespace:
        ran.append(command[-1])
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(doctor.subprocess, "run", run)
    told: list[str] = []
    assert doctor.mend("bcc", told.append).ok
    assert told == ran == [row("bcc", lacking).mend]


def test_mending_stops_at_the_first_command_that_fails(monkeypatch) -> None:
    lacking = but(bcc=BCC.model_copy(update={"headers": False}), is_root=True, kernel="6-own")
    monkeypatch.setattr(host, "facts", lambda: lacking)
    monkeypatch.setattr(doctor.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=100))
    told: list[str] = []
    with pytest.raises(EnvironmentLacks, match="ended with 100"):
        doctor.mend("bcc", told.append)
    assert len(told) == 1


def test_what_no_command_mends_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(host, "facts", lambda: GOOD)
    with pytest.raises(EnvironmentLacks, match="nothing that commands"):
        doctor.mend("bcc", print)
    with pytest.raises(UsageError, match="no row 'bbc'"):
        doctor.mend("bbc", print)


def test_debians_packages_are_for_debian_and_nobody_has_to_have_them() -> None:
    assert row("Debian's packages", but()).ok is True
    ubuntu = but(distro_ids=["ubuntu", "debian"])
    assert row("Debian's packages", ubuntu).ok is None
    assert doctor.can_run(doctor.checks(ubuntu))
