"""Which servers a plan needs."""

from mysqlprof import scenario
from mysqlprof.launches import launches
from mysqlprof.model import Limits


def test_cells_that_need_the_same_start_share_a_server():
    plan = scenario.plan(scenario.load("bug-73056"), seed=1)
    found = launches(plan, Limits(), {})
    assert list(found.specs) == ["before_default", "before_fixed", "after_default"]
    assert found.specs["before_fixed"].environment["MALLOC_MMAP_THRESHOLD_"] == "131072"
    assert found.specs["before_default"].environment == {}
    assert found.of_cell["before_fixed_log-on_prepare-off"] == "before_fixed"


def test_startup_settings_have_a_server_each():
    plan = scenario.plan(scenario.load("bug-73056"), seed=1, toggle="startup")
    found = launches(plan, Limits(), {})
    assert len(found.specs) == 6
    assert found.specs["after_default_on"].arguments == {"slow_query_log": "ON"}


def test_limits_and_images_reach_the_servers_they_are_meant_for():
    plan = scenario.plan(scenario.load("bug-73056"), seed=1)
    found = launches(plan, Limits(cpus=1.0), {"after": "mysql:8.4"})
    assert {spec.limits.cpus for spec in found.specs.values()} == {1.0}
    assert found.specs["after_default"].image == "mysql:8.4"
    assert found.specs["before_default"].image == ""
