"""Every cell on both servers; and what must not be compared is refused."""

import pytest
from report_factory import server

from mysqlprof.errors import UsageError
from mysqlprof.request import Request, customised
from mysqlprof.scenario import cells, load, plan
from mysqlprof.upgrade.planning import derive, id_without_server, refuse_accidents

BUG = load("bug-73056")


def derived(definition=BUG, **facts):
    request = Request(scenario=definition.name, before="5.7.22", after="8.0.31", **facts)
    return derive(customised(definition, request), request)


def test_every_cell_is_measured_on_both_servers_and_set_against_its_twin():
    upgrade = derived()
    found = cells(upgrade)
    twins = {role: [c.levels | {"server": ""} for c in found if c.role == role]
             for role in ("before", "after")}  # fmt: skip
    assert len(twins["before"]) == 8
    assert twins["before"] == twins["after"]
    assert [c.name for c in upgrade.contrasts] == [
        id_without_server(c) for c in found if c.role == "before"
    ]
    for contrast in upgrade.contrasts:
        assert contrast.numerator == contrast.denominator | {"server": "after"}
        assert contrast.denominator["server"] == "before"


def test_what_a_scenario_leaves_out_on_both_stays_left_out():
    rules = [*BUG.exclude, {"slow_query_log": "off", "server_prepare": "off"}]
    upgrade = derived(BUG.model_copy(update={"exclude": rules}))
    assert upgrade.exclude == rules[1:]
    assert len(cells(upgrade)) == 12


def test_both_sides_of_whatever_is_profiled_are_profiled_once():
    profiled = plan(derived(), seed=1).profiled
    assert len(profiled) == len(set(profiled))
    for role, other in (("before", "after"), ("after", "before")):
        ours = {cell.removeprefix(f"{role}_") for cell in profiled if cell.startswith(role)}
        assert ours == {c.removeprefix(f"{other}_") for c in profiled if c.startswith(other)}
        assert "fixed_log-on_prepare-on" in ours
    assert plan(derived(profile=False), seed=1).profiled == ()


def test_what_was_claimed_of_the_bug_is_not_claimed_of_an_upgrade():
    upgrade = derived()
    assert (upgrade.claims, upgrade.article, upgrade.matrix, upgrade.bisect) == ([], [], None, None)
    assert {role: s.version for role, s in upgrade.servers.items()} == {
        "before": "5.7.22",
        "after": "8.0.31",
    }


def test_a_scenario_without_other_factors_has_one_cell_with_a_name():
    keep = {"factors": [BUG.factors[0]], "exclude": [], "claims": [], "contrasts": []}
    upgrade = derived(BUG.model_copy(update=keep))
    assert [c.name for c in upgrade.contrasts] == ["all"]
    assert upgrade.contrasts[0].text == "after : before, the whole workload"


def test_a_scenario_without_before_and_after_is_refused():
    renamed = BUG.model_copy(update={"servers": {"old": BUG.servers["before"]}})
    with pytest.raises(UsageError, match="no servers `before` and `after`"):
        derived(renamed)


def pair(before=None, after=None):
    settings = {"slow_query_log": "ON", "max_allowed_packet": "67108864", "log_bin": "OFF"}
    was, now = (
        server(f"{role}_fixed", role, **({"settings": settings} | (changes or {})))
        for role, changes in (("before", before), ("after", after))
    )
    return [was, now, server("before_default", "before", settings={"max_allowed_packet": "1"})]


def test_servers_that_differ_by_version_alone_may_be_compared():
    upgrade = derived()
    refuse_accidents(upgrade, pair())
    not_ours = {"settings": {"log_bin": "ON", "max_allowed_packet": "67108864"}}
    refuse_accidents(upgrade, pair(after=not_ours))
    refuse_accidents(upgrade, [])


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (
            {"settings": {"max_allowed_packet": "4194304"}},
            "max_allowed_packet is 67108864 before and 4194304 after",
        ),
        ({"limits": {"cpus": 2.0}}, "the limits are {} before and {'cpus': 2.0} after"),
        ({"backend": "docker"}, "one runs as local, the other as docker"),
    ],
)
def test_a_studied_factor_that_differs_by_accident_is_refused(after, words):
    with pytest.raises(UsageError) as refused:
        refuse_accidents(derived(), pair(after=after))
    assert refused.value.message == f"the servers must not be compared: {words}"


def test_a_setting_that_a_level_gives_at_launch_is_studied():
    upgrade = derived()
    launched = (
        upgrade.factors[2].levels["on"].model_copy(update={"launch": {"slow-query-log": "1"}})
    )
    factor = upgrade.factors[2].model_copy(update={"levels": {"on": launched}})
    upgrade = upgrade.model_copy(update={"factors": [*upgrade.factors[:2], factor]})
    with pytest.raises(UsageError, match="slow_query_log is ON before and OFF after"):
        refuse_accidents(upgrade, pair(after={"settings": {"slow_query_log": "OFF"}}))
