"""The driver x server matrix as a report shows it: one line a driver, every gap in its place."""

from dataclasses import dataclass
from math import log

from mysqlprof.model import MatrixPlan, MatrixRow, MatrixVerdict, Run

STEPS = 8
"""Colours of the heat map, on a logarithmic scale of times."""
_LEAST_SPAN = 10.0
"""Of the scale, highest over lowest: noise between equal cells must not look like heat."""


@dataclass(frozen=True)
class MatrixCell:
    row: MatrixRow
    step: int | None
    """Colour, 0 (fast) .. STEPS - 1; None where there is no time."""
    article_ratio: float | None
    reason: str
    """Why it was not measured or cannot be told."""


@dataclass(frozen=True)
class MatrixServer:
    requested: str
    version: str
    """That really ran; empty where none did."""
    label: str
    """Short and unlike the other servers': "5.7.29"."""
    verdicts: tuple[MatrixVerdict, ...]
    """With server-side prepare, one a driver."""


@dataclass(frozen=True)
class MatrixLine:
    driver: str
    pairs: tuple[tuple[MatrixCell, MatrixCell], ...]
    """With server-side prepare and without it, one pair a server."""


@dataclass(frozen=True)
class Matrix:
    plan: MatrixPlan | None
    servers: tuple[MatrixServer, ...]
    lines: tuple[MatrixLine, ...]
    scale: tuple[float, ...]
    """Upper end of each colour's step, in ms; empty where nothing was measured."""
    lowest_ms: float

    @property
    def cells(self) -> tuple[MatrixCell, ...]:
        return tuple(cell for line in self.lines for pair in line.pairs for cell in pair)

    @property
    def judged(self) -> tuple[MatrixCell, ...]:
        """With server-side prepare: those that have a verdict."""
        return tuple(pair[0] for line in self.lines for pair in line.pairs)

    @property
    def published_servers(self) -> tuple[str, ...]:
        """Those with published figures, as asked for."""
        found = (cell.row.server for cell in self.cells if cell.row.article_ms is not None)
        return tuple(sorted(set(found)))


def matrix_of(run: Run) -> Matrix | None:
    """None in a run of another kind."""
    if not run.matrix:
        return None
    plan = run.plan.definition.matrix
    rows = {(r.server, r.driver, r.server_prepare): r for r in run.matrix}
    asked = dict.fromkeys([*(plan.servers if plan else ()), *(r.server for r in run.matrix)])
    drivers = dict.fromkeys([*(plan.drivers if plan else ()), *(r.driver for r in run.matrix)])
    for driver in drivers:
        for server in asked:
            for prepare in (True, False):
                key = (server, driver, prepare)
                rows.setdefault(key, _not_reached(server, driver, prepare, plan))
    versions = dict.fromkeys(asked, "") | {r.server: r.version for r in run.matrix if r.version}
    times = [r.median_ms for r in rows.values() if r.median_ms and r.median_ms > 0]
    low = min(times, default=1.0)
    span = max(_LEAST_SPAN, max(times, default=1.0) / low)
    lines = [
        MatrixLine(
            driver,
            tuple(
                (
                    _cell(rows[s, driver, True], rows[s, driver, False], low, span, plan),
                    _cell(rows[s, driver, False], None, low, span, plan),
                )
                for s in asked
            ),
        )
        for driver in drivers
    ]
    return Matrix(
        plan=plan,
        servers=tuple(
            MatrixServer(
                requested=server,
                version=versions[server],
                label=_label(server, versions),
                verdicts=tuple(rows[server, driver, True].verdict for driver in drivers),
            )
            for server in asked
        ),
        lines=tuple(lines),
        scale=tuple(low * span ** ((i + 1) / STEPS) for i in range(STEPS)) if times else (),
        lowest_ms=low,
    )


def _not_reached(server: str, driver: str, prepare: bool, plan: MatrixPlan | None) -> MatrixRow:
    """What the plan asked for and the run has no row of is a gap like any other."""
    published = [
        a.elapsed_ms
        for a in (plan.article if plan else ())
        if (a.server, a.driver, a.server_prepare) == (server, driver, prepare)
    ]
    return MatrixRow(
        server=server,
        version="",
        driver=driver,
        server_prepare=prepare,
        verdict="not_measured",
        article_ms=published[0] if published else None,
        gap="the run ended before it",
    )


def _label(server: str, versions: dict[str, str]) -> str:
    version = versions[server]
    if not version:
        return server
    shared = sum(1 for other in versions.values() if other == version) > 1
    return f"{version} (for {server})" if shared else version


def _cell(
    row: MatrixRow, measure: MatrixRow | None, low: float, span: float, plan: MatrixPlan | None
) -> MatrixCell:
    step = None
    if row.median_ms and row.median_ms > 0:
        step = max(0, min(STEPS - 1, int(STEPS * log(row.median_ms / low) / log(span))))
    published = measure.article_ms if measure else None
    return MatrixCell(
        row=row,
        step=step,
        article_ratio=row.article_ms / published if row.article_ms and published else None,
        reason=_reason(row, plan),
    )


def _reason(row: MatrixRow, plan: MatrixPlan | None) -> str:
    if row.verdict == "not_measured":
        return row.gap or "no reason was recorded"
    if row.gap:
        return row.gap
    if row.verdict != "cannot_tell":
        return ""
    if row.ratio is None or row.ratio_low is None or row.ratio_high is None:
        return "too few trials for a ratio"
    if plan is None:
        return "the interval includes a bound"
    return f"not the whole interval is above {plan.slow_above:g}×, nor below {plan.normal_below:g}×"


def with_versions(run: Run, matrix: Matrix) -> Run:
    """The run with servers called by the version that ran, where it asked for another."""
    labels = {server.requested: server.label for server in matrix.servers}

    def named(levels: dict[str, str]) -> dict[str, str]:
        return {k: labels.get(v, v) if k == "server" else v for k, v in levels.items()}

    cells = [c.model_copy(update={"levels": named(c.levels)}) for c in run.cells]
    specs = [c.model_copy(update={"levels": named(c.levels)}) for c in run.plan.cells]
    contrasts = []
    for contrast in run.contrasts:
        start, on, server = contrast.text.rpartition(" on ")
        text = f"{start}{on}{labels.get(server, server)}"
        contrasts.append(contrast.model_copy(update={"text": text}))
    plan = run.plan.model_copy(update={"cells": specs})
    return run.model_copy(update={"cells": cells, "contrasts": contrasts, "plan": plan})
