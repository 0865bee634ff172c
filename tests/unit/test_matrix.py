"""Drivers x servers: the derived plan, and the rows that come of a run."""

from itertools import product

import pytest
from report_factory import make_run

from mysqlprof import scenario
from mysqlprof.errors import UsageError
from mysqlprof.matrix import derive, plan_of, rows
from mysqlprof.model import ContrastResult, Run, Scenario

BUG = scenario.load("bug-73056")


def derived(servers: list[str], drivers: list[str]) -> Scenario:
    wanted = plan_of(BUG, servers, drivers)
    return derive(BUG.model_copy(update={"matrix": wanted}), trials=3)


def measured(definition: Scenario, ratio: tuple[float, float, float], base: Run) -> Run:
    """A run of that definition in which every ratio and every cell is the same."""
    cells = scenario.cells(definition)
    contrasts = [
        ContrastResult(
            name=c.name,
            text=c.text,
            numerator="",
            denominator="",
            ratio=ratio[0],
            ci_low=ratio[1],
            ci_high=ratio[2],
        )
        for c in definition.contrasts
    ]
    return base.model_copy(
        update={
            "plan": base.plan.model_copy(update={"definition": definition}),
            "cells": [
                base.cells[0].model_copy(update={"id": c.id, "levels": c.levels}) for c in cells
            ],
            "contrasts": contrasts,
        }
    )


@pytest.fixture
def base(tmp_path) -> Run:
    return make_run(tmp_path / "run").read_run()


def test_the_published_matrix_has_sixteen_cells_in_its_regime():
    cells = scenario.cells(derived([], []))
    assert len(cells) == 16
    assert {c.levels["allocator"] for c in cells} == {"fixed"}
    assert {c.levels["slow_query_log"] for c in cells} == {"on"}
    assert {c.driver_name for c in cells} == {
        f"connector-j:{v}" for v in ("5.1.49", "8.0.22", "8.0.33", "8.3.0")
    }
    assert all(c.env["MALLOC_MMAP_THRESHOLD_"] and c.set["slow_query_log"] == "ON" for c in cells)


def test_lists_of_one_s_own_replace_the_scenario_s():
    cells = scenario.cells(derived(["5.7.22", "5.7.22"], ["python"]))
    found = {(c.role, c.driver_name, c.levels["server_prepare"]) for c in cells}
    assert found == set(product(["5.7.22"], ["python"], ["on", "off"]))


def test_cell_ids_are_names_that_files_can_have():
    for cell in scenario.cells(derived([], [])):
        assert set(cell.id) <= set(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
        )


def test_a_scenario_without_a_matrix_is_refused():
    with pytest.raises(UsageError, match=r"no \[matrix\]"):
        plan_of(BUG.model_copy(update={"matrix": None}), [], [])


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        ((20.0, 15.0, 25.0), "slow"),
        ((1.1, 0.9, 1.3), "normal"),
        ((2.5, 2.1, 2.9), "cannot_tell"),
        ((3.0, 1.0, 9.0), "cannot_tell"),
    ],
)
def test_the_whole_interval_decides(base, ratio, verdict):
    run = measured(derived(["5.7.38"], ["connector-j:8.0.33"]), ratio, base)
    on, off = rows(run, {})
    assert (on.verdict, off.verdict) == (verdict, "normal")
    assert (on.ratio, off.ratio) == (ratio[0], None)


def test_published_times_stand_beside_their_cells(base):
    run = measured(derived(["5.7.38", "5.7.22"], ["connector-j:8.0.33"]), (1, 1, 1), base)
    found = {(r.server, r.server_prepare): r.article_ms for r in rows(run, {})}
    assert found == {
        ("5.7.38", True): 23553,
        ("5.7.38", False): 1563,
        ("5.7.22", True): None,
        ("5.7.22", False): None,
    }


def test_a_driver_that_is_not_there_keeps_its_place_with_the_reason(base):
    definition = derived(["5.7.22"], ["python", "go"])
    run = measured(definition, (1.0, 0.9, 1.1), base)
    run = run.model_copy(update={"cells": [c for c in run.cells if c.levels["driver"] != "go"]})
    found = rows(run, {"go": "go is not installed"})
    assert [(r.driver, r.verdict, r.gap) for r in found] == [
        ("python", "normal", ""),
        ("python", "normal", ""),
        ("go", "not_measured", "go is not installed"),
        ("go", "not_measured", "go is not installed"),
    ]


def test_a_cell_whose_driver_the_server_refuses_says_why(base):
    run = measured(derived(["5.7.22"], ["python"]), (1.0, 0.9, 1.1), base)
    off, on = sorted(run.cells, key=lambda cell: cell.levels["server_prepare"])
    unmeasured = on.model_copy(update={"median_ms": None, "trials": 0})
    found = rows(run.model_copy(update={"cells": [unmeasured, off]}), {}, {on.id: "no such login"})
    assert [(r.verdict, r.gap) for r in found] == [
        ("not_measured", "no such login"),
        ("normal", ""),
    ]
