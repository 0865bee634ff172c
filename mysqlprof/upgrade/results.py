"""From an upgrade run's trials and servers to what run.json says of the change. Pure."""

import statistics
from collections.abc import Sequence

from mysqlprof.changes import CellComparison, Upgrade
from mysqlprof.comparing import compare
from mysqlprof.model import Caveat, Run, TrialResult
from mysqlprof.upgrade import configuration
from mysqlprof.upgrade.gates import Gate, evaluate
from mysqlprof.upgrade.planning import id_without_server, set_by_us
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
    caveats = [
        Caveat(kind="validity", text=f"{row.cell}: {text}") for row in rows for text in row.findings
    ]
    return run.model_copy(
        update={"comparison": rows, "upgrade": changes, "caveats": [*run.caveats, *caveats]}
    )


def comparison_rows(measured: Measured) -> list[CellComparison]:
    """One row a cell, in the order of the scenario's levels."""
    timed: dict[str, list[TrialResult]] = {}
    for trial in measured.trials:
        if trial.kind == "timed":
            timed.setdefault(trial.cell, []).append(trial)
    rows = []
    for before in (cell for cell in measured.cells if cell.role == "before"):
        levels = before.levels | {"server": "after"}
        after = next((cell for cell in measured.cells if cell.levels == levels), None)
        if after is None:
            continue
        sides = timed.get(before.id, []), timed.get(after.id, [])
        name = id_without_server(before)
        found = compare(*sides, name)
        medians = [_median(trials) for trials in sides]
        rows.append(
            CellComparison(
                cell=name,
                levels={k: v for k, v in before.levels.items() if k != "server"},
                before_cell=before.id,
                after_cell=after.id,
                before_ms=medians[0],
                after_ms=medians[1],
                ratio=found.interval.value if found.interval else None,
                ci_low=found.interval.low if found.interval else None,
                ci_high=found.interval.high if found.interval else None,
                verdict=found.verdict,
                reason=found.reason,
                findings=list(found.findings),
                visible_ratio=found.visible,
            )
        )
    return rows


def _median(trials: Sequence[TrialResult]) -> float | None:
    return statistics.median(t.elapsed_ms for t in trials) if trials else None
