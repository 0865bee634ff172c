"""gallery and export as a user types them."""

import json
from pathlib import Path

import pytest
from report_factory import SLOW, make_run
from typer.testing import CliRunner

from mysqlprof import web_assets
from mysqlprof.cli import app
from mysqlprof.errors import EnvironmentLacks, PartialData, UsageError
from mysqlprof.gallery.libraries import FILES, LICENCES


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one run in `runs`, and libraries that npm need not bring."""
    make_run(tmp_path / "runs" / "one")
    vendor = tmp_path / "vendor"
    vendor.mkdir()
    for name in FILES:
        (vendor / name).write_text("")
    (vendor / LICENCES).write_text("[]")
    monkeypatch.setattr(web_assets, "libraries", lambda: vendor)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def invoke(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_the_usual_places_are_looked_at(here: Path) -> None:
    answer = json.loads(invoke("gallery", "--json"))
    assert answer == {
        "site": "gallery",
        "index": "gallery/index.html",
        "runs": 1,
        "profiles": 2,
        "unread": [],
    }
    assert (here / "gallery" / "index.html").is_file()


def test_a_broken_run_is_left_out_and_said(here: Path) -> None:
    (here / "runs" / "broken").mkdir()
    (here / "runs" / "broken" / "run.json").write_text("{")
    with pytest.raises(PartialData, match="1 stored files could not be read"):
        invoke("gallery")
    assert (here / "gallery" / "index.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gallery", "nowhere"], "nowhere is not a directory"),
        (["gallery", "vendor"], "no run was found"),
        (["gallery", "--out", "vendor"], "is not a gallery"),
        (["export", "runs/one", "--format", "folded"], "holds 2 profiles"),
        (["export", "runs/one", "--format", "folded", "--cell", "x"], "no profile of cell x"),
        (["export", "vendor", "--format", "folded"], "is not a run directory"),
        (["export", "runs/one", "--format", "folded", "--cell", SLOW, "--out", "no/x"], "no/x"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(
    here: Path, arguments: list[str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        invoke(*arguments)


@pytest.mark.parametrize("format_", ["folded", "svg", "speedscope", "pprof"])
def test_export_writes_a_file(here: Path, format_: str) -> None:
    invoke("export", "runs/one", "--cell", SLOW, "--format", format_, "--out", "file")
    content = (here / "file").read_bytes()
    stored = here / "runs" / "one" / "profiles" / f"{SLOW}.{format_}"
    if stored.is_file():
        assert content == stored.read_bytes()
    else:
        assert content[:2] == (b"\x1f\x8b" if format_ == "pprof" else b'{"')


def test_without_npm_the_answer_is_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("MYSQLPROF_CACHE", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="npm") as caught:
        web_assets.libraries()
    assert caught.value.hint.endswith("npm")
