"""The run directory: what is written comes back, what is broken is said."""

import csv
import hashlib
import json
from pathlib import Path

import pytest
from report_factory import make_matrix_run, make_run

from mysqlprof import csvfile
from mysqlprof.errors import UsageError
from mysqlprof.model import MatrixRow
from mysqlprof.store import RunDirectory


def test_trials_come_back_as_they_were_written(tmp_path):
    run_dir = make_run(tmp_path / "run")
    trials = run_dir.read_trials()
    levels = {cell.id: cell.levels for cell in run_dir.read_run().plan.cells}
    run_dir.write_trials(trials, levels)
    assert run_dir.read_trials() == trials


def test_a_driver_s_own_figures_come_back_and_what_it_does_not_say_stays_empty(tmp_path):
    run_dir = make_run(tmp_path / "run")
    levels = {cell.id: cell.levels for cell in run_dir.read_run().plan.cells}
    first, second, *_ = run_dir.read_trials()
    figures = {"latency_p95_ms": 4.57, "transactions": 700.0}
    written = [first.model_copy(update={"metrics": figures, "rows_written": None}), second]
    run_dir.write_trials(written, levels)
    assert run_dir.read_trials() == written
    header = (run_dir.path / "trials.csv").read_text().splitlines()[0]
    assert header.endswith("metric.latency_p95_ms,metric.transactions")


@pytest.mark.parametrize("name", ["bug-73056", "bug-73056-matrix", "bug-73056-bisect"])
def test_runs_that_were_published_before_read_on(name):
    run_dir = RunDirectory.open(Path(__file__).parents[2] / "reports" / name)
    workload = run_dir.read_run().plan.definition.workload
    assert (workload.kind, workload.rows, workload.columns) == ("prepared-insert", 500, 24)
    assert {trial.rows_written for trial in run_dir.read_trials()} == {500}


def test_the_table_of_trials_has_a_column_for_each_factor(tmp_path):
    run_dir = make_run(tmp_path / "run")
    header = (run_dir.path / "trials.csv").read_text().splitlines()[0].split(",")
    assert header[:6] == ["cell", "trial", "round", "kind", "profiled", "elapsed_ms"]
    assert {"level.server", "level.slow_query_log"} <= set(header)


def test_the_matrix_has_a_line_for_each_row_and_nothing_where_nothing_was_measured(tmp_path):
    gap = "=go is missing"
    run_dir = make_matrix_run(tmp_path / "run", drivers=["python", "go"], gaps={"go": gap})
    rows = run_dir.read_run().matrix
    run_dir.write_matrix(rows)
    with (run_dir.path / "matrix.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == list(MatrixRow.model_fields)
    assert [(x["server"], x["driver"], x["verdict"]) for x in lines] == [
        (r.server, r.driver, r.verdict) for r in rows
    ]
    (first, *_) = [x for x in lines if x["driver"] == "go"]
    assert (first["median_ms"], first["ratio"], first["article_ms"]) == ("", "", "")
    assert first["gap"] == f"'{gap}"
    assert float(lines[0]["median_ms"]) == pytest.approx(rows[0].median_ms, rel=1e-5)
    assert lines[0]["server_prepare"] == "true"


def test_the_sums_are_right_for_every_file(tmp_path):
    run_dir = make_run(tmp_path / "run")
    run_dir.write_sums()
    named = set()
    for line in (run_dir.path / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((run_dir.path / name).read_bytes()).hexdigest() == digest
        named.add(name)
    files = {p.relative_to(run_dir.path).as_posix() for p in run_dir.path.rglob("*") if p.is_file()}
    assert named == files - {"SHA256SUMS"}


def test_an_existing_directory_is_refused_without_force(tmp_path):
    make_run(tmp_path / "run")
    with pytest.raises(UsageError) as caught:
        RunDirectory.create(tmp_path / "run", force=False)
    assert "--force" in caught.value.hint


def test_force_replaces_a_run_but_nothing_else(tmp_path):
    make_run(tmp_path / "run")
    RunDirectory.create(tmp_path / "run", force=True)
    assert not (tmp_path / "run" / "run.json").exists()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="not a run directory"):
        RunDirectory.create(tmp_path / "home", force=True)
    assert (tmp_path / "home" / "thesis.txt").exists()


def test_a_place_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot create"):
        RunDirectory.create(tmp_path / "file" / "run", force=False)


def test_a_directory_without_a_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no run\.json"):
        RunDirectory.open(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read"),
        ("", "cannot be read"),
        ("[]", "schema_version None"),
        ('{"schema_version": 99}', "schema_version 99"),
        ('{"schema_version": 1}', "not a valid run"),
    ],
)
def test_a_broken_run_json_is_a_sentence_that_names_it(tmp_path, text, words):
    run_dir = make_run(tmp_path / "run")
    (run_dir.path / "run.json").write_text(text)
    with pytest.raises(UsageError) as caught:
        RunDirectory.open(run_dir.path).read_run()
    assert words in caught.value.message
    assert "run.json" in caught.value.message


def test_run_json_has_the_published_fields(tmp_path):
    data = json.loads((make_run(tmp_path / "run").path / "run.json").read_text())
    assert data["schema_version"] == 1
    assert data["scenario"] == "bug-73056"
    assert {"verdict", "servers", "cells", "contrasts", "claims", "caveats"} <= data.keys()
    assert {"id", "levels", "trials", "median_ms", "ci_low_ms", "ci_high_ms"} <= data["cells"][
        0
    ].keys()
    assert {"name", "ratio", "ci_low", "ci_high"} <= data["contrasts"][0].keys()
    assert {"id", "text", "verdict", "measured", "expected"} <= data["claims"][0].keys()
    assert {
        "role", "version", "backend", "source", "sha256", "digest", "build_id", "settings",
    } <= data["servers"][0].keys()  # fmt: skip


def test_a_value_that_a_spreadsheet_would_run_is_written_as_text(tmp_path):
    run_dir = RunDirectory.create(tmp_path / "run", force=False)
    csvfile.write(run_dir.path / "x.csv", [["=cmd()", "@x", "+1", "a=b"]])
    assert (run_dir.path / "x.csv").read_text() == "'=cmd(),'@x,'+1,a=b\n"


def test_a_log_does_not_tell_whose_home_it_was_written_in(tmp_path):
    run_dir = RunDirectory.create(tmp_path / "run", force=False)
    written = run_dir.write_log("before.log", f"basedir is {Path.home()}/mysql\n")
    assert written.read_text() == "basedir is ~/mysql\n"
