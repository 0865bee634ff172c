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
