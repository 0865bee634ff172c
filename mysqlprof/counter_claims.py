"""Predicted against counted: claims about exact counts. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mysqlprof.counted_types import CounterRow
from mysqlprof.model import ClaimSpec, ClaimVerdict


@dataclass(frozen=True)
class Comparison:
    """One claim in one cell."""

    cell: str
    counter: str
    measure: str
    """calls or bytes."""
    predicted: int | None
    counted: tuple[int, ...]
    """One an execute; empty where it could not be counted."""
    within: float
    """How far from the prediction a count may be, as a part of it. 0: it must be equal."""
    verdict: ClaimVerdict
    reason: str = ""

    @property
    def worst(self) -> int | None:
        """The count that is farthest from the prediction."""
        if not self.counted or self.predicted is None:
            return None
        wanted = self.predicted
        return max(self.counted, key=lambda count: abs(count - wanted))

    @property
    def deviation(self) -> float | None:
        """Of the worst count, relative to the prediction; None where that is 0 or unknown."""
        if self.worst is None or not self.predicted:
            return None
        return self.worst / self.predicted - 1

    def words(self) -> str:
        """ "12,000 in each of 3 executes" """
        if not self.counted:
            return "not counted"
        unit = " bytes" if self.measure == "bytes" else ""
        if len(set(self.counted)) == 1:
            return f"{self.counted[0]:,}{unit} in each of {len(self.counted)} executes"
        return f"{min(self.counted):,} to {max(self.counted):,}{unit} in an execute"


def compare(
    claim: ClaimSpec, cell: str, rows: Sequence[CounterRow], facts: Mapping[str, Any]
) -> Comparison:
    """`rows` are the whole of counters.csv; `facts` those of the workload."""
    predicted = predicted_count(claim, facts)
    own = [row for row in rows if row.cell == cell and row.counter == claim.counter]
    counts = [row.calls if claim.measure == "calls" else row.bytes for row in own]
    counted = tuple(count for count in counts if count is not None)
    verdict: ClaimVerdict = "cannot_tell"
    reason = ""
    if not own:
        reason = "it was not counted in this cell"
    elif len(counted) < len(counts):
        counted, reason = (), own[0].how
    elif predicted is None:
        reason = f"the workload predicts no {claim.equals}"
    else:
        near = all(abs(count - predicted) <= claim.within * predicted for count in counted)
        verdict = "holds" if near else "does_not_hold"
    return Comparison(
        cell, claim.counter, claim.measure, predicted, counted, claim.within, verdict, reason
    )


def predicted_count(claim: ClaimSpec, facts: Mapping[str, Any]) -> int | None:
    """A number of the scenario's own, or a fact of the workload by its name."""
    if isinstance(claim.equals, int):
        return claim.equals
    found = facts.get(claim.equals)
    return found if isinstance(found, int) else None


def expectation(claim: ClaimSpec, facts: Mapping[str, Any]) -> str:
    predicted = predicted_count(claim, facts)
    number = f"{predicted:,}" if predicted is not None else str(claim.equals)
    return f"{number} within {claim.within * 100:g} %" if claim.within else f"exactly {number}"
