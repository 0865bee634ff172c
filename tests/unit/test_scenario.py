"""TOML -> Scenario -> Plan."""

from collections import Counter

import pytest

from mysqlprof import scenario
from mysqlprof.errors import UsageError

MINIMAL = """
name = "tiny"
title = "t"
summary = "s"
trials = 3
warmups = 1
factors = [
  { name = "server", levels = { before = {}, after = {} } },
  { name = "log", label = "log", levels = { off = { set = { slow_query_log = "OFF" } }, \
on = { set = { slow_query_log = "ON" } } } },
]
exclude = [{ server = "after", log = "on" }]
claims = [{ id = "c", text = "c", contrasts = ["r"], above = 2.0 }]
[workload]
kind = "prepared-insert"
rows = 1
columns = 1
value_bytes = 1
[servers.before]
version = "5.7.22"
[servers.after]
version = "8.0.31"
[[contrasts]]
name = "r"
text = "r"
numerator = { server = "before", log = "on" }
denominator = { server = "before", log = "off" }
"""


def tiny(**replace: str) -> scenario.Scenario:
    text = MINIMAL
    for old, new in replace.items():
        assert old in text
        text = text.replace(old, new)
    return scenario.parse(text, "tiny.toml")


def test_every_built_in_scenario_loads_and_names_itself_as_its_file():
    assert "bug-73056" in scenario.names()
    for name in scenario.names():
        assert scenario.load(name).name == name


def test_bug_73056_has_eight_cells_before_and_four_after():
    cells = scenario.cells(scenario.load("bug-73056"))
    assert Counter(cell.role for cell in cells) == {"before": 8, "after": 4}
    assert len({cell.id for cell in cells}) == 12


def test_excluded_combinations_are_left_out_and_ids_name_the_levels():
    assert [cell.id for cell in scenario.cells(tiny())] == [
        "before_log-off",
        "before_log-on",
        "after_log-off",
    ]


def test_startup_toggle_turns_variables_into_launch_arguments():
    runtime = scenario.cells(tiny())[1]
    startup = scenario.cells(tiny(), toggle="startup")[1]
    assert (runtime.set, runtime.launch) == ({"slow_query_log": "ON"}, {})
    assert (startup.set, startup.launch) == ({}, {"slow_query_log": "ON"})


def test_each_round_runs_every_cell_once_in_an_order_of_its_own():
    plan = scenario.plan(scenario.load("bug-73056"), seed=7)
    rounds: dict[int, list[str]] = {}
    for spec in plan.timed:
        rounds.setdefault(spec.round, []).append(spec.cell)
    everything = {cell.id for cell in plan.cells}
    assert all(set(order) == everything and len(order) == 12 for order in rounds.values())
    assert len({tuple(order) for order in rounds.values()}) > 1


def test_the_same_seed_gives_the_same_order_and_another_seed_another():
    bug = scenario.load("bug-73056")
    assert scenario.plan(bug, seed=1).timed == scenario.plan(bug, seed=1).timed
    assert scenario.plan(bug, seed=1).timed != scenario.plan(bug, seed=2).timed


def test_further_rounds_are_planned_but_apart():
    plan = scenario.plan(scenario.load("bug-73056"), seed=1)
    assert {spec.round for spec in plan.timed} == set(range(9))
    assert {spec.round for spec in plan.extra} == set(range(9, 27))


def test_without_profiles_no_cell_is_profiled():
    bug = scenario.load("bug-73056")
    assert scenario.plan(bug, seed=1).profiled
    assert scenario.plan(bug, seed=1, profile=False).profiled == ()


def test_an_unknown_scenario_lists_what_there_is():
    with pytest.raises(UsageError) as caught:
        scenario.load("bug-1")
    assert "bug-73056" in caught.value.hint


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trials = 3", "trials = 0", "trials"),
        ("rows = 1", "rows = -1", "workload.rows"),
        ('kind = "prepared-insert"', 'kind = "magic"', "workload: Input tag 'magic'"),
        ('contrasts = ["r"]', 'contrasts = ["gone"]', "gone"),
        ("above = 2.0", "above = 2.0, below = 1.0", "either `above` or `below`"),
        ('numerator = { server = "before", log = "on" }', 'numerator = { log = "maybe" }', "maybe"),
        ('name = "tiny"', 'name = "tiny', "TOML"),
        ("[servers.after]", "[servers.later]", "server"),
    ],
)
def test_a_broken_scenario_is_refused_with_its_place(old, new, words):
    with pytest.raises(UsageError) as caught:
        tiny(**{old: new})
    assert words in caught.value.message
    assert "tiny.toml" in caught.value.message
