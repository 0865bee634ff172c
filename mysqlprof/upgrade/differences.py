"""The profiles of an upgrade run, compared cell by cell and drawn both ways."""

from mysqlprof.changes import CellComparison, FunctionChange
from mysqlprof.differential import Side, functions, side
from mysqlprof.errors import EnvironmentLacks, PartialData
from mysqlprof.flamediff import SIDES, Which, render_difference, short
from mysqlprof.model import Caveat, Run
from mysqlprof.store import RunDirectory

_SHOWN_FUNCTIONS = 40
"""Of each cell, in run.json; functions.csv has them all."""


def with_differences(run: Run, run_dir: RunDirectory) -> Run:
    """Profiles compared cell by cell: functions.csv, and a pair of flame graphs each."""
    sides = _sides(run, run_dir)
    rows: list[FunctionChange] = []
    shown: list[FunctionChange] = []
    caveats = []
    assert run.upgrade is not None  # completed() has seen to it
    for row in run.comparison:
        before, after = sides.get(row.before_cell), sides.get(row.after_cell)
        if before is None or after is None:
            continue
        found = functions(before, after, row.cell)
        rows += found
        shown += found[:_SHOWN_FUNCTIONS]
        try:
            for which in SIDES:
                svg = _difference(run, row, before, after, which)
                run_dir.write_difference(row.cell, which, svg)
        except (PartialData, EnvironmentLacks) as error:
            text = f"{row.cell}: no differential flame graph: {error.message}"
            caveats.append(Caveat(kind="profile", text=text, partial=True))
    run = run.model_copy(
        update={
            "upgrade": run.upgrade.model_copy(update={"functions": shown}),
            "caveats": [*run.caveats, *caveats],
        }
    )
    run_dir.write_comparison(run.comparison)
    run_dir.write_functions(rows)
    run_dir.write_run(run)
    return run


def _sides(run: Run, run_dir: RunDirectory) -> dict[str, Side]:
    """Profile by cell, weighted per unit of work."""
    units = float(run.workload.get("units_per_trial", 1))
    return {
        info.cell: side(run_dir.read_stacks(info.cell), info.frequency_hz, info.executes * units)
        for info in run_dir.profiles()
        if info.samples and info.executes
    }


def _difference(run: Run, row: CellComparison, before: Side, after: Side, which: Which) -> str:
    assert run.upgrade is not None  # completed() has seen to it
    versions = {info.role: info.version for info in run.servers}
    words = ", ".join(f"{name} {level}" for name, level in row.levels.items())
    return render_difference(
        before,
        after,
        which,
        title=f"MySQL {versions['before']} to {versions['after']}: {words}".removesuffix(": "),
        subtitle=f"widths: {versions[which]}, CPU per {run.upgrade.unit}"
        f" ({short(before.total_ms)} ms before, {short(after.total_ms)} ms after)",
        unit=run.upgrade.unit,
    )
