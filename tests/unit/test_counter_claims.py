"""Predicted against counted."""

import pytest

from mysqlprof import scenario
from mysqlprof.counted_types import CounterRow
from mysqlprof.counter_claims import compare, expectation
from mysqlprof.errors import UsageError
from mysqlprof.model import ClaimSpec
from mysqlprof.rules import load_rules
from mysqlprof.store import RunDirectory
from mysqlprof.verdict import Measured, judge_run

FACTS = {"predicted_replaces": 12_000, "predicted_bytes": 1_000_000}
CALLS = ClaimSpec(id="c", text="c", counter="String::replace", equals="predicted_replaces")
BYTES = ClaimSpec(
    id="b", text="b", counter="String::replace", measure="bytes", equals="predicted_bytes",
    within=0.05,
)  # fmt: skip


def rows(*counts: tuple[int | None, int | None], how: str = "uprobe on x") -> list[CounterRow]:
    return [
        CounterRow(
            cell="slow", execute=i, counter="String::replace", calls=calls, bytes=size, how=how
        )
        for i, (calls, size) in enumerate(counts, start=1)
    ]


def test_a_count_holds_only_when_every_execute_equals_the_prediction():
    found = compare(CALLS, "slow", rows((12_000, 5), (12_000, 6)), FACTS)
    assert (found.verdict, found.words()) == ("holds", "12,000 in each of 2 executes")
    found = compare(CALLS, "slow", rows((12_000, 5), (11_999, 6)), FACTS)
    assert (found.verdict, found.worst) == ("does_not_hold", 11_999)
    assert found.words() == "11,999 to 12,000 in an execute"


@pytest.mark.parametrize(
    ("size", "verdict"),
    [(950_000, "holds"), (1_050_000, "holds"), (949_999, "does_not_hold"),
     (1_050_001, "does_not_hold")],
)  # fmt: skip
def test_bytes_may_be_off_by_what_the_claim_allows_and_no_more(size, verdict):
    assert compare(BYTES, "slow", rows((1, size)), FACTS).verdict == verdict


def test_zero_is_a_prediction_and_not_the_lack_of_one():
    none = CALLS.model_copy(update={"equals": 0})
    assert compare(none, "slow", rows((0, 0)), FACTS).verdict == "holds"
    assert compare(none, "slow", rows((1, 8)), FACTS).verdict == "does_not_hold"


def test_what_is_not_countable_cannot_be_told_and_says_what_was_looked_for():
    found = compare(CALLS, "slow", rows((None, None), how="not countable here: no X"), FACTS)
    assert (found.verdict, found.reason) == ("cannot_tell", "not countable here: no X")
    assert compare(CALLS, "other", rows((12_000, 1)), FACTS).verdict == "cannot_tell"
    unknown = CALLS.model_copy(update={"equals": "predicted_moons"})
    assert compare(unknown, "slow", rows((1, 1)), FACTS).verdict == "cannot_tell"


def test_the_expectation_is_a_number():
    assert expectation(CALLS, FACTS) == "exactly 12,000"
    assert expectation(BYTES, FACTS) == "1,000,000 within 5 %"


def test_claims_about_counts_are_judged_only_where_it_was_counted():
    bug = scenario.load("bug-73056")
    measured = Measured(bug, scenario.cells(bug), [])
    counted = Measured(bug, scenario.cells(bug), [], counters=[])
    of_counters = {claim.id for claim in bug.claims if claim.counter}
    assert of_counters
    assert not of_counters & {claim.id for claim in judge_run(measured, load_rules()).claims}
    judged = judge_run(counted, load_rules())
    assert of_counters < {claim.id for claim in judged.claims}
    assert all(claim.verdict == "cannot_tell" for claim in judged.claims)


def test_rows_survive_the_run_directory(tmp_path):
    run_dir = RunDirectory.create(tmp_path / "run", force=False)
    written = [*rows((12_000, 7), (None, None)), *rows((0, None), how="a, b")]
    run_dir.write_counters(written)
    assert run_dir.read_counters() == written


def test_a_claim_about_a_counter_that_is_not_counted_is_refused():
    bug = scenario.load("bug-73056")
    for claim, words in [
        (CALLS.model_copy(update={"counter": "String::append"}), "not in \\[counters\\]"),
        (CALLS.model_copy(update={"equals": ""}), "needs `equals`"),
    ]:
        with pytest.raises(UsageError, match=words):
            scenario._check_references(bug.model_copy(update={"claims": [claim]}), "x.toml")
