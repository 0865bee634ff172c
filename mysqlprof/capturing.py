"""The wire of single executes, as captured: rows on disk after each cell."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from mysqlprof.errors import EnvironmentLacks, MysqlprofError, PartialData, UsageError
from mysqlprof.model import Caveat, CellSpec, Endpoint, Plan, TrialResult, TrialSpec
from mysqlprof.probes.wire import WireCapture
from mysqlprof.scenario import matches
from mysqlprof.store import RunDirectory
from mysqlprof.wire.decode import read_capture
from mysqlprof.wire.model import Wire, WireCommand


@dataclass(frozen=True)
class Subject:
    """A cell, the server that it runs on, and how to execute once in it."""

    cell: str
    endpoint: Endpoint
    execute: Callable[[TrialSpec, AbstractContextManager[None]], TrialResult]
    """A whole trial: connect, prepare, execute within the given window, disconnect."""


def captured_cells(plan: Plan) -> list[CellSpec]:
    """None where no claim is about the wire; else also those to set beside: that the scenario
    profiles or pictures."""
    scenario = plan.scenario
    chosen = [selector for claim in scenario.claims if claim.wire for selector in claim.cells]
    if chosen:
        chosen += scenario.profile.cells
    if chosen and scenario.picture:
        chosen += [scenario.picture.slow, scenario.picture.normal]
    return [cell for cell in plan.cells if any(matches(cell.levels, s) for s in chosen)]


class Captures:
    """All captured cells of a run. What cannot be captured is a caveat; the run goes on."""

    def __init__(self, run_dir: RunDirectory) -> None:
        self._run_dir = run_dir
        self._refused = False
        self.commands: list[WireCommand] = []

    def add(self, subject: Subject) -> list[Caveat]:
        """Capture one execute; raises what the execute itself raises.

        What the host lacks is said once, what one cell lacks for that cell.
        """
        if self._refused:
            return []
        try:
            wire, dropped = capture_trial(subject)
        except EnvironmentLacks as error:
            self._refused = True
            return [_caveat(f"the wire was not captured: {_words(error)}")]
        except PartialData as error:
            return [_caveat(f"{subject.cell}: {_words(error)}")]
        self.commands += [c.model_copy(update={"cell": subject.cell}) for c in wire.commands]
        self._run_dir.write_wire(self.commands)
        texts = [*wire.problems, *(s.unreadable for s in wire.sessions if s.unreadable)]
        if dropped:
            texts.append(f"the kernel dropped {dropped} packets of the capture")
        return [_caveat(f"{subject.cell}: {text}") for text in texts]

    def missing(self, plan: Plan) -> list[str]:
        """What was asked for and not captured."""
        captured = {command.cell for command in self.commands}
        cells = [cell.id for cell in captured_cells(plan) if cell.id not in captured]
        return [f"{cell}: capture of the wire" for cell in cells]


def capture_trial(subject: Subject) -> tuple[Wire, int]:
    """One execute's connection as captured, and the number of packets that were dropped.

    It is one that begins in the capture; or, where a pool stands on the way, the one that carries
    most to the server. The others are not the driver's, and left out.
    """
    endpoint = subject.endpoint
    with WireCapture(endpoint.host, endpoint.port) as capture:
        subject.execute(TrialSpec(subject.cell, "probed", 0), nullcontext())
        captured = capture.finish()
        try:
            wire = read_capture(captured.path, frozenset([endpoint.port]))
        except UsageError as error:  # which would name a file that is gone
            raise PartialData(
                f"nothing was captured on the interface {captured.interface}", "try again"
            ) from error
    busiest = max(wire.sessions, key=lambda session: session.sent_bytes, default=None)
    own = tuple(session for session in wire.sessions if session.complete or session is busiest)
    return Wire(own, wire.packets, wire.seconds, wire.problems, wire.ports), captured.dropped


def _caveat(text: str) -> Caveat:
    return Caveat(kind="wire", text=text, partial=True)


def _words(error: MysqlprofError) -> str:
    return f"{error.message}; try: {error.hint}" if error.hint else error.message
