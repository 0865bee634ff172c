"""Facts about a machine, read from machines that are not this one."""

import json
import os
import socket
import threading
from pathlib import Path

import pytest

from mysqlprof import host
from mysqlprof.host import EngineFacts, Probe, Ran

CPUINFO = """\
processor	: 0
model name	: AMD EPYC 7763 64-Core Processor
flags		: fpu vme de hypervisor lahf_lm
"""
LDCONFIG = """\
3 libs found in cache `/etc/ld.so.cache'
	libnuma.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libnuma.so.1
	libaio.so.1t64 (libc6,x86-64) => /lib/x86_64-linux-gnu/libaio.so.1t64
	libc.so.6 (libc6,x86-64, OS ABI: Linux 3.2.0) => /lib/x86_64-linux-gnu/libc.so.6
"""
COUNTED = "812345,,cycles,1021233,100.00,,\n0.66,msec,cpu-clock,656891,100.00,0.700,CPUs utilized\n"
NO_CYCLES = "<not supported>,,cycles,0,100.00,,\n0.66,msec,cpu-clock,656891,100.00,0.7,CPUs used\n"
HYBRID = "<not counted>,,cpu_atom/cycles/,0,0.00,,\n98765,,cpu_core/cycles/,1021233,100.00,,\n"
USER_ONLY = "812345,,cycles:u,10212,100.00,,\n0.66,msec,cpu-clock:u,656891,100.00,0.7,CPUs used\n"
REFUSED = (
    "Error:\nAccess to performance monitoring and observability operations is limited.\n"
    "Consider adjusting /proc/sys/kernel/perf_event_paranoid setting to open\n"
)


class Machine(Probe):
    """A machine made of files, programs on PATH, and what commands answer."""

    def __init__(
        self,
        files: dict[str, str] | None = None,
        programs: dict[str, str] | None = None,
        answers: dict[str, Ran] | None = None,
        euid: int = 1000,
        variables: dict[str, str] | None = None,
    ) -> None:
        self._files = files or {}
        self._programs = programs or {}
        self._answers = answers or {}
        self._euid = euid
        self._variables = variables or {}

    def read(self, path: str) -> str:
        return self._files.get(path, "")

    def glob(self, pattern: str) -> list[str]:
        return sorted(path for path in self._files if Path(path).match(pattern))

    def which(self, program: str) -> str | None:
        return self._programs.get(program)

    def run(self, *command: str) -> Ran:
        return self._answers.get(" ".join(command), Ran(127, "not found"))

    def free_bytes(self, path: str) -> int:
        return 5 * 2**30

    def build_id(self, path: str) -> str:
        return {"/lib/x86_64-linux-gnu/libc.so.6": "93ac61ec"}.get(path, "")

    def variable(self, name: str) -> str:
        return self._variables.get(name, "")

    def euid(self) -> int:
        return self._euid

    def engine(self) -> EngineFacts:
        return EngineFacts(state="absent", address="unix:///nowhere")


def with_perf(
    counted: Ran, kernel: int = 0, others: int = 0, perf: str = "/usr/bin/perf"
) -> Machine:
    return Machine(
        programs={"perf": perf},
        answers={
            f"{perf} version": Ran(0, "perf version 6.1.192\n"),
            f"{perf} stat -x, -e cycles -e cpu-clock -- true": counted,
            f"{perf} stat -x, -e cpu-clock:k -- true": Ran(kernel, ""),
            f"{perf} stat -x, -e cpu-clock -p 1 -- sleep 0": Ran(others, ""),
        },
    )


def test_a_machine_that_shows_nothing_still_has_facts() -> None:
    facts = host.collect(Machine())
    assert facts.perf is None
    assert facts.perf_event_paranoid is None
    assert facts.distro == "unknown"
    assert facts.programs == {}
    assert set(facts.libraries.values()) == {""}
    assert facts.shm_free_bytes == 0


def test_files_are_read() -> None:
    facts = host.collect(
        Machine(
            {
                "/proc/cpuinfo": CPUINFO,
                "/proc/meminfo": "MemTotal:  2048 kB\nMemAvailable:  1024 kB\n",
                "/proc/loadavg": "1.25 0.80 0.70 1/100 4242\n",
                "/proc/stat": "cpu  60 0 20 10 0 0 0 10 0 0\ncpu0 60 0 20 10 0 0 0 10 0 0\n",
                "/proc/self/status": "CapInh:\t0\nCapEff:\t0000004000080000\n",
                "/proc/sys/kernel/perf_event_paranoid": "-1\n",
                "/proc/sys/kernel/kptr_restrict": "1\n",
                "/etc/os-release": 'ID=ubuntu\nID_LIKE="debian"\nPRETTY_NAME="Ubuntu 24.04 LTS"\n',
                "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
                "/run/systemd/system": "",
            },
            answers={"/sbin/ldconfig -p": Ran(0, LDCONFIG)},
            euid=0,
        )
    )
    assert facts.cpu_model == "AMD EPYC 7763 64-Core Processor"
    assert (facts.memory_bytes, facts.memory_available_bytes) == (2048 * 1024, 1024 * 1024)
    assert facts.load_1m == 1.25
    assert facts.steal_share == 0.1
    assert facts.capabilities == ["CAP_SYS_PTRACE", "CAP_PERFMON"]
    assert (facts.perf_event_paranoid, facts.kptr_restrict) == (-1, 1)
    assert facts.distro == "Ubuntu 24.04 LTS"
    assert facts.distro_ids == ["ubuntu", "debian"]
    assert facts.transparent_hugepages == "madvise"
    assert facts.governor == "powersave"
    assert facts.virtualisation == "vm"
    assert facts.systemd
    assert facts.is_root
    assert facts.libraries["libaio"] == "libaio.so.1t64"
    assert facts.libraries["libnuma"] == "libnuma.so.1"
    assert facts.libraries["libcrypt"] == ""


@pytest.mark.parametrize(
    ("counted", "event"),
    [
        (Ran(0, COUNTED), "cycles"),
        (Ran(0, HYBRID), "cycles"),
        (Ran(0, NO_CYCLES), "cpu-clock"),
        (Ran(0, USER_ONLY), "cycles"),
        (Ran(255, REFUSED), ""),
        (Ran(124, ""), ""),
    ],
)
def test_the_event_is_one_that_counts(counted: Ran, event: str) -> None:
    perf = host.collect(with_perf(counted)).perf
    assert perf is not None
    assert perf.event == event
    assert perf.version == "6.1.192"


def test_user_code_only_is_told_from_all() -> None:
    perf = host.collect(with_perf(Ran(0, USER_ONLY), kernel=255, others=255)).perf
    assert perf is not None
    assert not perf.kernel
    assert not perf.any_process
    assert perf.refusal == ""


def test_a_refusal_is_in_perfs_own_words() -> None:
    perf = host.collect(with_perf(Ran(255, REFUSED))).perf
    assert perf is not None
    assert perf.refusal.startswith("Access to performance monitoring")
    assert not perf.kernel


def test_ubuntus_wrapper_without_this_kernels_tools_is_not_a_perf() -> None:
    newest = "/usr/lib/linux-tools-6.8.0-41/perf"
    machine = Machine(
        files={"/usr/lib/linux-tools-6.8.0-31/perf": "", newest: ""},
        programs={"perf": "/usr/bin/perf"},
        answers={
            "/usr/bin/perf version": Ran(2, "WARNING: perf not found for kernel 6.5.0-9\n"),
            "/usr/lib/linux-tools-6.8.0-31/perf version": Ran(0, "perf version 6.8.4\n"),
            f"{newest} version": Ran(0, "perf version 6.8.12\n"),
        },
    )
    assert host.find_perf(machine) == newest
    assert host.find_perf(Machine(programs={"perf": "/usr/bin/perf"})) is None


def test_flamegraph_is_found_where_debian_puts_it() -> None:
    packaged = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
    assert host.find_flamegraph(Machine({packaged: ""})) == packaged
    own = Machine({packaged: ""}, programs={"flamegraph.pl": "/opt/flamegraph.pl"})
    assert host.find_flamegraph(own) == "/opt/flamegraph.pl"
    assert host.find_flamegraph(Machine()) is None


def test_the_users_own_flamegraph_comes_first() -> None:
    mine, packaged = "/opt/flamegraph.pl", "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"
    chosen = {host.FLAMEGRAPH_VARIABLE: mine}
    assert host.find_flamegraph(Machine({mine: "", packaged: ""}, variables=chosen)) == mine
    assert host.find_flamegraph(Machine({packaged: ""}, variables=chosen)) is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime', "17.0.15"),
        ('openjdk version "25" 2025-09-16\nOpenJDK Runtime (build 25+36)', "25"),
        ("Picked up JAVA_TOOL_OPTIONS: -Dx=1.2.3\njavac 25\n", "25"),
        ("javac 17.0.15", "17.0.15"),
        ("Apache Maven 3.8.7\nMaven home: /usr/share/maven\n", "3.8.7"),
        ("This is perl 5, version 36, subversion 0 (v5.36.0) built for", "5.36.0"),
        ("BusyBox v1.35.0 (Debian 1:1.35.0-4) multi-call binary.", "1.35.0"),
        ("Docker version 20.10.24+dfsg1, build 5d6db84", "20.10.24+dfsg1"),
        ("no such thing", ""),
    ],
)
def test_programs_say_their_versions(text: str, version: str) -> None:
    machine = Machine(programs={"java": "/bin/java"}, answers={"/bin/java -version": Ran(0, text)})
    assert host.collect(machine).programs["java"].version == version


@pytest.mark.parametrize(
    ("kallsyms", "shown"),
    [
        ("ffffffff81000000 T _stext\n", True),
        ("0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\n", True),
        ("0000000000000000 T _stext\n0000000000000000 T do_idle\n", False),
        ("", False),
    ],
)
def test_hidden_kernel_addresses_are_noticed(kallsyms: str, shown: bool) -> None:
    assert host.collect(Machine({"/proc/kallsyms": kallsyms})).kernel_symbols is shown


@pytest.mark.parametrize(
    ("debug_file", "found"),
    [
        ("/usr/lib/debug/.build-id/93/ac61ec.debug", True),
        ("/usr/lib/debug/.build-id/93/000000.debug", False),  # of another version
    ],
)
def test_the_c_librarys_own_debug_file_is_looked_for(debug_file: str, found: bool) -> None:
    machine = Machine({debug_file: ""}, answers={"/sbin/ldconfig -p": Ran(0, LDCONFIG)})
    assert host.collect(machine).libc_symbols is found


def test_steal_is_a_share_of_the_time_between() -> None:
    before, after = {"total": 1000, "steal": 10}, {"total": 1200, "steal": 20}
    assert host.steal_share(before, after) == 0.05
    assert host.steal_share(after, after) == 0.0
    assert host.steal_share({}, {}) == 0.0


def test_an_engine_is_absent_where_there_is_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    assert Probe().engine().state == "absent"


def serve(path: Path, answer: bytes) -> threading.Thread:
    """An engine of one answer."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def once() -> None:
        with listener, listener.accept()[0] as peer:
            peer.recv(1024)
            peer.sendall(answer)

    thread = threading.Thread(target=once)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("answer", "state", "version"),
    [
        (
            b'HTTP/1.0 200 OK\r\n\r\n{"Version": "28.2.2", "ApiVersion": "1.50"}',
            "answers",
            "28.2.2",
        ),
        (b"HTTP/1.0 500 No\r\n\r\n<html>", "silent", ""),
        (b"HTTP/1.0 200 OK\r\n\r\n[]", "silent", ""),
        (b"", "silent", ""),
    ],
)
def test_an_engine_is_asked_for_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, state: str, version: str
) -> None:
    thread = serve(tmp_path / "docker.sock", answer)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    engine = Probe().engine()
    thread.join()
    assert (engine.state, engine.version) == (state, version)


def test_a_socket_that_nobody_listens_on_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docker.sock").touch()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    engine = Probe().engine()
    assert engine.state == "silent"
    assert engine.detail


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use every socket")
def test_a_socket_of_others_is_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docker.sock").touch(mode=0o000)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    assert Probe().engine().state == "denied"


def test_the_edge_does_not_raise(tmp_path: Path) -> None:
    probe = Probe()
    assert probe.read(str(tmp_path)) == ""
    assert probe.run(str(tmp_path / "none")).code == 127
    assert probe.run("sh", "-c", "echo out; echo err >&2; exit 3") == Ran(3, "out\nerr\n")
    assert probe.free_bytes(str(tmp_path / "not" / "yet" / "there")) > 0


def test_this_machine_has_facts_that_survive_a_file() -> None:
    facts = host.collect()
    assert facts.cores >= 1
    assert facts.memory_bytes > 0
    assert host.HostFacts.model_validate_json(facts.model_dump_json()) == facts


def test_the_environment_names_no_place_and_nobody() -> None:
    text = json.dumps(host.to_environment(host.collect()))
    private = [os.uname().nodename, os.path.expanduser("~"), os.environ.get("USER", "")]
    assert not [word for word in private if len(word) > 3 and word in text]
    assert "/usr/" not in text
