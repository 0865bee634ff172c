"""Imported profiles as runs and as text: the verb, whatever it is given."""

import csv
import gzip
import io
import json
import random
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mysqlprof.cli import app
from mysqlprof.errors import MysqlprofError, UsageError
from mysqlprof.importing import read
from mysqlprof.importing.read import Imported, ReadOptions, read_profiles
from mysqlprof.importing.run import stacks_of, write_run
from mysqlprof.importing.text import folded_lines
from mysqlprof.report import render_html, render_markdown
from mysqlprof.store import RunDirectory

DATA = Path(__file__).parent.parent / "data" / "import"
MYSQLD = DATA / "mysqld.perf-script.txt.gz"
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "=HYPERLINK(1)",
    "-1+1|cmd",
    "@sum",
    "\x1b[31mred",
    "evil\u202etxt",
    "a\u2028b",
    "{{ 7*7 }}",
    "|`*_[x](javascript:alert(1))",
    "\x00",
    "\udc80",
]


def run_verb(*arguments: str | Path) -> tuple[int, str]:
    """Exit code and output; errors are raised to the one place that catches them."""
    try:
        result = CliRunner().invoke(
            app, ["import", *map(str, arguments)], catch_exceptions=False, obj=None
        )
    except MysqlprofError as error:
        return error.exit_code, error.message
    return result.exit_code, result.output


@pytest.fixture
def no_drawing(monkeypatch):
    """Flame graphs take seconds, and are tested elsewhere."""
    monkeypatch.setattr("mysqlprof.importing.run.render", lambda *_, **__: "<svg></svg>")


def imported(path: Path, tmp_path: Path) -> RunDirectory:
    profiles = read_profiles(path, ReadOptions())
    return write_run(profiles, tmp_path / "run", force=False, command=["mysqlprof"])[1]


def written(tmp_path: Path, text: bytes, name: str = "given.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(text)
    return path


# --- runs ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_drawing")
def test_a_run_says_what_was_imported_and_whether_the_path_of_the_bug_is_in_it(tmp_path):
    run = imported(MYSQLD, tmp_path).read_run()
    (profile,) = run.imported
    assert (run.scenario, run.status, run.servers, run.claims) == ("import", "complete", [], [])
    assert (profile.cell, profile.file) == ("mysqld", "mysqld.perf-script.txt.gz")
    assert (profile.unit, profile.samples, profile.weight) == ("ns", 150, 150 * 5_025_125)
    (known,) = profile.known
    assert known.scenario == "bug-73056"
    assert known.share > 0.5
    assert "Shows the path of MySQL Bug #73056" in known.sentence


@pytest.mark.usefixtures("no_drawing")
def test_reports_of_an_imported_run_have_no_verdict(tmp_path):
    run_dir = imported(MYSQLD, tmp_path)
    for text in (render_html(run_dir), render_markdown(run_dir)):
        assert "Shows the path of MySQL Bug" in text
        assert "753" in text
        for word in ("Reproduced", "Inconclusive", "an execute", "No server was started"):
            assert word not in text


@pytest.mark.usefixtures("no_drawing")
def test_files_with_one_name_become_profiles_with_different_ones(tmp_path):
    text = b"a;b 1\n"
    (tmp_path / "sub").mkdir()
    paths = [written(tmp_path, text, "p.txt"), written(tmp_path / "sub", text, "p.folded")]
    paths.append(written(tmp_path, text, "p-2.txt"))
    profiles = [profile for path in paths for profile in read_profiles(path, ReadOptions())]
    run, run_dir = write_run(profiles, tmp_path / "run", force=False, command=[])
    cells = [record.cell for record in run.imported]
    assert len(set(cells)) == 3
    assert [info.cell for info in run_dir.profiles()] == sorted(cells)


@pytest.mark.usefixtures("no_drawing")
def test_what_was_left_out_is_a_caveat(tmp_path):
    path = written(tmp_path, gzip.decompress(MYSQLD.read_bytes()) + b"nonsense\n\n")
    run = imported(path, tmp_path).read_run()
    assert [caveat.kind for caveat in run.caveats] == ["unreadable_lines"]
    assert "'nonsense'" in run.caveats[0].text
    assert run.imported[0].unreadable == 1


def _hostile_file(tmp_path: Path) -> Path:
    lines = [f"main;{name.replace(';', ':')};leaf {n}" for n, name in enumerate(HOSTILE, start=1)]
    text = "\n".join(lines).replace("\u2028", "\u2028").encode("utf-8", "surrogateescape")
    return written(tmp_path, text + b"\nmain;=1+1 7\n", "<b>&.folded")


def test_hostile_names_are_harmless_everywhere(tmp_path):
    run_dir = imported(_hostile_file(tmp_path), tmp_path)
    html, svg = render_html(run_dir), run_dir.read_svg(run_dir.profiles()[0].cell)
    for text in (html, render_markdown(run_dir)):
        for bad in ("<script>alert", "<img src=x", "\x1b", "\u202e", "\x00", "<b>&."):
            inert = bad == "<b>&." and text.startswith("## ")  # in a code span
            assert bad not in text or inert, bad
    if svg is not None:  # flamegraph.pl may not be installed
        for bad in ("<script>alert", "<img", "\x1b", "\u202e", "\x00"):
            assert bad not in svg
    rows = csv.reader(io.StringIO((run_dir.path / "attribution.csv").read_text("utf-8")))
    assert not [cell for row in rows for cell in row if cell[:1] in ("=", "+", "@", "-")]
    total = sum(range(1, len(HOSTILE) + 1)) + 7
    assert run_dir.read_stacks(run_dir.profiles()[0].cell).total == total


@pytest.mark.usefixtures("no_drawing")
def test_a_stack_of_ten_thousand_frames_becomes_a_run(tmp_path):
    path = written(tmp_path, b";".join(b"f%d" % n for n in range(10_000)) + b" 3\n")
    run_dir = imported(path, tmp_path)
    render_markdown(run_dir)
    assert run_dir.read_stacks("given").total == 3


def test_empty_names_survive_the_run_directory():
    stacks = stacks_of({b"a;;b": 1, b" ;": 2})
    assert set(dict(stacks.items())) == {("a", "[unknown]", "b"), ("[unknown]", "[unknown]")}


# --- text ----------------------------------------------------------------------------------------


def test_folded_text_of_several_files_adds_up(tmp_path, capfdbinary):
    paths = [written(tmp_path, b"b;x 1\na 2\n", "1"), written(tmp_path, b"a 3\n", "2")]
    code, _ = run_verb(*paths, "--folded", tmp_path / "out")
    assert code == 0
    assert (tmp_path / "out").read_bytes() == b"a 5\nb;x 1\n"


def test_weights_of_different_units_are_not_added():
    kinds = {"sha256": "", "kind": "folded", "event": ""}
    profiles = [Imported("f", unit=unit, counts={b"a": 1}, **kinds) for unit in ("ns", "counts")]
    with pytest.raises(UsageError, match="counts, ns"):
        list(folded_lines(profiles))


def test_windows_line_ends_are_read(tmp_path):
    text = gzip.decompress(MYSQLD.read_bytes())
    plain = read_profiles(MYSQLD, ReadOptions())[0]
    path = written(tmp_path, text.replace(b"\n", b"\r\n"))
    assert read_profiles(path, ReadOptions())[0].counts == plain.counts


# --- what is refused -----------------------------------------------------------------------------


def test_strict_refuses_what_otherwise_is_left_out(tmp_path):
    path = written(tmp_path, b"a;b 1\nnonsense\n")
    assert run_verb(path, "--strict", "--folded", tmp_path / "out")[0] == 2
    assert not (tmp_path / "out").exists()
    assert run_verb(path, "--folded", tmp_path / "out")[0] == 0


@pytest.mark.parametrize("text", [b"", b"\n\n", b"\x00\xff" * 500, b"\x7fELF", b"\x1f\x8b\x08x"])
def test_what_is_no_profile_is_refused(tmp_path, text):
    code, words = run_verb(written(tmp_path, text), "--folded", tmp_path / "out")
    assert (code, "is no profile" in words) == (2, True)


def test_directories_missing_files_and_unknown_events_are_refused(tmp_path):
    assert run_verb(tmp_path)[0] == 2
    assert run_verb(tmp_path / "nothing")[0] == 2
    two = DATA / "two-events.perf-script.txt.gz"
    code, words = run_verb(two, "--event", "cycles", "--folded", tmp_path / "out")
    assert (code, words) == (2, f"{two} has no event 'cycles'")
    assert run_verb(two, "--folded", "-", "--out", tmp_path / "run")[0] == 2


def test_a_text_that_ends_inside_its_only_sample_is_refused_with_the_reason(tmp_path):
    path = written(tmp_path, b"mysqld 1 1.0: 1 cycles:\n\tff f (/bin/m)\n")
    code, words = run_verb(path)
    assert code == 2
    assert "line 2: the text ends inside a sample" in words


def test_json_names_the_run_and_its_profiles(tmp_path, capsys, no_drawing):
    from mysqlprof.cli.imports import _write_run

    profiles = read_profiles(MYSQLD, ReadOptions())
    _write_run(profiles, tmp_path / "run", force=False, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["run"] == str(tmp_path / "run")
    assert printed["imported"][0]["samples"] == 150


# --- any bytes -----------------------------------------------------------------------------------


def _mutated(data: bytes, chance: random.Random) -> bytes:
    text = bytearray(data)
    for _ in range(chance.randrange(1, 30)):
        at = chance.randrange(len(text) + 1)
        piece = chance.choice(
            [b"", b"\n", b"\n\n", b" (", b")", b";", b"\x00", b"\xff", b"# ", b"@[", b"]: 3", b":",
             bytes(chance.randrange(256) for _ in range(4))]
        )  # fmt: skip
        text[at : at + chance.choice([0, 0, 1, 5, 80])] = piece
    return bytes(text)


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("*[d-t].gz")))
def test_damaged_files_are_read_or_refused(tmp_path, name):
    """A bounded fuzzer: each captured file damaged in places, packed or not."""
    chance = random.Random(name)
    data = gzip.decompress((DATA / name).read_bytes())[:60_000]
    for number in range(25):
        text = _mutated(data, chance)
        if number % 5 == 4:
            text = _mutated(gzip.compress(text), chance)
        path = written(tmp_path, text)
        try:
            (profile,) = read_profiles(path, ReadOptions())
        except UsageError:
            continue
        assert stacks_of(profile.counts).total == profile.weight
        assert all(b"\n" not in stack for stack in profile.counts)


def test_the_module_reads_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b 3\n")))
    (profile,) = read_profiles(read.STDIN, ReadOptions())
    assert profile.counts == {b"a;b": 3}
