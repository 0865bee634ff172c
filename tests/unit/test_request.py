"""What the user asked for, against what the scenario's kind of work has."""

import pytest

from mysqlprof import scenario
from mysqlprof.drivers.registry import check_driver
from mysqlprof.errors import UsageError
from mysqlprof.request import Request, customised, driver_of
from mysqlprof.workloads import make

BUG = scenario.load("bug-73056")
OLTP = scenario.load("oltp_read_write")


def test_sizes_of_the_scenario_s_kind_are_taken():
    assert customised(BUG, Request("bug-73056", rows=7)).workload.rows == 7
    changed = customised(OLTP, Request("oltp_read_write", threads=5, events=9)).workload
    assert (changed.threads, changed.events, changed.tables) == (5, 9, OLTP.workload.tables)


@pytest.mark.parametrize(
    ("definition", "sizes", "words", "hint"),
    [
        (OLTP, {"rows": 7, "value_bytes": 3}, "--rows, --value-bytes: not for", "--threads"),
        (BUG, {"threads": 7}, "--threads: not for", "--rows, --columns, --value-bytes"),
    ],
)
def test_sizes_of_another_kind_are_refused_with_those_that_there_are(
    definition, sizes, words, hint
):
    with pytest.raises(UsageError, match=words) as caught:
        customised(definition, Request(definition.name, **sizes))
    assert hint in caught.value.hint


def test_a_first_look_is_smaller_but_for_what_was_asked_for():
    assert customised(BUG, Request("b", quick=True)).workload.value_bytes == 64
    assert customised(BUG, Request("b", quick=True, value_bytes=99)).workload.value_bytes == 99
    quick = customised(OLTP, Request("o", quick=True)).workload
    assert quick.events == OLTP.workload.events // 4
    profiled = customised(OLTP, Request("o", quick=True)).profile.cells
    assert profiled == [{"server": "before"}, {"server": "after"}]


@pytest.mark.parametrize(
    ("definition", "request_", "text"),
    [
        (BUG, Request("b"), "connector-j"),
        (BUG, Request("b", driver="go"), "go"),
        (BUG, Request("b", driver_version="8.0.22"), "connector-j:8.0.22"),
        (OLTP, Request("o"), "sysbench"),
    ],
)
def test_the_scenario_names_the_driver_unless_the_user_does(definition, request_, text):
    assert driver_of(definition, request_) == text


@pytest.mark.parametrize(
    ("definition", "driver", "able"),
    [
        (OLTP, "python", "sysbench"),
        (BUG, "sysbench", "connector-j, python, go, node, sharding-jdbc"),
    ],
)
def test_a_driver_that_cannot_do_the_work_is_refused_with_those_that_can(definition, driver, able):
    task = make(definition.workload, 1, 2**26).task(0)
    check_driver(definition.driver, task)
    with pytest.raises(UsageError, match=f"driver {driver} cannot run") as caught:
        check_driver(driver, task)
    assert caught.value.hint == f"choose one of {able}"
