"""Exported profiles, read by the tools that they are for."""

import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import jsonschema
import pytest

from mysqlprof.cache import cache_dir, locked
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.export import export
from mysqlprof.flamegraph import find_flamegraph
from mysqlprof.packages import fetch_npm
from mysqlprof.stacks import plain_name, short_name
from mysqlprof.store import RunDirectory

REPORT = Path(__file__).parents[2] / "reports" / "bug-73056"
CELL = "before_fixed_log-on_prepare-on"
SPEEDSCOPE = "speedscope@1.25.0"
SCHEMA = "package/dist/release/file-format-schema.json"


@pytest.fixture(scope="module")
def schema() -> dict[str, object]:
    """The schema as speedscope publishes it in its package."""
    folder = cache_dir("tests") / "speedscope-1.25.0"
    try:
        with locked(folder):
            if not folder.is_dir():
                fetch_npm(SPEEDSCOPE, folder)
    except EnvironmentLacks as error:
        pytest.skip(error.message)
    (archive,) = folder.iterdir()
    with tarfile.open(archive) as package:
        file = package.extractfile(SCHEMA)
        assert file is not None
        return json.load(file)


def test_speedscope_has_its_published_schema(schema: dict[str, object]) -> None:
    document = json.loads(export(REPORT, CELL, "speedscope"))
    jsonschema.validate(document, schema)
    broken = document | {"shared": {}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, schema)


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
def test_gos_pprof_reads_every_sample_back(tmp_path: Path) -> None:
    stacks = RunDirectory(REPORT).read_stacks(CELL)
    (tmp_path / "x.pb.gz").write_bytes(export(REPORT, CELL, "pprof"))
    raw = pprof(tmp_path, "-raw")
    assert "PeriodType: cpu nanoseconds" in raw
    samples = re.findall(r"^ +(\d+) +\d+: ([\d ]+)$", raw, re.M)
    assert len(samples) == len(stacks)
    assert sum(int(count) for count, _ in samples) == stacks.total
    top = pprof(tmp_path, "-top", "-sample_index=samples", "-nodecount=3", "-unit=count")
    own = stacks.self_counts()
    for frame in sorted(own, key=lambda f: -own[f])[:2]:
        assert re.search(
            rf"^ +{own[frame]} .* {re.escape(short_name(plain_name(frame)))}$", top, re.M
        )


def pprof(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["go", "tool", "pprof", *arguments, "x.pb.gz"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_flamegraph_pl_draws_the_folded_text(tmp_path: Path) -> None:
    try:
        command = find_flamegraph()
    except EnvironmentLacks as error:
        pytest.skip(error.message)
    folded = export(REPORT, CELL, "folded")
    done = subprocess.run([command], input=folded, capture_output=True, check=True)
    total = RunDirectory(REPORT).read_stacks(CELL).total
    assert f"<title>all ({total:,} samples, 100%)</title>".encode() in done.stdout
