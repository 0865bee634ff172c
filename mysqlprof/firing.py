"""Whether a server that shows no slowness could have shown it. Pure.

"It cannot fire here" is not "it is fixed": a server on which no trigger is on says nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet

from mysqlprof.model import CellSpec, Run, ServerInfo
from mysqlprof.sweep_types import Condition


@dataclass(frozen=True)
class TriggerState:
    """One condition of the scenario on one server."""

    name: str
    armed: bool
    values: dict[str, tuple[str, ...]]
    """Variable -> the values that the server, or one of its cells, had."""


@dataclass(frozen=True)
class Firing:
    """What stands behind a server's normal times."""

    server: str
    version: str
    states: tuple[TriggerState, ...]

    @property
    def could_fire(self) -> bool:
        return any(state.armed for state in self.states)

    @property
    def sentence(self) -> str:
        if self.could_fire:
            names = ", ".join(state.name for state in self.states if state.armed)
            return f"It could have fired ({names}) and did not: not affected at this size."
        return "No trigger is on, so it cannot fire here. That is not the same as fixed."


def states(
    conditions: Iterable[Condition], settings: Sequence[Mapping[str, str]], version: str
) -> list[TriggerState]:
    """The conditions that are about this version, each on all states that the server was in.

    `settings` has one mapping of system variables for each; a condition is armed where one of
    them meets it. A variable that the server does not have arms nothing.
    """
    return [
        TriggerState(
            name=condition.name,
            armed=any(_meets(each, condition) for each in settings),
            values={
                variable: tuple(dict.fromkeys(each.get(variable, "unknown") for each in settings))
                for variable in condition.when
            },
        )
        for condition in conditions
        if SpecifierSet(condition.versions).contains(version)
    ]


def _meets(settings: Mapping[str, str], condition: Condition) -> bool:
    return all(
        _plain(settings.get(variable, "")) in map(_plain, wanted)
        for variable, wanted in condition.when.items()
    )


def _plain(value: str) -> str:
    return {"1": "ON", "0": "OFF"}.get(value, value.upper())


def normal_servers(run: Run) -> list[Firing]:
    """The servers of a run that showed no slowness, by the bound of the scenario's triggers."""
    plan = run.plan.definition.triggers
    if plan is None:
        return []
    found = []
    for server in run.servers:
        if _shows_none(run, server, plan.fires_above):
            seen = _settings(server, _cells_of(run, server))
            known = states(plan.conditions, seen, server.version)
            found.append(Firing(server.name, server.version, tuple(known)))
    return found


def _shows_none(run: Run, server: ServerInfo, bound: float) -> bool:
    """It has ratios of its own cells, and none of them lies above the bound."""
    own = {cell.id for cell in run.cells if cell.server == server.name}
    lows = [
        contrast.ci_low
        for contrast in run.contrasts
        if {contrast.numerator, contrast.denominator} <= own and contrast.ci_low is not None
    ]
    return bool(lows) and all(low <= bound for low in lows)


def _cells_of(run: Run, server: ServerInfo) -> list[CellSpec]:
    """Those in which the server prepared."""
    own = {cell.id for cell in run.cells if cell.server == server.name and cell.trials}
    return [
        cell
        for cell in run.plan.cells
        if cell.id in own and cell.driver.get("server_prepare", False)
    ]


def _settings(server: ServerInfo, cells: Sequence[CellSpec]) -> list[Mapping[str, str]]:
    """The server's settings as each of its cells had them; as it started, without a cell."""
    return [{**server.settings, **cell.set} for cell in cells] or [server.settings]
