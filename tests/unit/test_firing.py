"""Could it fire here? From settings and the scenario's conditions."""

import pytest
from report_factory import make_run

from mysqlprof import scenario
from mysqlprof.firing import Firing, normal_servers, states
from mysqlprof.model import Contrast
from mysqlprof.report import render_html, render_markdown
from mysqlprof.sweep_types import Condition

BUG = scenario.load("bug-73056")
CONDITIONS = BUG.triggers.conditions if BUG.triggers else []
OFF = {
    "slow_query_log": "OFF",
    "general_log": "OFF",
    "log_bin": "OFF",
    "binlog_format": "ROW",
}


def armed(settings: dict[str, str], version: str = "5.7.29") -> list[str]:
    return [s.name for s in states(CONDITIONS, [settings], version) if s.armed]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"slow_query_log": "ON"}, ["slow query log"]),
        ({"slow_query_log": "1"}, ["slow query log"]),
        ({"general_log": "ON"}, ["general log"]),
        ({"log_bin": "ON"}, []),
        ({"binlog_format": "STATEMENT"}, []),
        ({"log_bin": "ON", "binlog_format": "STATEMENT"}, ["statement-based binary log"]),
        ({"log_bin": "ON", "binlog_format": "MIXED"}, ["statement-based binary log"]),
        ({"long_query_time": "1000", "slow_query_log": "ON"}, ["slow query log"]),
    ],
)
def test_the_state_of_each_trigger_is_told_from_the_settings(changes, expected):
    assert armed(OFF | changes) == expected


def test_some_versions_need_no_switch():
    assert armed(OFF, "8.0.15") == ["none needed in 8.0.12 to 8.0.15"]
    assert armed(OFF, "8.0.31") == []


def test_a_variable_that_the_server_lacks_arms_nothing():
    condition = Condition(name="x", when={"audit": ["ON"]})
    (state,) = states([condition], [{}], "5.7.29")
    assert (state.armed, state.values) == (False, {"audit": ("unknown",)})


def test_it_is_armed_where_one_of_the_states_is():
    (state, *_) = states(CONDITIONS, [OFF, OFF | {"slow_query_log": "ON"}], "5.7.29")
    assert state.armed
    assert state.values == {"slow_query_log": ("OFF", "ON")}


def test_a_server_that_could_fire_and_did_not_is_told_from_one_that_could_not():
    could = Firing("a", "8.0.31", tuple(states(CONDITIONS, [{"general_log": "ON"}], "8.0.31")))
    could_not = Firing("b", "5.7.29", tuple(states(CONDITIONS, [OFF], "5.7.29")))
    assert could.could_fire
    assert "(general log) and did not" in could.sentence
    assert not could_not.could_fire
    assert "not the same as fixed" in could_not.sentence


def test_only_servers_without_slowness_are_listed(tmp_path):
    run = make_run(tmp_path / "run").read_run()
    found = {firing.server: firing.could_fire for firing in normal_servers(run)}
    assert found == {"after": True}


def test_a_server_on_which_no_log_was_ever_on_is_not_called_fixed(tmp_path):
    off = [f for f in BUG.factors if f.name != "slow_query_log"]
    log = next(f for f in BUG.factors if f.name == "slow_query_log")
    off.append(log.model_copy(update={"levels": {"off": log.levels["off"]}}))
    contrast = Contrast(
        name="prepare",
        text="server-side : client-side prepare",
        numerator={"server": "before", "server_prepare": "on"},
        denominator={"server": "before", "server_prepare": "off"},
    )
    quiet = BUG.model_copy(update={"factors": off, "contrasts": [contrast], "picture": None})
    run_dir = make_run(tmp_path / "run", scenario=quiet, slow=False, profiles={})
    (firing,) = normal_servers(run_dir.read_run())
    assert firing.server == "before"
    assert not firing.could_fire
    for text in (render_html(run_dir), render_markdown(run_dir)):
        assert "Could it fire here?" in text
        assert "not the same as fixed" in text
