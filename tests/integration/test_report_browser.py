"""A rendered report in a real browser: its scripts run, its policy lets nothing else, no errors."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from report_factory import NORMAL, NORMAL_STACKS, SLOW, SLOW_STACKS, make_run

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.flamegraph import find_flamegraph
from mysqlprof.flamegraph import render as draw
from mysqlprof.importing.read import ReadOptions, read_profiles
from mysqlprof.importing.run import write_run
from mysqlprof.report import render_html
from mysqlprof.store import RunDirectory

_CAPTURED = Path(__file__).parents[1] / "data" / "import"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_HOSTILE = {"main;<script>alert(1)</script>": 300, "main;');alert(2)//": 300, 'main;"><b>x': 300}

# Seen by the page's own script when a frame has drawn itself and reported so.
_DRAWN = re.compile(r"<iframe [^>]*\bdata-drawn\b")


@pytest.fixture(scope="module")
def browser() -> str:
    for name in _NAMES:
        if found := shutil.which(name):
            return found
    pytest.skip(f"no browser: none of {', '.join(_NAMES)} is on the PATH")


def _loaded(browser: str, page: Path, profile: Path) -> tuple[str, list[str]]:
    """The document after its scripts ran, and what it wrote to the console."""
    done = subprocess.run(
        [
            browser,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-extensions"),
            *("--enable-logging=stderr", "--v=0", "--virtual-time-budget=4000"),
            *(f"--user-data-dir={profile}", "--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def _with_real_drawings(run_dir: RunDirectory) -> None:
    try:
        find_flamegraph()
    except EnvironmentLacks:
        return
    for info in run_dir.profiles():
        stacks = run_dir.read_stacks(info.cell)
        svg = draw(stacks, title=info.cell, subtitle="synthetic")
        run_dir.write_profile(info, stacks, svg)


@pytest.mark.parametrize(
    "profiles",
    [{SLOW: SLOW_STACKS, NORMAL: NORMAL_STACKS}, {SLOW: _HOSTILE}],
    ids=["plain", "hostile"],
)
def test_a_report_loads_without_console_errors(
    browser: str, tmp_path: Path, profiles: dict[str, dict[str, int]]
) -> None:
    run_dir = make_run(tmp_path / "run", profiles=profiles)
    _with_real_drawings(run_dir)
    page = run_dir.write_report("report.html", render_html(run_dir))
    document, console = _loaded(browser, page, tmp_path / "profile")
    assert console == []
    assert len(_DRAWN.findall(document)) == len(profiles)


def test_the_report_of_imported_profiles_loads_without_console_errors(
    browser: str, tmp_path: Path
) -> None:
    files = [_CAPTURED / name for name in ("mysqld.perf-script.txt.gz", "bpftrace.txt.gz")]
    hostile = tmp_path / "hostile.folded"
    hostile.write_text("".join(f"{stack} {count}\n" for stack, count in _HOSTILE.items()))
    profiles = [p for file in (*files, hostile) for p in read_profiles(file, ReadOptions())]
    _, run_dir = write_run(profiles, tmp_path / "run", force=False, command=["mysqlprof"])
    page = run_dir.write_report("report.html", render_html(run_dir))
    document, console = _loaded(browser, page, tmp_path / "profile")
    assert console == []
    assert "Shows the path of MySQL Bug" in document


def test_a_script_that_the_policy_does_not_name_is_refused(browser: str, tmp_path: Path) -> None:
    """The test's own eyes: a violation must be seen on the console."""
    run_dir = make_run(tmp_path / "run")
    html = render_html(run_dir).replace("</footer>", "<script>alert(1)</script></footer>")
    page = run_dir.write_report("report.html", html)
    _, console = _loaded(browser, page, tmp_path / "profile")
    assert any("Content Security Policy" in line for line in console)
