"""What an upgrade changes, as it is stored in run.json: times, settings, functions, gates."""

from typing import Literal

from mysqlprof.frozen import Frozen

ChangeVerdict = Literal["faster", "slower", "same", "cannot_tell"]
SettingKind = Literal["default_changed", "set_by_us", "removed", "added", "of_the_instance"]
FunctionVerdict = Literal["grew", "shrank", "appeared", "vanished", "noise"]
GateOutcome = Literal["held", "failed", "cannot_tell"]


class CellComparison(Frozen):
    """One cell on both servers. A row of comparison.csv."""

    cell: str
    """Its id without the server."""
    levels: dict[str, str]
    before_cell: str
    after_cell: str
    before_ms: float | None = None
    after_ms: float | None = None
    ratio: float | None = None
    """Median time after over median time before: above 1 is slower."""
    ci_low: float | None = None
    ci_high: float | None = None
    verdict: ChangeVerdict
    reason: str = ""
    """Why it cannot be told."""
    findings: list[str] = []
    """First trial, drift, outliers, steal, throttling: where they were found."""
    visible_ratio: float | None = None
    """The smallest ratio that would have been called slower in four of five runs."""


class SettingChange(Frozen):
    """A global variable that is not the same on both servers."""

    name: str
    before: str | None
    """None where the server does not have it."""
    after: str | None
    kind: SettingKind
    matters: str = ""
    """What it does to performance or to answers, for those that are known for it."""


class FunctionChange(Frozen):
    """CPU time of one function on both servers, per unit of work. A row of functions.csv."""

    cell: str
    function: str
    """Without argument list. The name after, or before where it is gone."""
    before_name: str = ""
    """Where it differs."""
    before_samples: int
    after_samples: int
    before_ms: float
    """CPU milliseconds per unit of work with the function on the stack."""
    after_ms: float
    before_self_ms: float
    after_self_ms: float
    verdict: FunctionVerdict


class GateResult(Frozen):
    """One `--fail-if` expression on one cell."""

    expression: str
    cell: str
    outcome: GateOutcome
    """`held`: no regression; `failed`: the whole interval lies where it must not."""
    measured: str


class Upgrade(Frozen):
    """What an upgrade run adds to run.json besides `comparison`."""

    before: str
    """Version or image, as asked for."""
    after: str
    same_version: bool
    """An A/A run: whatever it calls different is a false alarm."""
    unit: str
    """Of work, in which CPU time is given: "execute", "transaction"."""
    settings: list[SettingChange] = []
    functions: list[FunctionChange] = []
    """Those that changed, and the largest of those that did not."""
    gates: list[GateResult] = []
