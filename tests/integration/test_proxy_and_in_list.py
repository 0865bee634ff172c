"""proxy-vs-jdbc and in-list in a small size: real ShardingSphere, real servers, exact counts."""

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import psutil
import pytest

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the jars"),
    pytest.mark.skipif(shutil.which("javac") is None, reason="needs a Java development kit"),
]


@pytest.fixture(scope="module", autouse=True)
def no_program_is_left() -> Iterator[None]:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


def reproduced(out: Path, *arguments: str) -> tuple[dict, list[dict[str, str]]]:
    """run.json and trials.csv of a run without profiles."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mysqlprof", "reproduce", *arguments),
            *("--backend", "local", "--no-profile", "--seed", "1", "--out", str(out)),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode in (4, 5), done.stderr
    with (out / "trials.csv").open() as file:
        return json.loads((out / "run.json").read_text()), list(csv.DictReader(file))


def claims(run: dict) -> dict[str, str]:
    return {claim["id"]: claim["verdict"] for claim in run["claims"]}


@pytest.fixture(scope="module")
def puzzle(tmp_path_factory):
    out = tmp_path_factory.mktemp("puzzle") / "run"
    small = ("--rows", "60", "--value-bytes", "40", "--trials", "1", "--quick")
    return reproduced(out, "proxy-vs-jdbc", *small)


def test_who_prepares_is_counted_exactly_on_all_ways(puzzle):
    _, trials = puzzle
    counted: dict[tuple[str, str], set[str]] = {}
    for trial in trials:
        way = trial["level.path"], trial["level.url"]
        counted.setdefault(way, set()).add(trial["status.Com_stmt_execute"])
    assert counted == {
        ("direct", "default"): {"0"},
        ("direct", "on"): {"1"},
        ("direct", "off"): {"0"},
        ("sharding-jdbc", "default"): {"1"},
        ("sharding-jdbc", "on"): {"1"},
        ("sharding-jdbc", "off"): {"0"},
        ("sharding-proxy", "default"): {"0"},
        ("sharding-proxy", "on"): {"1"},
        ("sharding-proxy", "off"): {"0"},
    }
    assert {trial["status.Innodb_rows_inserted"] for trial in trials} == {"60"}


def test_its_claims_about_counters_hold_and_the_ways_are_named(puzzle):
    run, trials = puzzle
    verdicts = claims(run)
    assert verdicts["executes_where_slow"] == verdicts["queries_where_normal"] == "holds"
    (way,) = [caveat["text"] for caveat in run["caveats"] if caveat["kind"] == "on_the_way"]
    assert way.endswith("through ShardingSphere-Proxy 5.1.0 with Connector/J 8.0.33")
    assert run["drivers"]["sharding-jdbc"]["version"] == "5.1.0"
    spent = {t["level.path"] for t in trials if t["metric.shardingsphere_cpu_ms"]}
    assert spent == {"sharding-proxy"}


def test_an_in_list_is_slow_with_the_log_on_and_its_answer_is_exact(tmp_path):
    text = files("mysqlprof.scenarios").joinpath("in-list.toml").read_text()
    small = text.replace("parameters = 50000", "parameters = 12000")
    (tmp_path / "small.toml").write_text(small.replace("warmups = 2", "warmups = 1"))
    run, trials = reproduced(tmp_path / "run", str(tmp_path / "small.toml"), "--trials", "3")
    assert len(run["cells"]) == 12
    assert {trial["metric.answer_rows"] for trial in trials} == {"500"}
    assert len({trial["metric.answer_checksum"] for trial in trials}) == 1
    for trial in trials:
        on_server = trial["level.server_prepare"] == "on"
        assert trial["status.Com_stmt_execute"] == str(int(on_server))
    ratios = {contrast["name"]: contrast["ratio"] for contrast in run["contrasts"]}
    assert ratios["log_on_padded"] > 2, "about ten, when nothing else runs"
    assert run["workload"]["parameters"] == 12_000
    copied = {
        cell: facts["predicted_growth_copy_bytes"] for cell, facts in run["workloads"].items()
    }
    assert all("padded" in cell for cell in copied)
    assert min(copied.values()) > 3 * run["workload"]["predicted_growth_copy_bytes"]
