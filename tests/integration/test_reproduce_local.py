"""The main job, end to end, on real servers as child processes: as a user would run it."""

import csv
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from mysqlprof.children import wait_until
from mysqlprof.workdir import leftovers

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the servers"),
]
SMALL = ("--rows", "60", "--value-bytes", "40", "--trials", "3", "--quick", "--seed", "1")
COMMAND = (sys.executable, "-m", "mysqlprof", "reproduce", "bug-73056", "--backend", "local")


def mysqlds() -> set[int]:
    """Those that this test started: they inherit its TMPDIR."""
    found = set()
    for process in psutil.process_iter(["name"]):
        if process.info["name"] == "mysqld":
            with suppress(psutil.Error):
                if process.environ().get("TMPDIR") == os.environ["TMPDIR"]:
                    found.add(process.pid)
    return found


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("tmp")))
    before = {item.path for item in leftovers()}
    yield
    assert wait_until(lambda: not mysqlds(), 5)
    assert {item.path for item in leftovers()} <= before


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    assert "Traceback" not in err
    return process.returncode, out, err


def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def run_json(path: Path) -> dict:
    return json.loads((path / "run.json").read_text())


# --- the whole ---


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory) -> tuple[Path, int, str]:
    """One whole quick run at the article's size."""
    pytest.importorskip("mysqlprof.doctor").require_perf()
    out = tmp_path_factory.mktemp("run") / "bug"
    code, stdout, _ = finish(start("--quick", "--json", "--seed", "7", "--out", str(out)))
    return out, code, stdout


@pytest.mark.perf
def test_the_bug_is_reproduced_and_every_claim_holds(reproduced):
    path, code, stdout = reproduced
    run = run_json(path)
    assert (code, run["status"], run["verdict"]) == (0, "complete", "reproduced")
    assert {claim["verdict"] for claim in run["claims"]} == {"holds"}
    assert json.loads(stdout)["id"] == run["id"]


@pytest.mark.perf
def test_the_slow_cell_is_many_times_slower_in_the_article_s_regime(reproduced):
    contrasts = {c["name"]: c for c in run_json(reproduced[0])["contrasts"]}
    assert contrasts["log_on_fixed"]["ci_low"] > 3
    assert contrasts["log_on_default"]["ci_low"] > 1.5


@pytest.mark.perf
def test_the_server_counted_what_the_cells_say(reproduced):
    with (reproduced[0] / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["rows_written"] for row in rows} == {"500"}
    assert {row["status.Innodb_rows_inserted"] for row in rows} == {"500"}
    for row in rows:
        assert row["status.Com_stmt_execute"] == ("1" if "prepare-on" in row["cell"] else "0")
    timed = {row["cell"]: 0 for row in rows}
    for row in rows:
        timed[row["cell"]] += row["kind"] == "timed"
    assert len(timed) == 12
    assert len(set(timed.values())) == 1, "every round runs every cell"
    assert min(timed.values()) >= 5


@pytest.mark.perf
def test_the_slow_profile_leads_through_string_replace(reproduced):
    folded = (reproduced[0] / "profiles" / "before_fixed_log-on_prepare-on.folded").read_text()
    total = inside = 0
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        total += int(count)
        names = [frame.partition("(")[0] for frame in stack.split(";")]
        if "String::replace" in names and "String::mem_realloc" in names:
            assert names.index("dispatch_command") < names.index("mysqld_stmt_execute")
            assert names.index("mysqld_stmt_execute") < names.index("String::replace")
            inside += int(count)
    info = json.loads(
        (reproduced[0] / "profiles" / "before_fixed_log-on_prepare-on.json").read_text()
    )
    assert total == info["samples"]
    assert inside / total > 0.5


@pytest.mark.perf
def test_attribution_sums_to_the_samples_of_each_profile(reproduced):
    sums: dict[str, int] = {}
    with (reproduced[0] / "attribution.csv").open() as file:
        for row in csv.DictReader(file):
            if not row["function"]:
                sums[row["cell"]] = sums.get(row["cell"], 0) + int(row["samples"])
    for cell, samples in sums.items():
        info = json.loads((reproduced[0] / "profiles" / f"{cell}.json").read_text())
        assert samples == info["samples"]


@pytest.mark.perf
def test_the_servers_are_named_as_they_really_are(reproduced):
    servers = run_json(reproduced[0])["servers"]
    assert [s["name"] for s in servers] == ["before_default", "before_fixed", "after_default"]
    for server in servers:
        assert server["version"] == server["settings"]["version"].split("-")[0]
        assert bool(server["substitution"]) == (server["version"] != server["requested"])
        assert len(server["sha256"]) == 64
        assert len(server["settings"]) > 400
    assert len({server["server_uuid"] for server in servers}) == 3


@pytest.mark.perf
def test_the_sums_hold_and_no_secret_or_private_path_is_published(reproduced):
    path = reproduced[0]
    for line in (path / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((path / name).read_bytes()).hexdigest() == digest
    text = (path / "run.json").read_text() + (path / "report.html").read_text()
    assert "IDENTIFIED BY" not in text
    assert "/mysqlprof-" not in text, "a private working directory"


@pytest.mark.perf
def test_the_report_is_drawn_again_from_disk_alone(reproduced, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(reproduced[0], copy)
    first = (copy / "report.html").read_bytes()
    (copy / "report.html").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "mysqlprof", "report", str(copy)],
        env={"PATH": "", "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (copy / "report.html").read_bytes() == first


def test_mysql_connector_python_drives_the_same_work(tmp_path):
    code, _, err = finish(
        start(*SMALL, "--driver", "python", "--no-profile", "--out", str(tmp_path / "run"))
    )
    run = run_json(tmp_path / "run")
    assert run["driver"]["name"] == "mysql-connector-python"
    assert run["status"] == "complete"
    assert code == 5, "without a profile two claims cannot be told"
    assert all(cell["trials"] == 3 for cell in run["cells"]), err


def test_settings_at_start_up_give_each_its_server(tmp_path):
    finish(
        start(
            *SMALL, "--no-profile", "--driver", "python", "--toggle", "startup",
            "--out", str(tmp_path / "run"),
        )
    )  # fmt: skip
    servers = {
        s["name"]: s["settings"]["slow_query_log"] for s in run_json(tmp_path / "run")["servers"]
    }
    assert len(servers) == 6
    assert all(
        value == ("ON" if name.endswith("_on") else "OFF") for name, value in servers.items()
    )


# --- what goes wrong ---


@pytest.mark.perf
def test_a_flame_graph_that_cannot_be_drawn_costs_neither_the_profile_nor_the_run(
    reproduced, tmp_path
):
    broken = tmp_path / "flamegraph.pl"
    broken.write_text("#!/bin/sh\necho it is broken >&2\nexit 3\n")
    broken.chmod(0o755)
    out = tmp_path / "run"
    small = ("--rows", "60", "--value-bytes", "40", "--quick", "--out", str(out))
    code, _, _ = finish(start(*small, MYSQLPROF_FLAMEGRAPH=str(broken)))
    run = run_json(out)
    assert (code, run["status"]) == (4, "complete")
    texts = [c["text"] for c in run["caveats"] if c["kind"] == "profile"]
    assert texts
    assert all("no flame graph" in text and "it is broken" in text for text in texts)
    assert (out / "profiles" / "before_fixed_log-on_prepare-on.folded").stat().st_size > 0
    assert not list((out / "profiles").glob("*.svg"))


def wait_for_trials(path: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        table = path / "trials.csv"
        if table.exists() and len(table.read_text().splitlines()) > count:
            return
        time.sleep(0.05)
    raise AssertionError("no trial was written")


def test_ctrl_c_once_keeps_what_was_measured(tmp_path):
    out = tmp_path / "run"
    process = start(*SMALL, "--no-profile", "--trials", "400", "--out", str(out))
    wait_for_trials(out, 30)
    process.send_signal(signal.SIGINT)
    code, _, _ = finish(process)
    run = run_json(out)
    assert (code, run["status"]) == (130, "interrupted")
    assert run["missing"]
    assert any(cell["trials"] > 0 for cell in run["cells"])
    assert (out / "report.html").exists()


def test_ctrl_c_twice_stops_at_once_and_still_cleans_up(tmp_path):
    out = tmp_path / "run"
    process = start(*SMALL, "--no-profile", "--trials", "400", "--out", str(out))
    wait_for_trials(out, 5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    code, _, _ = finish(process)
    assert code == 130
    assert run_json(out)["status"] == "interrupted"


def test_ctrl_c_while_servers_start_leaves_nothing(tmp_path):
    process = start(*SMALL, "--no-profile", "--out", str(tmp_path / "run"))
    assert wait_until(lambda: bool(mysqlds()), 60)
    process.send_signal(signal.SIGINT)
    code, _, _ = finish(process)
    assert code == 130


def test_a_server_that_is_killed_ends_its_cells_and_not_the_run(tmp_path):
    out = tmp_path / "run"
    process = start(*SMALL, "--no-profile", "--trials", "30", "--out", str(out))
    wait_for_trials(out, 13)
    victim = min(mysqlds())  # the first one started: before_default
    os.kill(victim, signal.SIGKILL)
    code, _, err = finish(process)
    run = run_json(out)
    assert (code, run["status"]) == (6, "failed")
    died = [c["text"] for c in run["caveats"] if c["kind"] == "server_died"]
    assert len(died) == 1
    assert "signal 9" in died[0]
    assert died[0] in err.replace("\n", " ") or "before_default" in err
    trials = {cell["id"]: cell["trials"] for cell in run["cells"]}
    dead = died[0].split()[0]
    for cell in run["cells"]:
        assert (trials[cell["id"]] == 30) == (cell["server"] != dead)


def test_a_port_that_somebody_took_first_is_given_up(tmp_path, monkeypatch):
    import socket

    from mysqlprof.model import LaunchSpec
    from mysqlprof.servers import local

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        real = local.free_port
        answers = iter([taken.getsockname()[1]])
        monkeypatch.setattr(local, "free_port", lambda: next(answers, None) or real())
        spec = LaunchSpec(role="before", requested="5.7.22")
        with local.LocalBackend("test").launch(spec, "before") as server:
            assert server.endpoint.port != taken.getsockname()[1]
            assert server.info().version == "5.7.22"


def test_a_server_that_cannot_start_says_its_last_words(tmp_path):
    from mysqlprof.errors import ServerFailed
    from mysqlprof.model import LaunchSpec
    from mysqlprof.servers.local import LocalBackend

    spec = LaunchSpec(role="before", requested="5.7.22", arguments={"no_such_option": "1"})
    with pytest.raises(ServerFailed) as caught, LocalBackend("test").launch(spec, "before"):
        pass
    assert "exited with status" in caught.value.message
    assert "no_such_option" in caught.value.hint.replace("-", "_")


def test_from_the_second_start_on_a_server_is_ready_soon():
    from mysqlprof.model import LaunchSpec
    from mysqlprof.servers.local import LocalBackend

    spec = LaunchSpec(role="before", requested="5.7.22")
    for _ in range(2):
        with LocalBackend("test").launch(spec, "before") as server:
            ready_s = server.info().ready_s
    assert ready_s < 2.0


def test_an_orchestrator_that_is_killed_leaves_what_clean_removes(tmp_path):
    out = tmp_path / "run"
    process = start(*SMALL, "--no-profile", "--trials", "400", "--out", str(out))
    wait_for_trials(out, 3)
    process.kill()
    process.communicate(timeout=30)
    run = run_json(out)
    assert run["status"] == "running", "a run cut short is readable and says so"
    done = subprocess.run(
        [sys.executable, "-m", "mysqlprof", "clean", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)
    assert not mysqlds()


def test_two_runs_at_once_do_not_meet(tmp_path):
    results = {}

    def measure(name: str) -> None:
        results[name] = finish(
            start(*SMALL, "--no-profile", "--driver", "python", "--out", str(tmp_path / name))
        )[0]

    threads = [threading.Thread(target=measure, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {"a": 5, "b": 5}
