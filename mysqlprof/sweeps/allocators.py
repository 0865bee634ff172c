"""What each allocator makes of the same work: times, page faults, the kernel's share. Pure."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mysqlprof.model import ProfileInfo
from mysqlprof.stacks import FoldedStacks, is_kernel
from mysqlprof.sweep_types import AllocatorRow
from mysqlprof.sweeps.growth import Measurements

Profiles = Mapping[str, tuple[ProfileInfo, FoldedStacks]]
"""By cell."""


@dataclass(frozen=True)
class AllocatorPlace:
    name: str
    level: str
    """Empty where it cannot be measured."""
    gap: str = ""


def allocator_rows(
    places: Sequence[AllocatorPlace], measured: Measurements, profiles: Profiles
) -> list[AllocatorRow]:
    return [_row(place, measured, profiles) for place in places]


def _row(place: AllocatorPlace, measured: Measurements, profiles: Profiles) -> AllocatorRow:
    cell, control = measured.affected(place.level), measured.unaffected(place.level)
    if cell is None or cell.median_ms is None:
        return AllocatorRow(name=place.name, gap=place.gap or "the run ended before it")
    contrast = measured.contrast(place.level)
    faults = [
        trial.status["minor_faults"]
        for trial in measured.trials
        if trial.cell == cell.id and trial.kind == "timed" and "minor_faults" in trial.status
    ]
    _, stacks = profiles.get(cell.id, (None, None))
    return AllocatorRow(
        name=place.name,
        trials=cell.trials,
        affected_ms=cell.median_ms,
        affected_low_ms=cell.ci_low_ms,
        affected_high_ms=cell.ci_high_ms,
        unaffected_ms=control.median_ms if control else None,
        ratio=contrast.ratio if contrast else None,
        ratio_low=contrast.ci_low if contrast else None,
        ratio_high=contrast.ci_high if contrast else None,
        minor_faults=statistics.median(faults) if faults else None,
        kernel_share=kernel_share(stacks) if stacks else None,
        samples=stacks.total if stacks else 0,
    )


def kernel_share(stacks: FoldedStacks) -> float | None:
    """Share of the samples whose leaf is a kernel frame; None without samples."""
    if not stacks.total:
        return None
    return sum(n for stack, n in stacks.items() if is_kernel(stack[-1])) / stacks.total
