"""The shell scripts: that they parse, and what they hand to what they call."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = [*sorted(p for p in (ROOT / "scripts").iterdir() if p.is_file()), ROOT / ".ci" / "run"]
LIBRARIES = sorted((ROOT / "scripts" / "lib").glob("*.sh"))


def shell_scripts() -> list[Path]:
    found = [path for path in PROGRAMS if "bash" in path.read_text().partition("\n")[0]]
    return found + LIBRARIES


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("script", shell_scripts(), ids=name)
def test_it_parses(script: Path) -> None:
    subprocess.run(["bash", "-n", script], check=True)


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_has_nothing_to_say() -> None:
    scripts = [path for path in shell_scripts() if path not in LIBRARIES]
    done = subprocess.run(
        ["shellcheck", "-x", *scripts], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("script", PROGRAMS, ids=name)
def test_it_can_be_executed(script: Path) -> None:
    assert os.access(script, os.X_OK)


@pytest.mark.parametrize("script", shell_scripts(), ids=name)
def test_it_downloads_by_package_clients_only(script: Path) -> None:
    assert not re.search(r"\b(curl|wget)\b|https?://", script.read_text())


@pytest.mark.parametrize("script", ["setup", "reproduce", "test"])
def test_it_stops_at_the_first_error(script: str) -> None:
    assert "\nset -euo pipefail\n" in (ROOT / "scripts" / script).read_text()


# --- reproduce --------------------------------------------------------------------------------


class Tree:
    """scripts/reproduce between a setup and a mysqlprof that only say how they were called."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._write("scripts/setup", 'echo "setup $*" >>"$TREE/calls"\nexit "${SETUP_EXIT:-0}"')
        self._write(".venv/bin/mysqlprof", 'printf "[%s]" "$@" >>"$TREE/calls"\nexit "${EXIT:-0}"')
        shutil.copy(ROOT / "scripts" / "reproduce", root / "scripts")

    def _write(self, path: str, body: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)

    def reproduce(self, *arguments: str, **environment: str) -> tuple[int, list[str]]:
        """Exit code, and the calls made."""
        done = subprocess.run(
            [self.root / "scripts" / "reproduce", *arguments],
            env={**os.environ, "TREE": str(self.root), **environment},
            cwd="/",
            check=False,
        )
        calls = self.root / "calls"
        return done.returncode, calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_reproduce_passes_its_arguments_on_as_they_are(tree: Tree) -> None:
    code, calls = tree.reproduce("--out", "a run", "--quick", "")
    assert code == 0
    assert calls[1] == "[reproduce][bug-73056][--out][a run][--quick][]"


@pytest.mark.parametrize("exit_code", ["1", "5", "130"])
def test_reproduce_passes_the_exit_code_on(tree: Tree, exit_code: str) -> None:
    assert tree.reproduce(EXIT=exit_code)[0] == int(exit_code)


@pytest.mark.parametrize(
    ("arguments", "setup"),
    [
        ([], "setup --engine start --npm"),
        (["--backend", "docker"], "setup --engine start --npm"),
        (["--backend", "local"], "setup --engine none --npm"),
        (["--backend=local"], "setup --engine none --npm"),
        (["--out", "local"], "setup --engine start --npm"),
        (["--backend", "local", "--before", "5.7.22"], "setup --engine none"),
        (["--before=5.7.22"], "setup --engine start"),
        (["--before=5.7.29"], "setup --engine start --npm"),
        (["--evidence", "full"], "setup --engine start --npm --counts"),
        (["--evidence=none"], "setup --engine start --npm"),
        (["--backend", "local", "--help"], "setup --python-only"),
    ],
)
def test_reproduce_installs_what_its_arguments_need(
    tree: Tree, arguments: list[str], setup: str
) -> None:
    assert tree.reproduce(*arguments)[1][0] == setup


def test_reproduce_goes_on_when_only_system_packages_are_missing(tree: Tree) -> None:
    code, calls = tree.reproduce(SETUP_EXIT="4")
    assert code == 0
    assert len(calls) == 2


def test_reproduce_stops_when_there_is_no_mysqlprof(tree: Tree) -> None:
    code, calls = tree.reproduce(SETUP_EXIT="3")
    assert code == 3
    assert len(calls) == 1


# --- setup ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["--bogus"], ["--engine"], ["--engine", "maybe"], ["--engine="]]
)
def test_setup_explains_its_usage(arguments: list[str]) -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "setup", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Usage: scripts/setup" in done.stderr


# --- system packages --------------------------------------------------------------------------


class Host:
    """A PATH whose first programs are stubs, and scripts/lib on top of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stub("id", "echo 0")

    def stub(self, program: str, body: str) -> None:
        file = self.folder / program
        file.write_text(f"#!/bin/bash\n{body}\n")
        file.chmod(0o755)

    def knows(self, *packages: str) -> None:
        """Packages that apt could install."""
        known = "|".join(packages) or "none"
        self.stub(
            "apt-cache",
            f'case $2 in {known}) printf "$2:\\n  Candidate: 1.0\\n" ;; '
            '*) printf "$2:\\n  Candidate: (none)\\n" ;; esac',
        )

    def run(self, code: str) -> "subprocess.CompletedProcess[str]":
        libraries = "".join(
            f". {ROOT}/scripts/lib/{n}.sh\n" for n in ("common", "system", "python", "headers")
        )
        return subprocess.run(
            ["bash", "-c", f"set -euo pipefail\n{libraries}{code}"],
            env={
                **os.environ,
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "TMPDIR": str(self.folder),
                "CALLS": str(self.folder / "calls"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def installed(self) -> list[str]:
        """Packages of each `apt-get install`, in the order of the calls."""
        calls = self.folder / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        return [line.partition("--force-confold ")[2] for line in lines if "install" in line]


@pytest.fixture
def machine(tmp_path: Path) -> Host:
    made = Host(tmp_path)
    made.stub("apt-get", 'echo "$*" >>"$CALLS"')
    return made


def test_nothing_missing_asks_apt_for_nothing(machine: Host) -> None:
    assert machine.run("need x true; install_missing").returncode == 0
    assert machine.installed() == []


def test_the_first_alternative_that_apt_knows_is_installed(machine: Host) -> None:
    machine.knows("linux-tools-generic", "libaio1t64", "libaio1")
    code = 'need "linux-perf linux-tools-generic" false; need "libaio1t64 libaio1" false'
    assert machine.run(f"{code}; install_missing").returncode == 0
    assert machine.installed() == ["linux-tools-generic libaio1t64"]


def test_a_package_that_apt_does_not_know_is_named_and_the_rest_installed(machine: Host) -> None:
    machine.knows("gcc")
    done = machine.run("need chromium false; need gcc false; install_missing")
    assert done.returncode == 4
    assert "could not be installed: chromium" in done.stderr
    assert machine.installed() == ["gcc"]


def test_one_that_fails_does_not_take_the_others_with_it(machine: Host) -> None:
    machine.knows("bad", "good")
    machine.stub(
        "apt-get", 'echo "$*" >>"$CALLS"; case $* in *bad*) echo "E: held"; exit 100 ;; esac'
    )
    done = machine.run("need bad false; need good false; install_missing")
    assert done.returncode == 4
    assert machine.installed() == ["bad good", "bad", "good"]
    assert "could not be installed: bad\n" in done.stderr
    assert "| E: held" in done.stderr


def test_without_root_the_command_for_an_administrator_is_printed(machine: Host) -> None:
    machine.knows("maven")
    machine.stub("id", "echo 1000")
    machine.stub("sudo", "exit 1")
    done = machine.run("need maven false; install_missing")
    assert done.returncode == 4
    assert "apt-get install -y --no-install-recommends maven\n" in done.stderr
    assert machine.installed() == []


def test_sudo_is_used_and_proxies_are_handed_on(machine: Host) -> None:
    machine.knows("maven")
    machine.stub("id", "echo 1000")
    machine.stub("sudo", 'echo "sudo $*" >>"$CALLS"')
    done = machine.run("export https_proxy=proxy:1; need maven false; install_missing")
    assert done.returncode == 0, done.stderr
    assert machine.installed() == ["maven"]
    calls = (machine.folder / "calls").read_text()
    assert re.search(r"^sudo env .*\bhttps_proxy=proxy:1 .*apt-get install", calls, re.MULTILINE)


def test_a_perf_wrapper_without_its_kernels_tools_is_not_a_perf(machine: Host) -> None:
    machine.stub("perf", "echo WARNING: perf not found for kernel; exit 2")
    here = [
        *Path("/usr/lib").glob("linux-tools*/perf"),
        *Path("/usr/lib/linux-tools").glob("*/perf"),
    ]
    assert (machine.run("have_perf").returncode == 0) is bool(here)
    machine.stub("perf", "echo perf version 6.8")
    assert machine.run("have_perf").returncode == 0


def test_either_name_of_a_renamed_library_will_do(machine: Host) -> None:
    machine.stub("ldconfig", r"printf '\tlibaio.so.1t64 (libc6,x86-64) => /lib/libaio.so.1t64\n'")
    assert machine.run("have_library libaio.so.1 libaio.so.1t64").returncode == 0
    assert machine.run("have_library libaio.so.1").returncode != 0


def test_headers_of_the_distributions_kernel_are_linked_for_another_kernel(machine: Host) -> None:
    sources, modules = machine.folder / "src", machine.folder / "modules" / "6.18-own"
    for name in ("6.1.0-9-amd64", "6.1.0-10-amd64", "6.1.0-10-common"):
        (sources / f"linux-headers-{name}" / "include").mkdir(parents=True)
    code = f"modules={modules} kernel_sources={sources}; link_kernel_headers; have_kernel_headers"
    assert machine.run(code).returncode == 0
    assert (modules / "build").resolve().name == "linux-headers-6.1.0-10-amd64"
    assert (modules / "source").resolve().name == "linux-headers-6.1.0-10-common"


def test_without_any_headers_something_is_missing(machine: Host) -> None:
    (machine.folder / "src").mkdir()
    code = f"modules={machine.folder}/m kernel_sources={machine.folder}/src; link_kernel_headers"
    assert machine.run(code).returncode == 4
