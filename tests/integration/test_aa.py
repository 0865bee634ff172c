"""The same server twice must not be told apart, and a claim that it can must not hold."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mysqlprof.statistics import Interval, difference

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(shutil.which("mvn") is None, reason="needs Maven to fetch the servers"),
]
SCENARIO = Path(__file__).parent.parent / "data" / "aa.toml"


def test_equal_servers_are_not_called_different(tmp_path):
    done = subprocess.run(
        [
            sys.executable, "-m", "mysqlprof", "reproduce", str(SCENARIO),
            "--backend", "local", "--driver", "python", "--no-profile",
            "--seed", "3", "--out", str(tmp_path / "run"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )  # fmt: skip
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert done.returncode == 5, done.stderr
    assert run["verdict"] == "not_reproduced"
    for contrast in run["contrasts"]:
        found = Interval(contrast["ratio"], contrast["ci_low"], contrast["ci_high"])
        assert difference(found) in ("same", "cannot_tell"), contrast
