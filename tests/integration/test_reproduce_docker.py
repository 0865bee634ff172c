"""The main job in containers, as a user would run it: the whole, a death, an interrupt."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker import DockerClient
from docker_helpers import of_run, volumes

from mysqlprof import doctor
from mysqlprof.errors import EnvironmentLacks

pytest_plugins = ("docker_fixtures",)
pytestmark = [pytest.mark.docker, pytest.mark.server]
SMALL = ("--rows", "60", "--value-bytes", "40", "--seed", "1", "--no-profile")


def start(out: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable, "-m", "mysqlprof", "reproduce", "bug-73056",
            "--backend", "docker", "--quick", "--out", str(out), *arguments,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = process.communicate(timeout=300)
    assert "Traceback" not in err
    return process.returncode, err


def run_json(out: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((out / "run.json").read_text())
    return data


def wait_for_trials(out: Path, count: int) -> str:
    """The run's id, as soon as so many trials are on disk."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        table = out / "trials.csv"
        if table.exists() and len(table.read_text().splitlines()) > count:
            return str(run_json(out)["id"])
        time.sleep(0.05)
    raise AssertionError("no trial was written")


@pytest.fixture(autouse=True)
def no_volume_left(engine: DockerClient) -> Iterator[None]:
    before = volumes(engine)
    yield
    assert volumes(engine) <= before


@pytest.mark.perf
def test_the_bug_is_reproduced_from_the_container_s_process(
    engine: DockerClient, tmp_path: Path
) -> None:
    try:
        doctor.require_perf_of_containers()
    except EnvironmentLacks as error:
        pytest.skip(f"{error.message}: {error.hint}")
    code, err = finish(start(tmp_path / "run"))
    run = run_json(tmp_path / "run")
    assert (code, run["verdict"]) == (0, "reproduced"), err
    assert {claim["verdict"] for claim in run["claims"]} == {"holds"}
    for server in run["servers"]:
        assert server["backend"] == "docker"
        assert server["digest"].startswith("sha256:")
        assert server["build_id"]
        assert bool(server["substitution"]) == (server["version"] != server["requested"])
    assert of_run(engine, run["id"]) == []


def test_a_container_that_is_killed_ends_its_cells_and_not_the_run(
    engine: DockerClient, tmp_path: Path
) -> None:
    process = start(tmp_path / "run", *SMALL, "--trials", "60")
    run_id = wait_for_trials(tmp_path / "run", 25)
    victim = next(
        c for c in of_run(engine, run_id) if c.labels["io.mysqlprof.name"] == "before_fixed"
    )
    victim.kill()
    code, _ = finish(process)
    run = run_json(tmp_path / "run")
    assert (code, run["status"]) == (6, "failed")
    died = [c["text"] for c in run["caveats"] if c["kind"] == "server_died"]
    assert len(died) == 1
    assert died[0].startswith("before_fixed")
    for cell in run["cells"]:
        assert (cell["trials"] == 60) == (cell["server"] != "before_fixed")
    assert (tmp_path / "run" / "report.html").exists()
    assert of_run(engine, run_id) == []


def test_ctrl_c_removes_the_containers(engine: DockerClient, tmp_path: Path) -> None:
    process = start(tmp_path / "run", *SMALL, "--trials", "400")
    run_id = wait_for_trials(tmp_path / "run", 5)
    for container in of_run(engine, run_id):
        container.reload()
        assert not container.attrs["HostConfig"]["Privileged"]
        for bindings in container.ports.values():
            assert {binding["HostIp"] for binding in bindings or []} <= {"127.0.0.1"}
    process.send_signal(signal.SIGINT)
    code, _ = finish(process)
    assert (code, run_json(tmp_path / "run")["status"]) == (130, "interrupted")
    assert of_run(engine, run_id) == []


def test_a_killed_orchestrator_s_containers_are_removed_by_clean(
    engine: DockerClient, tmp_path: Path
) -> None:
    process = start(tmp_path / "run", *SMALL, "--trials", "400")
    run_id = wait_for_trials(tmp_path / "run", 3)
    process.kill()
    process.communicate(timeout=30)
    assert of_run(engine, run_id), "nobody was left to remove them"
    subprocess.run([sys.executable, "-m", "mysqlprof", "clean"], check=True, capture_output=True)
    assert of_run(engine, run_id) == []
