"""Trials of one cell, from their times."""

import random
from collections.abc import Sequence

from mysqlprof.model import TrialResult


def timed(
    times: Sequence[float], cell: str = "a", status: dict[int, dict[str, int]] | None = None
) -> list[TrialResult]:
    """In the order given; `status` by place."""
    return [
        TrialResult(
            cell=cell,
            trial=place,
            round=place,
            kind="timed",
            profiled=False,
            elapsed_ms=time,
            prepare_ms=1.0,
            rows_written=1,
            status=(status or {}).get(place, {}),
        )
        for place, time in enumerate(times)
    ]


def noisy(chance: random.Random, middle: float, count: int, spread: float) -> list[TrialResult]:
    return timed([middle * chance.lognormvariate(0, spread) for _ in range(count)])
