"""One cell's profile: executes repeated in recorded windows, folded, drawn."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from mysqlprof.flamegraph import render
from mysqlprof.model import ProfileInfo, ProfilePlan, TrialResult, TrialSpec
from mysqlprof.probes.fold import fold
from mysqlprof.probes.perf import PerfOptions, PerfRecording
from mysqlprof.stacks import FoldedStacks


def record_profile(
    cell: str,
    pid: int,
    perf: PerfOptions,
    wanted: ProfilePlan,
    *,
    execute: Callable[[TrialSpec, AbstractContextManager[None]], TrialResult],
    stop: Callable[[], bool],
) -> tuple[ProfileInfo, FoldedStacks]:
    """Record `pid` while `execute` is repeated, until enough samples are expected.

    `execute` enters the window that it is given around the driver's call alone. Raises
    EnvironmentLacks where perf may not record, PartialData where it recorded nothing.
    """
    trials: list[TrialResult] = []
    started = time.monotonic()
    with PerfRecording(perf, pid) as recording:
        while len(trials) < wanted.max_executes and not stop():
            spec = TrialSpec(cell, "profiled", len(trials))
            trials.append(execute(spec, recording.window()))
            expected = _cpu_s(trials) * perf.frequency_hz
            late = time.monotonic() - started > wanted.max_seconds
            if expected >= wanted.min_samples or late:
                break
        data = recording.finish()
        # Folded while the server lives: its symbols may be reachable only through it.
        report = fold(data, perf.perf)
    samples = report.stacks.total
    info = ProfileInfo(
        cell=cell,
        event=report.event,
        unit="samples",
        frequency_hz=perf.frequency_hz,
        call_graph=perf.call_graph,
        samples=samples,
        lost=report.lost,
        unresolved=report.unresolved / samples if samples else 0.0,
        unresolved_leaf=report.unresolved_leaf / samples if samples else 0.0,
        window_s=round(recording.window_s, 4),
        executes=len(trials),
        perf_version=perf.version,
        profiled_ms=[trial.elapsed_ms for trial in trials],
    )
    return info, report.stacks


def flame_graph(
    info: ProfileInfo, stacks: FoldedStacks, levels: Mapping[str, str], version: str, work: str
) -> str | None:
    """The profile as SVG, named after server and cell; None where there is nothing to draw.

    `work` says what was done in the window: "3 executes".
    """
    if stacks.total == 0:
        return None
    named = ", ".join(f"{factor} {level}" for factor, level in levels.items() if factor != "server")
    return render(
        stacks,
        title=f"MySQL {version}: {named}",
        subtitle=f"{info.samples:,} samples of {info.event} at {info.frequency_hz} Hz"
        f" in {work} ({info.window_s:.2f} s)",
    )


def _cpu_s(trials: list[TrialResult]) -> float:
    """CPU time of the server over these trials; where it cannot be read, half the elapsed time."""
    if all("cpu_ms" in trial.status for trial in trials):
        return sum(trial.status["cpu_ms"] for trial in trials) / 1e3
    return sum(trial.elapsed_ms for trial in trials) / 2e3
