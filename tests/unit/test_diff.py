"""Any two stored profiles: what is compared with what, in which measure."""

import csv
import json
from pathlib import Path

import pytest
from report_factory import NORMAL, SLOW, SLOW_STACKS, folded, make_run
from typer.testing import CliRunner

from mysqlprof.cli import app
from mysqlprof.diff import SHARE, difference
from mysqlprof.errors import UsageError
from mysqlprof.stored_profile import open_profile


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run").path


def verdicts(run: Path, **options: bool) -> dict[str, str]:
    found = difference(open_profile(run, SLOW), open_profile(run, NORMAL), **options)
    return {row.function: row.verdict for row in found.functions}


def test_costs_are_per_unit_of_work_where_it_is_known(run: Path) -> None:
    found = difference(open_profile(run, SLOW), open_profile(run, NORMAL))
    assert found.measure == "CPU ms per execute"
    # 725 samples at 999 Hz over 3 executes.
    assert found.sides[0].total_ms == pytest.approx(725 / 0.999 / 3)
    assert verdicts(run)["String::replace"] == "vanished"


def test_a_folded_file_is_compared_by_shares(run: Path, tmp_path: Path) -> None:
    (tmp_path / "x.folded").write_text("main;a 50\nmain;b 50\n")
    found = difference(open_profile(tmp_path / "x.folded", ""), open_profile(run, SLOW))
    assert found.measure == SHARE
    by_name = {row.function: row for row in found.functions}
    assert by_name["a"].before_ms == 50.0
    replaced = sum(n for stack, n in SLOW_STACKS.items() if "String::replace" in stack)
    whole = folded(SLOW_STACKS).total
    assert by_name["String::replace"].after_ms == pytest.approx(100 * replaced / whole)


def test_a_profile_does_not_differ_from_itself(run: Path) -> None:
    profile = open_profile(run, SLOW)
    assert difference(profile, profile).changed == []


def test_an_empty_profile_is_refused(run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.folded").write_text("")
    with pytest.raises(UsageError, match="has no samples"):
        difference(open_profile(tmp_path / "empty.folded", ""), open_profile(run, SLOW))


def test_what_is_not_folded_is_said_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("main 1\nnonsense\n")
    with pytest.raises(UsageError, match="line 2"):
        open_profile(tmp_path / "x.txt", "")


def test_the_verb_prints_json_and_writes_a_table(run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.folded").write_text("main;=cmd() 90\nmain;b 10\n")
    (tmp_path / "b.folded").write_text("main;b 100\n")
    names = [str(tmp_path / name) for name in ("a.folded", "b.folded")]
    done = CliRunner().invoke(app, ["diff", *names, "--json", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert answer["measure"] == SHARE
    assert [row["function"] for row in answer["functions"]] == ["=cmd", "b", "main"]
    with (tmp_path / "out" / "functions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["function"] == "'=cmd"


def test_the_verb_prints_what_changed(run: Path) -> None:
    arguments = ["diff", str(run), str(run), "--cell-a", SLOW, "--cell-b", NORMAL]
    done = CliRunner().invoke(app, [*arguments, "--limit", "3"])
    assert done.exit_code == 0
    assert "CPU ms per execute" in done.stdout
    assert "more changed (--limit)" in done.stdout
