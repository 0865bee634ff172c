"""Before and after on real servers, in a small size."""

import csv
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mysqlprof.comparing import compare
from mysqlprof.store import RunDirectory

CELL = "log-on_prepare-on"
ONE_CELL = """
name = "small"
title = "A small insert"
summary = "One prepared insert with the slow log on."
trials = 5
max_trials = 15
warmups = 2
contrasts = []
claims = []

[workload]
kind = "prepared-insert"
rows = 120
columns = 12
value_bytes = 100

[servers.before]
version = "5.7.22"
[servers.after]
version = "8.0.31"

[[factors]]
name = "server"
[factors.levels.before]
[factors.levels.after]

[[factors]]
name = "slow_query_log"
label = "log"
[factors.levels.on]
set = { slow_query_log = "ON" }
env = { MALLOC_MMAP_THRESHOLD_ = "131072", MALLOC_TRIM_THRESHOLD_ = "131072" }

[[factors]]
name = "server_prepare"
label = "prepare"
[factors.levels.on]
driver = { server_prepare = true }

[profile]
min_samples = 300
cells = [{ slow_query_log = "on" }]
"""


def upgrade(out: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    scenario = out.parent / "small.toml"
    scenario.write_text(ONE_CELL)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mysqlprof", "upgrade", str(scenario), "--backend", "local"),
            *("--driver", "python", "--seed", "1", "--out", str(out), *arguments),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr + done.stdout
    data = json.loads((out / "run.json").read_text()) if (out / "run.json").exists() else {}
    return done.returncode, data, done.stdout + done.stderr


@pytest.mark.server
@pytest.mark.perf
@pytest.mark.skipif(
    not all(map(shutil.which, ("mvn", "perf"))), reason="needs perf, and Maven to fetch the servers"
)
def test_the_bug_is_gone_after_the_upgrade_and_the_profiles_say_why(tmp_path: Path) -> None:
    out = tmp_path / "run"
    code, data, said = upgrade(
        out, "--before", "5.7.22", "--after", "8.0.31", "--rows", "400", "--fail-if", "ratio > 1.10"
    )
    assert code in (0, 4), said  # 4: a few samples may be lost on a busy machine
    (row,) = data["comparison"]
    assert row.keys() >= {
        *("cell", "before_ms", "after_ms", "ratio", "ci_low", "ci_high", "verdict"),
        *("reason", "findings", "visible_ratio", "before_cell", "after_cell", "levels"),
    }
    assert (row["cell"], row["verdict"]) == (CELL, "faster")
    assert row["ratio"] == pytest.approx(row["after_ms"] / row["before_ms"])
    assert 0 < row["ci_low"] <= row["ratio"] <= row["ci_high"] < 1 / 1.10
    changed = data["upgrade"]
    assert [gate["outcome"] for gate in changed["gates"]] == ["held"]
    assert {"log_bin", "character_set_server"} <= {s["name"] for s in changed["settings"]}
    with (out / "functions.csv").open() as file:
        functions = {line["function"]: line for line in csv.DictReader(file)}
    assert functions["String::replace"]["verdict"] == "vanished"
    assert functions["String::replace"]["after_samples"] == "0"
    with (out / "comparison.csv").open() as file:
        assert [line["verdict"] for line in csv.DictReader(file)] == ["faster"]
    drawn = {
        which: (out / "profiles" / f"{CELL}.difference-{which}.svg").read_text()
        for which in ("before", "after")
    }
    assert "String::replace" in drawn["before"]
    assert "; gone)</title>" in drawn["before"]
    assert "String::replace" not in drawn["after"]
    assert "MySQL 5.7.22 to 8.0.31: the workload is faster" in said.replace("\n", " ")
    report = (out / "report.html").read_text()
    assert "Gates held" in report


@pytest.mark.server
@pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the servers")
def test_a_regression_fails_its_gate_and_is_written_for_the_build_server(tmp_path: Path) -> None:
    gates = tmp_path / "out" / "gates.xml"
    code, data, said = upgrade(
        tmp_path / "run",
        *("--before", "8.0.31", "--after", "5.7.22", "--rows", "400", "--no-profile"),
        *("--fail-if", "ratio > 1.10", "--fail-if", "log-on*: verdict == faster"),
        *("--junit", str(gates)),
    )
    assert code == 1, said
    assert data["comparison"][0]["verdict"] == "slower"
    assert [gate["outcome"] for gate in data["upgrade"]["gates"]] == ["failed", "held"]
    suite = ElementTree.parse(gates).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "0")
    (failure,) = suite.iter("failure")
    assert (failure.get("message") or "").startswith(f"{CELL}: ")


@pytest.mark.server
@pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the servers")
def test_one_version_against_itself_gives_no_false_alarms(tmp_path: Path) -> None:
    """One long run, cut into many A/A experiments of nine neighbouring rounds each."""
    out = tmp_path / "run"
    code, data, said = upgrade(
        out, "--before", "5.7.22", "--after", "5.7.22", "--trials", "72", "--no-profile"
    )
    assert code in (0, 5), said
    assert "A/A run, MySQL 5.7.22 against itself" in said
    assert data["upgrade"]["same_version"] is True
    assert data["comparison"][0]["verdict"] in ("same", "cannot_tell")
    timed = [trial for trial in RunDirectory.open(out).read_trials() if trial.kind == "timed"]
    alarms, experiments = 0, 0
    for block in range(0, 72, 9):
        rounds = range(block, block + 9)
        pairs = [[t for t in timed if t.round == number] for number in rounds]
        for number in range(12):
            # Which server is called before, is drawn anew for each round.
            chance = random.Random(f"{block} {number}")
            shuffled = [chance.sample(pair, k=2) for pair in pairs]
            sides = [[pair[side] for pair in shuffled] for side in (0, 1)]
            verdict = compare(sides[0], sides[1], f"{block} {number}").verdict
            alarms += verdict in ("faster", "slower")
            experiments += 1
    assert experiments == 96
    assert alarms <= 0.05 * experiments


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--after", "4.1"), "not in the catalog"),
        (("--after", "8.0.31", "--fail-if", "ratio >> 1"), "cannot be read"),
        (("--after", "8.0.31", "--fail-if", "nowhere*: ratio > 1"), "names no cell"),
        (("--after", "8.0.31", "--junit", "gates.xml"), "no gate to report"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    code, data, said = upgrade(tmp_path / "run", "--before", "5.7.22", *arguments)
    assert code == 2
    assert words in said
    assert data == {}
    assert [path.name for path in tmp_path.iterdir()] == ["small.toml"]
