"""sysbench over links of real rates, in a small size. Nothing is left behind."""

import csv
import json
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from host_state import HostState

pytestmark = [
    pytest.mark.network,
    pytest.mark.server,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
    pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the servers"),
    pytest.mark.skipif(shutil.which("sysbench") is None, reason="needs sysbench"),
]
_LEFT_OUT = ("200mbit", "400mbit", "1gbit", "10gbit")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> tuple[dict, list[dict[str, str]], Path]:
    """Three links of the seven, and what was there before and after."""
    folder = tmp_path_factory.mktemp("bandwidth")
    text = files("mysqlprof.scenarios").joinpath("bandwidth.toml").read_text()
    rules = "\n".join(f'[[exclude]]\nlink = "{link}"\n' for link in _LEFT_OUT)
    scenario = folder / "small.toml"
    scenario.write_text(f"{text}\n{rules}")
    before = HostState.now()
    done = subprocess.run(
        [sys.executable, "-m", "mysqlprof", "reproduce", str(scenario), "--no-profile",
         "--trials", "3", "--events", "80", "--out", str(folder / "run")],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode in (0, 4, 5), done.stderr
    assert HostState.now() == before
    with (folder / "run" / "trials.csv").open() as file:
        trials = [row for row in csv.DictReader(file) if row["kind"] == "timed"]
    return json.loads((folder / "run" / "run.json").read_text()), trials, folder / "run"


def metrics(run: dict, link: str, protocol: str) -> dict[str, float]:
    wanted = {"link": link, "protocol": protocol, "threads": "16"}
    (cell,) = [c for c in run["cells"] if wanted.items() <= c["levels"].items()]
    assert cell["trials"] == 3
    return cell["metrics"]


def test_each_link_was_measured_before_it_was_used(run):
    links = {check["link"]: check for check in run[0]["links"]}
    assert set(links) == {"50mbit", "100mbit", "unlimited"}
    assert links["50mbit"]["to_client_bps"] == pytest.approx(47.8e6, rel=0.2)
    assert links["unlimited"]["to_client_bps"] > 10 * links["100mbit"]["to_client_bps"]


def test_bytes_of_a_transaction_are_those_of_its_rows(run):
    # 410 rows of 120 bytes and more; not so much more that anything is counted twice.
    for link in ("50mbit", "100mbit", "unlimited"):
        assert 40 < metrics(run[0], link, "plain")["wire_kb_per_unit"] < 62
        small = metrics(run[0], link, "compressed")["wire_kb_per_unit"]
        assert small < 0.75 * metrics(run[0], link, "plain")["wire_kb_per_unit"]


def test_the_slow_link_is_full_and_the_free_one_is_not(run):
    assert 0.7 < metrics(run[0], "50mbit", "plain")["link_utilisation"] < 1.1
    assert metrics(run[0], "unlimited", "plain")["link_utilisation"] < 0.4


def test_tls_is_what_its_cells_speak_and_no_other(run):
    for row in run[1]:
        handshakes = int(row["level.threads"]) if row["level.protocol"].startswith("tls") else 0
        assert int(row["status.Ssl_finished_accepts"]) == handshakes, row["cell"]


def test_the_crossover_is_searched_on_the_links_that_have_a_rate(run):
    found = run[0]["crossover"]
    assert [point["link"] for point in found["points"]] == ["50mbit", "100mbit"]
    assert found["sentence"].startswith("With 16 threads, compression pays")


def test_the_report_tells_it(run):
    page = (run[2] / "report.html").read_text()
    assert "What was on the wire" in page
    assert 'class="chart chart-crossover"' in page
    assert run[0]["crossover"]["sentence"] in (run[2] / "report.md").read_text()
