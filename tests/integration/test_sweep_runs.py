"""Triggers, scaling and remedies on a real server, from a scenario file of one's own."""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mysqlprof import scenario
from mysqlprof.host import finds_library

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the servers"),
]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built-in scenario with fewer arms and sizes: what is measured is the file's choice."""
    built_in = Path(scenario.__file__).parent / "scenarios" / "bug-73056.toml"
    text = built_in.read_text(encoding="utf-8")
    kept_triggers = {
        "slow log on",
        "binlog ROW",
        "binlog STATEMENT",
        "slow log on (long_query_time 1000)",
        "slow log switched on after prepare",
        "slow log switched off after prepare",
    }
    kept_remedies = {
        "client-side prepare",
        "log_output NONE",
        "10 statements of 50 rows",
        "jemalloc",
    }
    text = _only(text, "triggers", kept_triggers)
    text = _only(text, "remedy_trials", kept_remedies)
    start, end = text.index("[[scaling.sweeps]]"), text.index("[scaling.allocators]")
    sweep = '[[scaling.sweeps]]\nfactor = "rows"\nvalues = [50, 100, 500]\n\n'
    path = tmp_path_factory.mktemp("scenario") / "own.toml"
    path.write_text(text[:start] + sweep + text[end:], encoding="utf-8")
    return path


def _only(text: str, section: str, names: set[str]) -> str:
    """Without the arms of other names."""

    def keep(found: re.Match[str]) -> str:
        return found[0] if found[1] in names else ""

    arm = rf'\[\[{section}\.arms\]\]\nname = "([^"]*)"\n(?:\w+ = .*\n)*'
    return re.sub(arm, keep, text)


def run(verb: str, own: Path, out: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mysqlprof", verb, str(own), "--out", str(out)),
            *("--backend", "local", "--before", "5.7.22", "--seed", "1", *arguments),
        ],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    data = json.loads((out / "run.json").read_text()) if (out / "run.json").exists() else {}
    return done.returncode, data, said


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_switches_are_told_apart(own: Path, tmp_path: Path) -> None:
    code, data, said = run("triggers", own, tmp_path / "run", "--trials", "3")
    assert code == 0, said
    verdicts = {row["name"]: row["verdict"] for row in data["triggers"]}
    assert set(verdicts) == {
        "all off, client-side prepare",
        "all off",
        "slow log on",
        "binlog ROW",
        "binlog STATEMENT",
        "slow log on (long_query_time 1000)",
        "slow log switched on after prepare",
        "slow log switched off after prepare",
    }
    for name in ("slow log on", "binlog STATEMENT", "slow log on (long_query_time 1000)"):
        assert verdicts[name] == "fires", said
    ratios = {row["name"]: row["ratio"] for row in data["triggers"]}
    for name in ("binlog ROW", "slow log switched on after prepare"):
        assert verdicts[name] != "fires"
        assert ratios[name] < ratios["binlog STATEMENT"] / 4
    assert "Raising long_query_time does not help" in said
    assert len(rows_of(tmp_path / "run" / "triggers.csv")) == 8
    settings = {s["name"]: s["settings"] for s in data["servers"]}
    assert settings["before_binlog-STATEMENT"]["binlog_format"] == "STATEMENT"
    assert {s["log_bin"] for n, s in settings.items() if "binlog" not in n} == {"OFF"}
    assert {s["log_bin"] for n, s in settings.items() if "binlog" in n} == {"ON"}


def test_growth_and_allocators(own: Path, tmp_path: Path) -> None:
    code, data, said = run("scale", own, tmp_path / "run", "--trials", "3", "--no-profile")
    assert code == 0, said
    (series,) = data["scaling"]["series"]
    points = {point["value"]: point for point in series["points"]}
    assert list(points) == [50, 100, 500]
    assert points[500]["parameters"] == 12_000
    assert points[100]["text_bytes"] < 128 * 1024 < points[500]["text_bytes"]
    assert points[500]["ratio"] > 4 * points[50]["ratio"]
    assert points[500]["exponent"] > 2
    assert "on it takes more than 2 times the unaffected time" in series["sentences"][0]
    faults = {row["name"]: row["minor_faults"] for row in data["scaling"]["allocators"]}
    assert faults["fixed"] > 20 * faults["default"]
    assert len(rows_of(tmp_path / "run" / "scaling.csv")) == 3
    assert len(rows_of(tmp_path / "run" / "allocators.csv")) == 4
    assert (tmp_path / "run" / "report.html").exists()


def test_remedies_are_ranked_by_what_they_bring(own: Path, tmp_path: Path) -> None:
    code, data, said = run("remedies", own, tmp_path / "run", "--trials", "3")
    assert code == 0, said
    rows = {row["name"]: row for row in data["remedies"]}
    assert rows["client-side prepare"]["verdict"] == "helps"
    assert rows["client-side prepare"]["stars"] == 4
    batches = rows["10 statements of 50 rows"]
    assert (batches["verdict"], batches["statements"]) == ("helps", 10)
    assert rows["log_output NONE"]["verdict"] != "helps"
    wanted = "helps" if finds_library("libjemalloc.so.2") else "not_measured"
    assert rows["jemalloc"]["verdict"] == wanted
    trials = rows_of(tmp_path / "run" / "trials.csv")
    executes = {(t["level.remedy"], t["status.Com_stmt_execute"]) for t in trials}
    assert ("10 statements of 50 rows", "10") in executes
    assert {t["rows_written"] for t in trials} == {"500"}
    assert len(rows_of(tmp_path / "run" / "remedies.csv")) == 5


@pytest.mark.parametrize(
    ("verb", "section"),
    [("triggers", "triggers"), ("scale", "scaling"), ("remedies", "remedy_trials")],
)
def test_a_scenario_that_has_no_such_section_is_refused(
    own: Path, tmp_path: Path, verb: str, section: str
) -> None:
    text = own.read_text(encoding="utf-8")
    bare = tmp_path / "bare.toml"
    bare.write_text(text[: text.index("# --- what triggers it")], encoding="utf-8")
    code, data, said = run(verb, bare, tmp_path / "run")
    assert (code, data) == (2, {})
    assert f"no [{section}]" in said


def test_sizes_over_a_limit_are_refused_before_anything_starts(own: Path, tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    text = own.read_text(encoding="utf-8").replace("[50, 100, 500]", "[50, 100, 7000]")
    large.write_text(text, encoding="utf-8")
    code, data, said = run("scale", large, tmp_path / "run")
    assert (code, data) == (2, {})
    assert "65,535" in said
    assert not (tmp_path / "run").exists()
