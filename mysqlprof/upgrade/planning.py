"""What an upgrade run measures, and what it refuses to compare. Pure."""

from collections.abc import Sequence

from mysqlprof import scenario
from mysqlprof.errors import UsageError
from mysqlprof.model import CellSpec, Contrast, ProfilePlan, Scenario, ServerInfo
from mysqlprof.request import Request
from mysqlprof.servers.container_files import cnf_settings


def derive(definition: Scenario, request: Request) -> Scenario:
    """The scenario with every cell on both servers, and after set against before in each."""
    if set(definition.servers) != {"before", "after"}:
        raise UsageError(
            f"scenario {definition.name!r} has no servers `before` and `after`",
            "name its two servers so",
        )
    both = definition.model_copy(
        update={
            "title": f"Upgrade: {definition.title}",
            # What a scenario leaves out on one server only is of use here.
            "exclude": [rule for rule in definition.exclude if "server" not in rule],
            "profile": definition.profile.model_copy(
                update={"cells": _without_server(definition.profile.cells)}
            )
            if request.profile
            else ProfilePlan(),
            "claims": [],
            "contrasts": [],
            "picture": None,
            "article": [],
            "matrix": None,
            "bisect": None,
        }
    )
    cells = scenario.cells(both, toggle=request.toggle)
    contrasts = [
        Contrast(
            name=id_without_server(before),
            text=f"after : before, {words_without_server(before)}",
            numerator=before.levels | {"server": "after"},
            denominator=before.levels,
        )
        for before in cells
        if before.role == "before"
    ]
    return both.model_copy(update={"contrasts": contrasts})


def _without_server(selectors: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The same selectors for whatever server, once each."""
    bare = [{k: v for k, v in s.items() if k != "server"} for s in selectors]
    return [selector for number, selector in enumerate(bare) if selector not in bare[:number]]


def id_without_server(cell: CellSpec) -> str:
    return cell.id.removeprefix(f"{cell.role}_") if len(cell.levels) > 1 else "all"


def words_without_server(cell: CellSpec) -> str:
    words = [f"{name} {level}" for name, level in cell.levels.items() if name != "server"]
    return ", ".join(words) or "the whole workload"


def refuse_accidents(definition: Scenario, servers: Sequence[ServerInfo]) -> None:
    """Raise where a studied setting, a limit or the backend differs without having been asked to.

    What the scenario sets must read back the same on both servers, or the comparison would show
    the setting and not the version.
    """
    by_launch: dict[str, dict[str, ServerInfo]] = {}
    for info in servers:
        by_launch.setdefault(info.name.removeprefix(info.role), {})[info.role] = info
    studied = _set_at_launch(definition)
    for pair in by_launch.values():
        before, after = pair.get("before"), pair.get("after")
        if before is None or after is None:
            continue
        differing = [
            f"{name} is {before.settings[name]} before and {after.settings[name]} after"
            for name in sorted(studied & before.settings.keys() & after.settings.keys())
            if before.settings[name] != after.settings[name]
        ]
        if before.limits != after.limits:
            differing.append(f"the limits are {before.limits} before and {after.limits} after")
        if before.backend != after.backend:
            differing.append(f"one runs as {before.backend}, the other as {after.backend}")
        if differing:
            raise UsageError(
                f"the servers must not be compared: {'; '.join(differing)}",
                "both must take the scenario's settings; check the image's own configuration",
            )


def _set_at_launch(definition: Scenario) -> set[str]:
    """Names of the variables that every server of a cell is started with."""
    names = {*definition.settings, *cnf_settings("base")}
    names |= {
        name
        for factor in definition.factors
        for level in factor.levels.values()
        for name in level.launch
    }
    return {_variable(name) for name in names}


def _variable(option: str) -> str:
    """`--skip-name-resolve` is `skip_name_resolve` in SHOW VARIABLES."""
    return option.replace("-", "_")


def set_by_us(definition: Scenario) -> set[str]:
    levels = [level for factor in definition.factors for level in factor.levels.values()]
    return _set_at_launch(definition) | {name for level in levels for name in level.set}
