"""`--fail-if`: what a build must not see. Pure.

    ratio > 1.10
    log-on_prepare-on: ratio > 1.05
    after_ms > 250
    verdict == slower

A gate on a ratio is decided by its whole interval: it fails where the interval lies beyond the
bound, holds where it lies on this side, and cannot be told between.
"""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from mysqlprof.changes import CellComparison, GateOutcome, GateResult
from mysqlprof.errors import UsageError

_NUMBERS = ("ratio", "before_ms", "after_ms")
_VERDICTS = ("faster", "slower", "same", "cannot_tell")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_GATE = re.compile(
    r"\s*(?:(?P<cells>[^:]+?)\s*:)?\s*(?P<subject>[a-z_]+)\s*"
    r"(?P<operator>==|!=|>=|<=|>|<)\s*(?P<bound>[A-Za-z_]+|\d+(?:\.\d*)?|\.\d+)\s*"
)


@dataclass(frozen=True)
class Gate:
    text: str
    cells: str
    """A pattern of cell ids, as the shell has them."""
    subject: str
    operator: str
    bound: str


def parse(text: str) -> Gate:
    """Raises UsageError with the place that cannot be read."""
    found = _GATE.fullmatch(text)
    if not found:
        raise UsageError(
            f"--fail-if {text!r} cannot be read",
            "write [CELL:] ratio|before_ms|after_ms OPERATOR NUMBER, or verdict == slower:"
            " --fail-if 'ratio > 1.10'",
        )
    gate = Gate(
        text.strip(),
        found["cells"] or "*",
        found["subject"],
        found["operator"],
        found["bound"],
    )
    _check(gate)
    return gate


def _check(gate: Gate) -> None:
    if gate.subject == "verdict":
        if gate.operator not in ("==", "!=") or gate.bound not in _VERDICTS:
            raise UsageError(
                f"--fail-if {gate.text!r}: a verdict is == or != one of {', '.join(_VERDICTS)}",
                "write --fail-if 'verdict == slower'",
            )
    elif gate.subject not in _NUMBERS:
        raise UsageError(
            f"--fail-if {gate.text!r}: there is no {gate.subject!r}",
            f"choose one of {', '.join(_NUMBERS)}, verdict",
        )
    elif gate.operator not in _OPERATORS or (
        not gate.bound[0].isdecimal() and gate.bound[0] != "."
    ):
        raise UsageError(
            f"--fail-if {gate.text!r}: {gate.subject} is compared with > >= < <= and a number",
            f"write --fail-if '{gate.subject} > 1.10'",
        )


def evaluate(gates: Sequence[Gate], rows: Sequence[CellComparison]) -> list[GateResult]:
    """Every gate on every cell that it names. Raises UsageError where it names none."""
    results = []
    for gate in gates:
        named = [row for row in rows if fnmatchcase(row.cell, gate.cells)]
        if not named:
            cells = ", ".join(row.cell for row in rows)
            raise UsageError(f"--fail-if {gate.text!r} names no cell", f"cells are: {cells}")
        results += [_result(gate, row) for row in named]
    return results


def _result(gate: Gate, row: CellComparison) -> GateResult:
    outcome: GateOutcome
    measured = "not measured"
    if gate.subject == "verdict":
        outcome, measured = _of_verdict(gate, row), row.verdict
    elif gate.subject == "ratio":
        outcome = _of_ratio(gate, row)
        if row.ratio is not None and row.ci_low is not None and row.ci_high is not None:
            measured = f"{row.ratio:.3f} [{row.ci_low:.3f}, {row.ci_high:.3f}]"
    else:
        value = row.before_ms if gate.subject == "before_ms" else row.after_ms
        outcome = _of_value(gate, value)
        if value is not None:
            measured = f"{value:.3f}"
    return GateResult(expression=gate.text, cell=row.cell, outcome=outcome, measured=measured)


def _of_verdict(gate: Gate, row: CellComparison) -> GateOutcome:
    if row.verdict == "cannot_tell" and gate.bound != "cannot_tell":
        return "cannot_tell"
    met = (row.verdict == gate.bound) == (gate.operator == "==")
    return "failed" if met else "held"


def _of_ratio(gate: Gate, row: CellComparison) -> GateOutcome:
    if row.ci_low is None or row.ci_high is None:
        return "cannot_tell"
    test, bound = _OPERATORS[gate.operator], float(gate.bound)
    ends = {test(row.ci_low, bound), test(row.ci_high, bound)}
    if len(ends) > 1:
        return "cannot_tell"
    return "failed" if ends.pop() else "held"


def _of_value(gate: Gate, value: float | None) -> GateOutcome:
    if value is None:
        return "cannot_tell"
    return "failed" if _OPERATORS[gate.operator](value, float(gate.bound)) else "held"
