"""Drivers x servers and the search through versions, on real servers in a small size."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the servers"),
]
SMALL = ("--backend", "local", "--value-bytes", "60", "--rows", "300", "--seed", "1")


def run(out: Path, *arguments: str, **environment: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [sys.executable, "-m", "mysqlprof", *arguments, *SMALL, "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in done.stderr
    data = json.loads((out / "run.json").read_text()) if (out / "run.json").exists() else {}
    return done.returncode, data, done.stdout + done.stderr


def test_which_driver_is_hit_on_which_server(tmp_path: Path) -> None:
    code, data, _ = run(
        tmp_path / "run",
        *("matrix", "bug-73056", "--trials", "7"),
        *("--server", "5.7.22", "--server", "8.0.31"),
        *("--driver", "connector-j:5.1.49", "--driver", "python"),
    )
    assert code == 0
    verdicts = {
        (r["server"], r["driver"]): r["verdict"] for r in data["matrix"] if r["server_prepare"]
    }
    assert verdicts == {
        ("5.7.22", "connector-j:5.1.49"): "slow",
        ("5.7.22", "python"): "slow",
        ("8.0.31", "connector-j:5.1.49"): "normal",
        ("8.0.31", "python"): "normal",
    }
    for row in data["matrix"]:
        assert row["trials"] == 7
        assert row["version"] == row["server"]
        if row["verdict"] == "slow":
            assert row["ratio_low"] > 3
    with (tmp_path / "run" / "matrix.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 8
    assert set(data["drivers"]) == {"connector-j:5.1.49", "python"}


def test_a_driver_that_is_not_installed_is_a_named_gap(tmp_path: Path) -> None:
    needed = [str(Path(p).parent) for p in map(shutil.which, ("perf", "mvn", "npm", "sh")) if p]
    without_go = ":".join(d for d in dict.fromkeys(needed) if not (Path(d) / "go").exists())
    code, data, said = run(
        tmp_path / "run",
        *("matrix", "bug-73056", "--trials", "3", "--rows", "20"),
        *("--server", "5.7.22", "--driver", "go", "--driver", "python"),
        PATH=without_go,
    )
    assert code == 0
    gaps = {row["driver"]: row["gap"] for row in data["matrix"]}
    assert "go" in gaps["go"]
    assert gaps["python"] == ""
    assert gaps["go"] in said.replace("\n", " ")


def test_the_border_between_versions_is_found_and_8_0_is_not_assumed_to_be_fixed(
    tmp_path: Path,
) -> None:
    code, data, said = run(
        tmp_path / "run",
        *("bisect", "bug-73056", "--bad", "5.7.29", "--good", "8.0.31"),
        *("--driver", "python", "--no-profile"),
    )
    assert code == 0, said
    found = data["bisect"]
    assert (found["last_bad"], found["first_good"]) == ("8.0.15", "8.0.31")
    assert found["candidates"] == ["5.7.29", "8.0.12", "8.0.15", "8.0.31"]
    verdicts = {point["version"]: point["verdict"] for point in found["points"]}
    assert verdicts["8.0.15"] == "shows"
    assert found["answer"] in said.replace("\n", " ")
    assert {s["version"] for s in data["servers"]} == set(verdicts)
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("matrix", "bug-73056", "--server", "4.1"), "not in the catalog"),
        (("matrix", "bug-73056", "--driver", "perl"), "no driver 'perl'"),
        (("bisect", "bug-73056", "--bad", "8.0.31", "--good", "5.7.22"), "not older than"),
        (("bisect", "bug-73056", "--bad", "5.7.22", "--good", "9.9.9"), "not in the catalog"),
    ],
)
def test_what_cannot_be_meant_is_refused_early(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    code, data, said = run(tmp_path / "run", *arguments)
    assert code == 2
    assert words in said
    assert data == {}
    assert not (tmp_path / "run").exists()
