"""Exported profiles, read by the tools that they are for."""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest
from playwright.sync_api import expect, sync_playwright

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
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def speedscope(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published package, unpacked."""
    folder = cache_dir("tests") / "speedscope-1.25.0"
    try:
        with locked(folder):
            if not list(folder.glob("*.tgz")):
                fetch_npm(SPEEDSCOPE, folder)
    except EnvironmentLacks as error:
        pytest.skip(error.message)
    (archive,) = folder.iterdir()
    place = tmp_path_factory.mktemp("speedscope")
    subprocess.run(["tar", "-xzf", archive, "-C", place], check=True)
    return place / "package" / "dist" / "release"


def test_speedscope_has_its_published_schema(speedscope: Path) -> None:
    schema = json.loads((speedscope / "file-format-schema.json").read_text(encoding="utf-8"))
    document = json.loads(export(REPORT, CELL, "speedscope"))
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"shared": {}}, schema)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_speedscope_opens_it(speedscope: Path, tmp_path: Path) -> None:
    """From disk, in the way of its own command: by a script that hands the file over."""
    content = base64.b64encode(export(REPORT, CELL, "speedscope")).decode()
    handover = f'speedscope.loadFileFromBase64("x.speedscope.json", "{content}")'
    (tmp_path / "profile.js").write_text(handover)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        page = browser.new_page()
        page.goto(f"{(speedscope / 'index.html').as_uri()}#localProfilePath={tmp_path}/profile.js")
        expect(page).to_have_title(f"{CELL} - speedscope", timeout=20_000)
        browser.close()


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
