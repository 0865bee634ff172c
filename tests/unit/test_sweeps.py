"""Triggers, scaling, remedies: the derived plans, and the rows that come of a run."""

from pathlib import Path

import pytest
from sweep_factory import cells_ms, make_sweep_run

from mysqlprof import scenario
from mysqlprof.errors import UsageError
from mysqlprof.launches import launches
from mysqlprof.model import Limits, Scenario
from mysqlprof.report import render_html, render_markdown
from mysqlprof.report.sweep_words import remedy_answer, trigger_answer
from mysqlprof.request import Request
from mysqlprof.statistics import Interval
from mysqlprof.sweep_types import RemedyRow
from mysqlprof.sweeps import remedies, scaling, triggers
from mysqlprof.sweeps.remedies import ranked, verdict

BUG = scenario.load("bug-73056")
LOCAL = Request("bug-73056", backend="local", before="5.7.22", after="8.0.31")
ANALYSES = {"triggers": triggers, "scaling": scaling, "remedies": remedies}


@pytest.fixture(autouse=True)
def _all_libraries(monkeypatch):
    monkeypatch.setattr("mysqlprof.host.finds_library", lambda name: True)


def derived(name: str, request: Request = LOCAL) -> Scenario:
    return ANALYSES[name].analysis_of(BUG, request).definition


# --- what is planned ---


@pytest.mark.parametrize("name", ANALYSES)
def test_a_scenario_without_the_section_is_refused_by_its_name(name):
    section = {"remedies": "remedy_trials"}.get(name, name)
    with pytest.raises(UsageError, match=rf"no \[{section}\]"):
        ANALYSES[name].analysis_of(BUG.model_copy(update={section: None}), LOCAL)


def test_every_arm_states_every_switch():
    """What one arm sets would otherwise stay for the next one on the same server."""
    for name in ("triggers", "remedies"):
        cells = scenario.cells(derived(name))
        touched = {v for cell in cells for v in (*cell.set, *cell.set_after_prepare)}
        assert touched
        for cell in cells:
            assert set(cell.set) == touched, cell.id


def test_switches_of_the_running_server_share_one_server():
    plan = scenario.plan(derived("triggers"), seed=1)
    found = launches(plan, Limits(), {})
    shared = [
        cell for cell, name in found.of_cell.items() if name == found.of_cell["before_all-off"]
    ]
    assert len(found.specs) == 5
    assert len(shared) == len(plan.cells) - 4


def test_the_toggle_is_set_between_prepare_and_execute():
    cells = {c.levels["trigger"]: c for c in scenario.cells(derived("triggers"))}
    cell = cells["slow log switched off after prepare"]
    assert cell.set["slow_query_log"] == "ON"
    assert cell.set_after_prepare == {"slow_query_log": "OFF"}


def test_one_size_varies_and_equal_points_are_measured_once():
    cells = scenario.cells(derived("scaling"))
    sizes = [cell.workload for cell in cells if cell.levels["slow_query_log"] == "on"]
    shared = [s for s in sizes if s == {"rows": 250, "columns": 24, "value_bytes": 20}]
    assert len(shared) == 1
    assert len({cell.id for cell in cells}) == len(cells)
    assert {cell.levels["slow_query_log"] for cell in cells} == {"off", "on"}


def test_batches_send_the_same_number_of_rows_in_all():
    cells = scenario.cells(derived("remedies"))
    batches = {(c.workload.get("executes", 1), c.workload.get("rows", 500)) for c in cells}
    assert batches == {(1, 500), (2, 250), (5, 100), (10, 50), (25, 20)}


def test_rows_that_the_batches_do_not_divide_are_refused():
    with pytest.raises(UsageError, match="cannot be sent in 25 equal statements"):
        derived("remedies", Request("bug-73056", backend="local", rows=30))


def test_an_upgrade_is_measured_on_its_own_server_only():
    cells = scenario.cells(derived("remedies"))
    assert [c.levels["remedy"] for c in cells if c.role == "after"] == ["upgrade"]
    assert next(c for c in cells if c.levels["remedy"] == "upgrade").role == "after"


def test_two_arms_of_one_name_are_refused():
    assert BUG.triggers
    twice = BUG.triggers.model_copy(update={"arms": [BUG.triggers.arms[0]] * 2})
    with pytest.raises(UsageError, match="two arms of one name"):
        triggers.analysis_of(BUG.model_copy(update={"triggers": twice}), LOCAL)


def test_a_library_that_is_not_installed_is_a_gap(monkeypatch, tmp_path):
    monkeypatch.setattr("mysqlprof.host.finds_library", lambda name: "jemalloc" not in name)
    run_dir = make_sweep_run(tmp_path / "run", remedies.analysis_of(BUG, LOCAL), lambda cell: 20.0)
    rows = {row.name: row for row in run_dir.read_run().remedies}
    assert rows["jemalloc"].verdict == "not_measured"
    assert "libjemalloc.so.2 is not installed" in rows["jemalloc"].gap
    assert rows["tcmalloc"].gap == ""


def test_in_a_container_a_preloaded_library_is_a_gap():
    cells = scenario.cells(derived("remedies", Request("bug-73056", backend="docker")))
    assert not any("LD_PRELOAD" in cell.env for cell in cells)


# --- what is told of it ---


def test_triggers_are_told_apart_and_hopes_are_answered(tmp_path):
    firing = {
        "slow log on",
        "general log on",
        "binlog STATEMENT",
        "slow log on (long_query_time 1000)",
    }
    analysis = triggers.analysis_of(BUG, LOCAL)
    law = lambda cell: 900.0 if cell.levels["trigger"] in firing else 18.0  # noqa: E731
    run_dir = make_sweep_run(tmp_path / "run", analysis, law)
    run = run_dir.read_run()
    rows = {row.name: row for row in run.triggers}
    assert {name for name, row in rows.items() if row.verdict == "fires"} == firing
    assert rows["binlog ROW"].verdict == "no_effect"
    said = rows["slow log on (long_query_time 1000)"].sentence
    assert said.startswith("Raising long_query_time does not help: ")
    assert rows["slow log on (log_output NONE)"].sentence.startswith("log_output=NONE helps")
    assert trigger_answer(run.triggers) == (
        "3 of 7 switches bring it out: slow log on, general log on, binlog STATEMENT;"
        " no help: raising long_query_time."
    )
    for text in (render_html(run_dir), render_markdown(run_dir)):
        assert "Raising long_query_time does not help" in text


def test_a_baseline_that_is_slow_itself_hides_every_switch(tmp_path):
    analysis = triggers.analysis_of(BUG, LOCAL)
    law = lambda cell: 900.0 if cell.driver["server_prepare"] else 18.0  # noqa: E731
    run = make_sweep_run(tmp_path / "run", analysis, law).read_run()
    assert trigger_answer(run.triggers).startswith("It shows with every switch off")
    assert {row.verdict for row in run.triggers} == {"control", "fires", "cannot_tell"}


def scaled(cell) -> float:
    """Quadratic beyond 128 KiB of text where affected, linear elsewhere."""
    size = cell.workload.get("rows", 500) * cell.workload.get("columns", 24)
    if cell.levels["slow_query_log"] == "off" or size < 7500:
        return size / 600
    return size * size / 2e5


def test_the_growth_is_told_with_its_kink_and_where_it_hurts(tmp_path):
    run_dir = make_sweep_run(tmp_path / "run", scaling.analysis_of(BUG, LOCAL), scaled)
    run = run_dir.read_run()
    assert run.scaling
    series = {s.name: s for s in run.scaling.series}
    rows = series["rows, allocator fixed"]
    assert [p.value for p in rows.points] == [25, 50, 100, 150, 200, 250, 300, 400, 500, 700]
    assert rows.points[0].exponent is None
    assert rows.points[2].exponent == pytest.approx(1.0, abs=0.3)
    assert rows.points[-1].exponent == pytest.approx(2.0, abs=0.6)
    first = rows.kinks[0]
    assert first.value_low <= 300 <= first.value_high
    assert first.text_low_bytes
    assert first.text_high_bytes
    assert first.text_low_bytes < 128 * 1024 < first.text_high_bytes
    assert rows.sentences[0].startswith("From 400 rows (151 KiB of text) on it takes more than 2")
    texts = [p.text_bytes for p in rows.points if p.text_bytes]
    assert texts == sorted(texts)
    html = render_html(run_dir)
    assert html.count("KiB of statement text") == len(series)
    assert "rows, allocator fixed" in render_markdown(run_dir)


def test_what_never_hurts_is_said_to_never_hurt(tmp_path):
    run = make_sweep_run(
        tmp_path / "run", scaling.analysis_of(BUG, LOCAL), lambda c: 5.0
    ).read_run()
    assert run.scaling
    assert run.scaling.series[0].sentences[0] == (
        "At no size did it surely take more than 2 times the unaffected time,"
        " and nowhere 100 ms more."
    )


def test_allocators_have_their_page_faults(tmp_path):
    run = make_sweep_run(tmp_path / "run", scaling.analysis_of(BUG, LOCAL), scaled).read_run()
    assert run.scaling
    assert [row.name for row in run.scaling.allocators] == [
        "default",
        "fixed",
        "jemalloc",
        "tcmalloc",
    ]
    assert all(row.minor_faults == 480 for row in run.scaling.allocators)
    assert all(row.kernel_share is None for row in run.scaling.allocators)


def test_remedies_are_ranked_and_idle_ones_are_named(tmp_path):
    times = {"upgrade": 15.0, "client-side prepare": 30.0, "jemalloc": 60.0}
    analysis = remedies.analysis_of(BUG, LOCAL)
    law = lambda cell: times.get(cell.levels["remedy"], 900.0)  # noqa: E731
    run_dir = make_sweep_run(tmp_path / "run", analysis, law)
    run = run_dir.read_run()
    helping = [(row.rank, row.name) for row in run.remedies if row.verdict == "helps"]
    assert helping == [(1, "upgrade"), (2, "client-side prepare"), (3, "jemalloc")]
    idle = {row.name for row in run.remedies if row.verdict == "does_nothing"}
    assert {"log_output NONE", "long_query_time 1000"} <= idle
    stars = {row.name: row.stars for row in run.remedies if row.stars}
    assert stars == {"upgrade": 5, "client-side prepare": 4, "slow log off (prepared again)": 2}
    assert all(row.cost for row in run.remedies if row.verdict != "untreated")
    answer = remedy_answer(run.remedies)
    assert answer.startswith("3 of 13 remedies help; best: upgrade (6")
    for text in (render_html(run_dir), render_markdown(run_dir)):
        assert "★★★★★" in text


def test_who_cannot_be_told_from_the_best_shares_its_rank():
    rows = [RemedyRow(rank=None, name=n, verdict="helps") for n in ("a", "b", "c", "d")]
    times = {"a": cells_ms(10, 5, 1), "b": cells_ms(10.1, 5, 2), "c": [20.0] * 5, "d": [40.0] * 5}
    assert [row.rank for row in ranked(rows, times)] == [1, 1, 3, 4]


@pytest.mark.parametrize(
    ("gain", "expected"),
    [
        (Interval(40, 30, 50), "helps"),
        (Interval(1.0, 0.9, 1.1), "does_nothing"),
        (Interval(1.4, 1.2, 1.6), "cannot_tell"),
        (Interval(0.5, 0.4, 0.6), "makes_it_worse"),
        (Interval(1.0, 0.5, 1.2), "cannot_tell"),
        (None, "cannot_tell"),
    ],
)
def test_the_whole_interval_decides_whether_a_remedy_helps(gain, expected):
    assert verdict(gain, 1.5) == expected


def test_hostile_names_are_escaped(tmp_path: Path):
    assert BUG.triggers
    arm = BUG.triggers.arms[0].model_copy(update={"name": "<script>alert(1)</script>|x"})
    plan = BUG.triggers.model_copy(update={"arms": [arm]})
    hostile = BUG.model_copy(update={"triggers": plan})
    run_dir = make_sweep_run(tmp_path / "run", triggers.analysis_of(hostile, LOCAL), lambda c: 20.0)
    assert "<script>alert" not in render_html(run_dir)
    assert "<script>" not in render_markdown(run_dir)
