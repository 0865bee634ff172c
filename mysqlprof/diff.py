"""Any two stored profiles, set against each other function by function."""

from dataclasses import dataclass
from pathlib import Path

from mysqlprof import csvfile
from mysqlprof.alignment import align
from mysqlprof.changes import FunctionChange
from mysqlprof.differential import Side, functions, side
from mysqlprof.errors import UsageError
from mysqlprof.flamediff import SIDES, render_difference, short
from mysqlprof.stored_profile import StoredProfile

SHARE = "% of samples"


@dataclass(frozen=True)
class Difference:
    before: StoredProfile
    after: StoredProfile
    sides: tuple[Side, Side]
    measure: str
    """What costs are given in: "CPU ms per execute", or `SHARE`."""
    functions: tuple[FunctionChange, ...]
    """The largest absolute change first. Their milliseconds are in `measure`."""

    @property
    def changed(self) -> list[FunctionChange]:
        return [row for row in self.functions if row.verdict != "noise"]


def difference(before: StoredProfile, after: StoredProfile, *, shares: bool = False) -> Difference:
    """Costs are CPU time per unit of work where both profiles say how much work was done, and
    in what unit; else, or with `shares`, per cent of each one's samples.

    Raises UsageError where a profile has no samples.
    """
    for profile in (before, after):
        if not profile.stacks.total:
            raise UsageError(f"{profile.name} has no samples", "name another profile")
    known = all(p.units and p.frequency_hz > 0 for p in (before, after))
    by_work = known and before.unit == after.unit and not shares
    sides = (_side(before, by_work), _side(after, by_work))
    return Difference(
        before,
        after,
        sides,
        f"CPU ms per {before.unit}" if by_work else SHARE,
        tuple(functions(*sides, cell="")),
    )


def _side(profile: StoredProfile, by_work: bool) -> Side:
    if by_work:
        return side(profile.stacks, profile.frequency_hz, profile.units)
    aligned = align(profile.stacks)
    worth = 100 / profile.stacks.total
    return Side(aligned.stacks, worth, aligned.original, aligned.completed)


def write(found: Difference, folder: Path) -> list[Path]:
    """functions.csv and, where costs are CPU time, the differential flame graphs both ways.

    Raises UsageError where `folder` cannot be written, EnvironmentLacks without flamegraph.pl.
    """
    drawings = {} if found.measure == SHARE else _drawings(found)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        rows = ([csvfile.text(v) for v in r.model_dump().values()] for r in found.functions)
        csvfile.write(folder / "functions.csv", [list(FunctionChange.model_fields), *rows])
        for name, svg in drawings.items():
            (folder / name).write_text(svg, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(
            f"cannot write {folder}: {error.strerror}", "choose another --out"
        ) from error
    return [folder / "functions.csv", *(folder / name for name in drawings)]


def _drawings(found: Difference) -> dict[str, str]:
    before, after = found.sides
    totals = f"{short(before.total_ms)} ms before, {short(after.total_ms)} ms after"
    return {
        f"difference-{which}.svg": render_difference(
            before,
            after,
            which,
            title=f"{found.before.name} to {found.after.name}",
            subtitle=f"widths: {which}, CPU per {found.before.unit} ({totals})",
            unit=found.before.unit,
        )
        for which in SIDES
    }
