"""Two profiles per unit of work: what changed, what is noise, and under which name."""

import numpy as np
import pytest

from mysqlprof.differential import by_function, functions, judged, nodes, side
from mysqlprof.stacks import FoldedStacks


def profile(counts, units=10.0, hz=1000.0):
    return side(
        FoldedStacks({tuple(stack.split(";")): n for stack, n in counts.items()}), hz, units
    )


BASE = {"do_command;work;copy": 500, "do_command;work": 300, "do_command;net": 200}


def changed(**changes):
    return {f"do_command;{name}": count for name, count in changes.items()}


def verdicts(before, after):
    return {name: change.verdict for name, change in by_function(before, after).items()}


def test_twice_the_work_with_twice_the_samples_is_no_change():
    twice = {stack: 2 * count for stack, count in BASE.items()}
    found = by_function(profile(BASE), profile(twice, units=20.0))
    assert {change.verdict for change in found.values()} == {"noise"}
    assert found["copy"].before_ms == found["copy"].after_ms == 50.0
    assert found["copy"].ratio == 1.0


def test_the_sampling_frequency_does_not_matter_either():
    half = {stack: count // 2 for stack, count in BASE.items()}
    assert set(verdicts(profile(BASE), profile(half, hz=500.0)).values()) == {"noise"}


def test_equal_shares_of_twice_the_cost_are_a_change():
    """The same profile by share, but over half of the work."""
    found = by_function(profile(BASE), profile(BASE, units=5.0))
    assert {change.verdict for change in found.values()} == {"grew"}
    assert found["net"].ratio == 2.0


def test_what_grew_shrank_appeared_and_vanished():
    before = changed(same=1000, up=400, down=600, gone=300)
    after = changed(same=1010, up=600, down=400, new=300)
    assert verdicts(profile(before), profile(after)) == {
        "do_command": "noise",
        "same": "noise",
        "up": "grew",
        "down": "shrank",
        "gone": "vanished",
        "new": "appeared",
    }


def test_what_grows_does_not_make_others_shrink():
    found = verdicts(profile(BASE), profile(BASE | {"do_command;log": 3000}))
    assert (found["copy"], found["net"], found["log"]) == ("noise", "noise", "appeared")


def test_a_certain_but_small_change_is_not_worth_mentioning():
    many = {"do_command;a": 100_000, "do_command;b": 100_000}
    found = verdicts(profile(many), profile(many | {"do_command;a": 115_000}))
    assert found["a"] == "noise"
    rare = changed(a=100_000, rare=100)
    assert verdicts(profile(rare), profile(changed(a=100_000)))["rare"] == "noise"
    assert verdicts(profile(rare), profile(changed(a=100_000, rare=900)))["rare"] == "grew"


@pytest.mark.parametrize("pair", [(0, 3), (3, 0), (1, 5), (4, 0), (0, 0)])
def test_nothing_is_said_on_a_handful_of_samples(pair):
    whole = profile({"do_command;a": 30})
    (change,) = judged(whole, whole, [pair])
    assert change.verdict == "noise"


def test_many_functions_of_equal_cost_raise_no_alarm():
    chance = np.random.default_rng(3)
    alarms = 0
    for _ in range(100):
        sides = [
            profile({f"do_command;f{n}": int(chance.poisson(30)) for n in range(60)})
            for _ in range(2)
        ]
        alarms += any(verdict != "noise" for verdict in verdicts(*sides).values())
    assert alarms <= 5


def test_half_as_much_again_is_found():
    chance = np.random.default_rng(4)
    found = 0
    for _ in range(40):
        before, after = ({f"do_command;f{n}": int(chance.poisson(30)) for n in range(60)}
                         for _ in range(2))  # fmt: skip
        before["do_command;hot"] = int(chance.poisson(300))
        after["do_command;hot"] = int(chance.poisson(450))
        found += verdicts(profile(before), profile(after))["hot"] == "grew"
    assert found >= 36


def test_rows_are_in_the_order_of_what_changed_most_with_own_and_whole_cost():
    rows = functions(profile(BASE), profile(BASE | {"do_command;net": 900}), "cell")
    assert [row.function for row in rows[:2]] == ["do_command", "net"]
    assert (rows[1].before_ms, rows[1].after_ms, rows[1].cell) == (20.0, 90.0, "cell")
    work = next(row for row in rows if row.function == "work")
    assert (work.before_ms, work.before_self_ms) == (80.0, 30.0)
    assert (work.before_samples, work.after_samples) == (800, 800)


def names(before, after):
    rows = functions(
        profile({f"do_command;{before}": 500}), profile({f"do_command;{after}": 500}), "cell"
    )
    return {(row.function, row.before_name) for row in rows if row.function != "do_command"}


def test_a_renamed_function_is_one_with_the_name_that_each_side_has():
    old, new = "mysql_parse(THD*)", "dispatch_sql_command(THD*)"
    assert names(old, new) == {("dispatch_sql_command", "mysql_parse")}
    assert names(new, old) == {("mysql_parse", "dispatch_sql_command")}
    assert names(old, old) == {("mysql_parse", "")}
    assert names(new, new) == {("dispatch_sql_command", "")}
    assert names(old, "other") == {("mysql_parse", ""), ("other", "")}


def test_a_function_is_judged_at_each_place_of_the_call_tree():
    before = {"do_command;a;copy": 500, "do_command;b;copy": 500}
    after = {"do_command;a;copy": 1000, "do_command;b;copy": 500}
    places = [("do_command", "a", "copy"), ("do_command", "b", "copy"), ("do_command", "c")]
    found = nodes(profile(before), profile(after), places)
    assert [change.verdict for change in found.values()] == ["grew", "noise", "noise"]
    assert [change.before for change in found.values()] == [500, 500, 0]


@pytest.mark.parametrize(("hz", "units"), [(0.0, 1.0), (999.0, 0.0), (-1.0, 1.0)])
def test_without_a_frequency_or_work_there_is_no_cost(hz, units):
    with pytest.raises(ValueError, match="frequency and units"):
        profile(BASE, units=units, hz=hz)


def test_an_empty_profile_changes_nothing():
    empty = profile({})
    assert by_function(empty, empty) == {}
    assert set(verdicts(profile(BASE), empty).values()) <= {"vanished", "noise"}
