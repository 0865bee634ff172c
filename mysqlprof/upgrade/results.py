"""From an upgrade run's trials and servers to what run.json says of the change. Pure."""

import statistics
from collections.abc import Sequence

from mysqlprof.changes import CellComparison, Upgrade
from mysqlprof.comparing import compare
from mysqlprof.model import CellSpec, Run, TrialResult
from mysqlprof.statistics import smallest_visible_ratio
from mysqlprof.upgrade import configuration
from mysqlprof.upgrade.gates import Gate, evaluate
from mysqlprof.upgrade.planning import id_without_server, set_by_us
from mysqlprof.validity import examine
from mysqlprof.verdict import Measured


def completed(run: Run, measured: Measured, gates: Sequence[Gate]) -> Run:
    """The run with its comparison, the settings that differ, and the gates' outcomes."""
    rows = comparison_rows(measured)
    roles = {info.role: info for info in reversed(run.servers)}
    settings = []
    if {"before", "after"} <= roles.keys():
        ours = set_by_us(run.plan.definition)
        settings = configuration.changes(roles["before"].settings, roles["after"].settings, ours)
    servers = run.plan.definition.servers
    versions = [
        roles[role].version if role in roles else servers[role].version
        for role in ("before", "after")
    ]
    changes = Upgrade(
        before=servers["before"].version,
        after=servers["after"].version,
        same_version=versions[0] == versions[1],
        unit=str(run.workload.get("unit", "execute")),
        settings=settings,
        gates=evaluate(gates, rows),
    )
    return run.model_copy(update={"comparison": rows, "upgrade": changes})


def comparison_rows(measured: Measured) -> list[CellComparison]:
    """One row a cell, in the order of the scenario's levels."""
    rows = []
    for before in (cell for cell in measured.cells if cell.role == "before"):
        levels = before.levels | {"server": "after"}
        after = next((cell for cell in measured.cells if cell.levels == levels), None)
        if after is not None:
            rows.append(_row(measured, before, after))
    return rows


def _row(measured: Measured, before: CellSpec, after: CellSpec) -> CellComparison:
    name = id_without_server(before)
    was, now = measured.timed(before.id), measured.timed(after.id)
    found = compare(was, now, name)
    interval = found.interval
    return CellComparison(
        cell=name,
        levels={k: v for k, v in before.levels.items() if k != "server"},
        before_cell=before.id,
        after_cell=after.id,
        before_ms=_median(was),
        after_ms=_median(now),
        ratio=interval.value if interval else None,
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        verdict=found.verdict or "cannot_tell",
        reason=found.reason,
        findings=[
            f"{side}: {finding.text}"
            for side, trials in (("before", was), ("after", now))
            for finding in examine(trials)
        ],
        visible_ratio=smallest_visible_ratio(interval) if interval else None,
    )


def _median(trials: Sequence[TrialResult]) -> float | None:
    return statistics.median(t.elapsed_ms for t in trials) if trials else None
