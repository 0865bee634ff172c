"""Gates as JUnit XML, which build servers show."""

import os
from pathlib import Path
from xml.etree import ElementTree

from mysqlprof.errors import UsageError
from mysqlprof.model import Run
from mysqlprof.report.safe import visible


def junit(run: Run) -> str:
    """One test suite a run, one test case a gate and cell; what cannot be told is skipped."""
    gates = run.upgrade.gates if run.upgrade else []
    outcomes = [gate.outcome for gate in gates]
    suite = ElementTree.Element(
        "testsuite",
        name=f"mysqlprof upgrade {visible(run.scenario)}",
        tests=str(len(gates)),
        failures=str(outcomes.count("failed")),
        skipped=str(outcomes.count("cannot_tell")),
        errors="0",
        timestamp=run.created.partition("+")[0],
        time=f"{sum(run.elapsed_s.values()):.2f}",
    )
    for gate in gates:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=visible(gate.cell),
            name=f"fail if {visible(gate.expression)}",
        )
        words = f"{gate.cell}: {gate.measured}, and the gate is {gate.expression}"
        if gate.outcome == "failed":
            ElementTree.SubElement(case, "failure", message=visible(words))
        elif gate.outcome == "cannot_tell":
            ElementTree.SubElement(case, "skipped", message=visible(f"cannot tell: {words}"))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def check_junit(path: Path, gates: int) -> None:
    """Refuse what could not be written at the end. Raises UsageError."""
    if not gates:
        raise UsageError("--junit has no gate to report", "add one: --fail-if 'ratio > 1.10'")
    existing = next(place for place in (path, *path.parents) if place.exists())
    wanted = existing.is_file() if existing == path else existing.is_dir()
    if not wanted or not os.access(existing, os.W_OK):
        raise UsageError(f"cannot write {path}: {existing} is in the way", "name another file")


def write_junit(path: Path, run: Run) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(junit(run), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}",
            "the run is complete; its run.json holds the gates, too",
        ) from error
