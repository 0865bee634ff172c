"""What a finished run means for the shell."""

from mysqlprof.model import Run


def exit_code(run: Run) -> int:
    if run.status == "interrupted":
        return 130
    if run.status == "failed":
        return 6
    if any(caveat.partial for caveat in run.caveats):
        return 4
    return 0 if run.verdict in ("reproduced", "measured") else 5


def matrix_exit_code(run: Run) -> int:
    """A matrix has no verdict of its own: it is done when its cells were measured.

    A driver that is not installed, or that a server refuses, is a gap with a name, and no failure
    while another was measured.
    """
    if not any(row.median_ms is not None for row in run.matrix):
        return exit_code(run) if run.status != "complete" else 6
    code = exit_code(run)
    return 0 if code == 5 else code


def sweep_exit_code(run: Run, told: bool) -> int:
    """0 when something could be told, whatever it is; an arm not installed here is no failure."""
    code = exit_code(run)
    if code in (0, 5):
        return 0 if told else 5
    return code


def bisect_exit_code(run: Run) -> int:
    """0 when both sides of the border were found; 5 when only one was."""
    code = exit_code(run)
    if code in (0, 5):
        return 0 if run.bisect and run.bisect.last_bad and run.bisect.first_good else 5
    return code


def upgrade_exit_code(run: Run) -> int:
    """1 when a gate failed, whatever else there is; 5 when a gate, or without any gate every
    cell, cannot be told."""
    code = exit_code(run)
    outcomes = [gate.outcome for gate in run.upgrade.gates] if run.upgrade else []
    if code in (130, 6):
        return code
    if "failed" in outcomes:
        return 1
    if code == 4:
        return code
    if outcomes:
        return 5 if "cannot_tell" in outcomes else 0
    return 0 if any(row.verdict != "cannot_tell" for row in run.comparison) else 5
