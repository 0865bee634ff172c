"""The report's section of exact counts."""

import pytest
from report_factory import NORMAL, SLOW, flame_svg, folded, make_run

from mysqlprof.counted_types import Closure, ClosurePart, Counted, CounterRow, ProbeCost, Sizes
from mysqlprof.report import render_html, render_markdown
from mysqlprof.store import RunDirectory

HOSTILE = "<script>alert(1)</script>"


def row(cell: str, counter: str, calls: int | None, size: int | None = None, **more) -> CounterRow:
    return CounterRow(
        cell=cell,
        execute=1,
        counter=counter,
        calls=calls,
        bytes=size,
        how=more.get("how", "uprobe"),
    )


@pytest.fixture
def counted_run(tmp_path) -> RunDirectory:
    parts = [
        ClosurePart(group="client", label="client and network", ms=6.0),
        ClosurePart(group="on_cpu", label="Memory copy", kind="libc", ms=800.0),
        ClosurePart(group="on_cpu", label=f"cat {HOSTILE}", kind="bug", ms=90.0),
        ClosurePart(group="off_cpu", label="writing to disk", ms=5.0),
        ClosurePart(group="unexplained", label="unexplained", ms=-1.0),
    ]
    closure = Closure(
        cell=SLOW, client_ms=900.0, server_ms=894.0, parts=parts, phases={"execute_loop": 890.0}
    )
    counted = Counted(
        sizes=[Sizes(cell=SLOW, counter="String::mem_realloc", calls={15: 12, 17: 11_988})],
        closures=[closure],
        costs=[ProbeCost(cell=SLOW, counting=1.31, watching=1.01)],
    )
    facts = {
        "predicted_replaces": 12_000,
        "predicted_growths": 11_795,
        "predicted_growth_copy_bytes": 1_312_566_000,
    }
    run_dir = make_run(tmp_path / "run", counted=counted, workload=facts)
    run_dir.write_counters(
        [
            row(SLOW, "String::replace", 12_000, 180_205),
            row(SLOW, "String::mem_realloc", 11_795, 1_291_717_492),
            row(SLOW, "page faults", 172_688, how=f"tracepoint {HOSTILE}"),
            row(NORMAL, "String::replace", None, how="not countable here: no symbol fits ^_ZN6"),
        ]
    )
    waits = folded({"start_thread;do_command(THD*);futex_wait_[k]": 5000})
    run_dir.write_off_cpu(SLOW, waits, flame_svg(waits))
    return run_dir


def test_both_reports_set_counts_beside_their_predictions(counted_run):
    text = render_markdown(counted_run)
    line = next(line for line in text.splitlines() if "`String::replace` calls" in line)
    assert "✓ holds | 12 000 | 12 000 | 0" in line.replace("\u202f", " ")
    assert "-1.59" in text
    assert "not countable here: no symbol fits" in text
    html = render_html(counted_run)
    assert 'id="counted"' in html
    assert "12\u202f000" in html
    assert "172\u202f688" in html


def test_the_parts_and_what_is_unexplained_are_printed_with_their_sign(counted_run):
    text = render_markdown(counted_run).replace("\u202f", " ")
    assert "890 ms (98.9 %) | 5.00 ms (0.6 %) | −1.00 ms (−0.1 %)" in text  # noqa: RUF001
    html = render_html(counted_run).replace("\u202f", " ")
    assert "−1.00 ms" in html  # noqa: RUF001
    assert "chart-closure" in html
    assert "chart-sizes-1" in html


def test_the_graph_of_time_off_the_cpu_has_a_frame_of_its_own(counted_run):
    html = render_html(counted_run)
    assert f"Off-CPU flame graph of {SLOW}" in html
    assert html.count("<iframe") == 3


def test_names_are_escaped_in_every_format(counted_run):
    assert HOSTILE not in render_html(counted_run)
    assert HOSTILE not in render_markdown(counted_run)


def test_a_run_that_counted_nothing_says_nothing_of_it(tmp_path):
    run_dir = make_run(tmp_path / "run")
    assert 'id="counted"' not in render_html(run_dir)
    assert "### Counted" not in render_markdown(run_dir)
