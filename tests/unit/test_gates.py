"""`--fail-if`: what is understood, what is refused, what an interval decides, what CI gets."""

from xml.etree import ElementTree

import pytest
from report_factory import make_run

from mysqlprof.changes import CellComparison, GateResult, Upgrade
from mysqlprof.cli.exit_codes import upgrade_exit_code
from mysqlprof.errors import UsageError
from mysqlprof.junit import check_junit, junit, write_junit
from mysqlprof.model import Caveat, Run
from mysqlprof.upgrade.gates import evaluate, parse


def row(cell="log-on_prepare-on", **changes):
    facts = {
        "cell": cell,
        "levels": {},
        "before_cell": f"before_{cell}",
        "after_cell": f"after_{cell}",
        "before_ms": 200.0,
        "after_ms": 250.0,
        "ratio": 1.25,
        "ci_low": 1.2,
        "ci_high": 1.3,
        "verdict": "slower",
    }
    return CellComparison.model_validate(facts | changes)


UNMEASURED = row(
    before_ms=None, after_ms=None, ratio=None, ci_low=None, ci_high=None, verdict="cannot_tell"
)


def outcome(expression, comparison=None):
    (result,) = evaluate([parse(expression)], [comparison or row()])
    return result.outcome


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("ratio > 1.10", ("*", "ratio", ">", "1.10")),
        ("ratio>1.10", ("*", "ratio", ">", "1.10")),
        ("  ratio  >=  2  ", ("*", "ratio", ">=", "2")),
        ("ratio < .9", ("*", "ratio", "<", ".9")),
        ("before_ms <= 10.", ("*", "before_ms", "<=", "10.")),
        ("log-on*: after_ms > 250", ("log-on*", "after_ms", ">", "250")),
        ("fixed_log-on_prepare-on:ratio>1", ("fixed_log-on_prepare-on", "ratio", ">", "1")),
        ("verdict == slower", ("*", "verdict", "==", "slower")),
        ("*_prepare-o[nf]: verdict != same", ("*_prepare-o[nf]", "verdict", "!=", "same")),
        ("verdict==cannot_tell", ("*", "verdict", "==", "cannot_tell")),
    ],
)
def test_a_gate_is_read(text, parts):
    gate = parse(text)
    assert (gate.cells, gate.subject, gate.operator, gate.bound) == parts
    assert gate.text == text.strip()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be read"),
        ("ratio", "cannot be read"),
        ("ratio > ", "cannot be read"),
        ("ratio > 1.1.0", "cannot be read"),
        ("ratio > -1", "cannot be read"),
        ("ratio > 1e3", "cannot be read"),
        ("ratio > 1,10", "cannot be read"),
        ("ratio > 10 %", "cannot be read"),
        ("ratio => 1.1", "cannot be read"),
        ("ratio > 1.1; verdict == slower", "cannot be read"),
        ("1.1 < ratio", "cannot be read"),
        (": ratio > 1", "cannot be read"),
        ("Ratio > 1", "cannot be read"),
        ("ratio > one", "is compared with > >= < <= and a number"),
        ("ratio == 1", "is compared with > >= < <= and a number"),
        ("after_ms != 5", "is compared with > >= < <= and a number"),
        ("median > 5", "there is no 'median'"),
        ("verdict > slower", "a verdict is == or != one of faster, slower, same, cannot_tell"),
        ("verdict == worse", "a verdict is == or != one of"),
        ("verdict == 1", "a verdict is == or != one of"),
    ],
)
def test_what_is_no_gate_is_refused_with_the_place_and_a_way_out(text, words):
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert words in refused.value.message
    assert repr(text) in refused.value.message
    assert "--fail-if" in refused.value.message
    assert refused.value.hint


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ratio > 1.10", "failed"),
        ("ratio > 1.2", "cannot_tell"),
        ("ratio >= 1.2", "failed"),
        ("ratio > 1.25", "cannot_tell"),
        ("ratio > 1.3", "held"),
        ("ratio >= 1.3", "cannot_tell"),
        ("ratio < 1.5", "failed"),
        ("ratio < 1.1", "held"),
        ("after_ms > 249", "failed"),
        ("after_ms > 250", "held"),
        ("before_ms >= 200", "failed"),
        ("verdict == slower", "failed"),
        ("verdict == faster", "held"),
        ("verdict != same", "failed"),
        ("verdict != slower", "held"),
        ("verdict == cannot_tell", "held"),
    ],
)
def test_the_whole_interval_decides(expression, expected):
    assert outcome(expression) == expected


@pytest.mark.parametrize(
    "expression",
    ["ratio > 0.1", "before_ms > 0", "after_ms > 0", "verdict == slower", "verdict != same"],
)
def test_what_was_not_measured_cannot_be_told(expression):
    assert outcome(expression, UNMEASURED) == "cannot_tell"


def test_a_gate_on_not_knowing_is_decided():
    assert outcome("verdict == cannot_tell", UNMEASURED) == "failed"


def test_a_pattern_names_cells_and_each_is_judged():
    rows = [row("log-on_prepare-on"), row("log-on_prepare-off", ci_low=0.9), row("log-off")]
    results = evaluate([parse("log-on*: ratio > 1.1"), parse("ratio > 2")], rows)
    assert [(r.cell, r.expression, r.outcome) for r in results] == [
        ("log-on_prepare-on", "log-on*: ratio > 1.1", "failed"),
        ("log-on_prepare-off", "log-on*: ratio > 1.1", "cannot_tell"),
        ("log-on_prepare-on", "ratio > 2", "held"),
        ("log-on_prepare-off", "ratio > 2", "held"),
        ("log-off", "ratio > 2", "held"),
    ]
    assert results[0].measured == "1.250 [1.200, 1.300]"


def test_a_gate_that_names_no_cell_is_refused_with_the_names_there_are():
    with pytest.raises(UsageError, match="names no cell") as refused:
        evaluate([parse("LOG-ON*: ratio > 1")], [row("log-on"), row("log-off")])
    assert refused.value.hint == "cells are: log-on, log-off"


# --- what the shell gets ---


def stored(tmp_path, outcomes=(), verdicts=("same",), **changes) -> Run:
    gates = [
        GateResult(expression="ratio > 1.10", cell=f"c{n}", outcome=found, measured="1.2")
        for n, found in enumerate(outcomes)
    ]
    upgrade = Upgrade(before="a", after="b", same_version=False, unit="execute", gates=gates)
    facts = {"upgrade": upgrade, "comparison": [row(f"c{n}", verdict=v) for n, v in
             enumerate(verdicts)], "caveats": [], **changes}  # fmt: skip
    return make_run(tmp_path / "run", trial_count=3, profiles={}, **facts).read_run()


PARTIAL = [Caveat(kind="profile", text="no profile", partial=True)]


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({}, 0),
        ({"verdicts": ("cannot_tell", "cannot_tell")}, 5),
        ({"verdicts": ("cannot_tell", "slower")}, 0),
        ({"verdicts": ()}, 5),
        ({"outcomes": ("held",)}, 0),
        ({"outcomes": ("held",), "verdicts": ("cannot_tell",)}, 0),
        ({"outcomes": ("held", "cannot_tell")}, 5),
        ({"outcomes": ("held", "failed", "cannot_tell")}, 1),
        ({"outcomes": ("failed",), "caveats": PARTIAL}, 1),
        ({"outcomes": ("held",), "caveats": PARTIAL}, 4),
        ({"caveats": PARTIAL}, 4),
        ({"outcomes": ("failed",), "status": "interrupted"}, 130),
        ({"outcomes": ("failed",), "status": "failed", "caveats": PARTIAL}, 6),
    ],
)
def test_exit_codes(tmp_path, facts, code):
    assert upgrade_exit_code(stored(tmp_path, **facts)) == code


def test_junit_counts_failures_and_skips_what_cannot_be_told(tmp_path):
    run = stored(tmp_path, ("held", "failed", "cannot_tell", "failed"))
    path = tmp_path / "new" / "gates.xml"
    write_junit(path, run)
    suite = ElementTree.parse(path).getroot()
    assert suite.tag == "testsuite"
    counts = {name: suite.get(name) for name in ("tests", "failures", "skipped", "errors")}
    assert counts == {"tests": "4", "failures": "2", "skipped": "1", "errors": "0"}
    assert suite.get("timestamp") == "2025-11-20T15:40:05"
    cases = suite.findall("testcase")
    assert [case.get("classname") for case in cases] == ["c0", "c1", "c2", "c3"]
    assert [[child.tag for child in case] for case in cases] == [
        [], ["failure"], ["skipped"], ["failure"],
    ]  # fmt: skip
    assert cases[1][0].get("message") == "c1: 1.2, and the gate is ratio > 1.10"


def test_junit_is_well_formed_whatever_a_cell_or_a_gate_is_called(tmp_path):
    bad = 'x"><!--\x01\x1b[31m&\u202e\ud800]]>'
    run = stored(tmp_path)
    hostile = [
        GateResult(expression=f"{bad}*: ratio > 1", cell=bad, outcome=found, measured="1")
        for found in ("failed", "cannot_tell", "held")
    ]
    changed = run.upgrade.model_copy(update={"gates": hostile})
    run = run.model_copy(update={"upgrade": changed, "scenario": bad})
    suite = ElementTree.fromstring(junit(run).encode())
    assert len(suite) == 3
    assert "\\u0001" in suite[0].get("classname")
    assert "\\u202e" in suite[0].get("name")


def test_where_junit_cannot_be_written_is_said_before_anything_is_measured(tmp_path):
    (tmp_path / "file").write_text("")
    check_junit(tmp_path / "a" / "b" / "gates.xml", 1)
    check_junit(tmp_path / "file", 1)
    for path in (tmp_path, tmp_path / "file" / "gates.xml"):
        with pytest.raises(UsageError, match="cannot write"):
            check_junit(path, 1)
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_junit_without_a_gate_is_no_green_build(tmp_path):
    with pytest.raises(UsageError, match="no gate to report"):
        check_junit(tmp_path / "gates.xml", 0)
