"""Reports of a scenario that counts transactions and claims nothing. All figures are invented."""

from pathlib import Path

import pytest
from report_factory import SLOW_STACKS, flame_svg, folded, make_run, profile_info, server

from mysqlprof.attribution import load_rules
from mysqlprof.model import PlanRecord, Run, TrialResult
from mysqlprof.report import render_html, render_markdown
from mysqlprof.scenario import cells, load
from mysqlprof.statistics import THRESHOLDS
from mysqlprof.store import RunDirectory
from mysqlprof.verdict import Measured, judge_run, ratios_undecided
from mysqlprof.workloads import make
from mysqlprof.workloads.base import amount, stored_facts

OLTP = load("oltp_read_write")
THIN = "\u202f"


def trial(cell: str, number: int, elapsed_ms: float) -> TrialResult:
    return TrialResult(
        cell=cell,
        trial=number,
        round=number,
        kind="timed",
        profiled=False,
        elapsed_ms=elapsed_ms,
        prepare_ms=0.0,
        rows_written=None,
        metrics={"transactions": 700, "transactions_per_s": 7e5 / elapsed_ms},
    )


def measured(after_ms: float, spread: float = 0.01, count: int = 9) -> Measured:
    timed = [
        trial(cell, number, median * (1 + spread * (number - count // 2)))
        for number in range(count)
        for cell, median in (("before", 1000.0), ("after", after_ms))
    ]
    return Measured(OLTP, cells(OLTP), timed, {"before": "before", "after": "after"}, {})


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDirectory:
    data = measured(after_ms=1300.0)
    judged = judge_run(data, load_rules())
    run = Run(
        id="synthetic",
        tool_version="0.1.0",
        created="2025-11-20T15:40:05+00:00",
        status="complete",
        scenario=OLTP.name,
        plan=PlanRecord(definition=OLTP, seed=1, trials=9, warmups=2, cells=list(data.cells)),
        driver={"name": "sysbench", "version": "1.0.20"},
        workload=stored_facts(make(OLTP.workload, 1, 2**26)),
        servers=[server("before", "before"), server("after", "after")],
        cells=judged.cells,
        contrasts=judged.contrasts,
        verdict=judged.verdict,
        thresholds=THRESHOLDS,
    )
    made = RunDirectory.create(tmp_path / "run", force=False)
    made.write_trials(data.trials, {cell.id: cell.levels for cell in data.cells})
    stacks = folded(SLOW_STACKS)
    info = profile_info("after", stacks).model_copy(update={"executes": 3})
    made.write_profile(info, stacks, flame_svg(stacks))
    made.write_run(run)
    return made


def test_work_is_counted_in_the_workload_s_own_unit():
    work = make(OLTP.workload, 1, 2**26)
    assert (amount(work, 1), amount(work, 3)) == ("700 transactions", "2,100 transactions")
    insert = make(load("bug-73056").workload, 1, 2**26)
    assert (amount(insert, 1), amount(insert, 3)) == ("1 execute", "3 executes")


def test_without_claims_the_verdict_is_that_all_was_measured():
    assert judge_run(measured(1300.0), load_rules()).verdict == "measured"
    assert judge_run(measured(1300.0, count=2), load_rules()).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("after_ms", "spread", "undecided"),
    [(1300.0, 0.005, False), (1000.0, 0.002, False), (1100.0, 0.05, True)],
)
def test_more_rounds_are_wanted_only_while_the_headline_cannot_be_told(after_ms, spread, undecided):
    judged = judge_run(measured(after_ms, spread), load_rules())
    assert ratios_undecided(OLTP, judged) is undecided


def test_medians_of_the_driver_s_figures_are_each_cell_s():
    before, after = judge_run(measured(1400.0), load_rules()).cells
    assert before.metrics == {"transactions": 700, "transactions_per_s": pytest.approx(700.0)}
    assert after.metrics["transactions_per_s"] == pytest.approx(500.0)


def test_the_page_speaks_of_transactions(run_dir):
    page = render_html(run_dir)
    assert "Measured" in page
    for words in (
        f"700 transactions a trial by 2 threads on 4 tables of 10{THIN}000 rows",
        "Elapsed time of sysbench&#39;s run of 700 transactions, by its own clock",
        "transactions per s",
        f"2{THIN}100 transactions",
        "for 700 transactions",
    ):
        assert words in page
    for words in ("INSERT", "an execute", "slowness", "prepare ms", "No claim", 'class="role'):
        assert words not in page


def test_the_markdown_speaks_of_transactions(run_dir):
    text = render_markdown(run_dir)
    assert "**Measured**" in text
    assert "Timed: sysbench's run of 700 transactions, by its own clock; 9 unprofiled" in text
    assert "| transactions per s |" in text
    assert "INSERT" not in text


def test_a_run_without_units_was_of_executes(tmp_path):
    page = render_html(make_run(tmp_path / "run"))
    assert "for 1 execute<" in page
    assert "12\u202f000 parameters, 128-byte text values" in page
