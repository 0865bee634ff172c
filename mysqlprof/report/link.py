"""The links of a run: what each carried when it was measured, and what each cell made of it."""

from dataclasses import dataclass

from mysqlprof.link_types import LinkCheck
from mysqlprof.model import CellResult, Run
from mysqlprof.report import numbers
from mysqlprof.report.safe import markdown, table

_HEADS = ("link", "to the client, Mbit/s", "to the server, Mbit/s", "of its rate")


@dataclass(frozen=True)
class LinkUse:
    """What the trials of one cell put on the link, as medians."""

    cell: CellResult
    per_s: float | None
    """Transactions, where the driver tells them."""
    p95_ms: float | None
    kb_per_unit: float
    """On the wire in both directions, with headers."""
    mbit_per_s: float
    """Payload, in the busier direction."""
    utilisation: float
    """Of what a plain stream carried in that direction."""


@dataclass(frozen=True)
class LinkView:
    checks: tuple[LinkCheck, ...]
    uses: tuple[LinkUse, ...]
    unit: str


def link_view(run: Run) -> LinkView | None:
    """None where no link was measured."""
    if not run.links:
        return None
    uses = tuple(_use(cell) for cell in run.cells if "link_utilisation" in cell.metrics)
    return LinkView(tuple(run.links), uses, str(run.workload.get("unit", "execute")))


def of_rate(check: LinkCheck) -> float | None:
    """The slower direction's share of the nominal rate; None for an unlimited link."""
    if not check.rate_bps:
        return None
    return min(check.to_client_bps, check.to_server_bps) / check.rate_bps


def link_markdown(run: Run) -> str:
    """Empty where no link was measured."""
    view = link_view(run)
    if view is None:
        return ""
    checks = [
        [
            markdown(check.link),
            numbers.significant(check.to_client_bps / 1e6),
            numbers.significant(check.to_server_bps / 1e6),
            numbers.share(of_rate(check)),
        ]
        for check in view.checks
    ]
    heads = [
        "cell",
        f"{view.unit}s/s",
        "p95 ms",
        f"kB a {view.unit}",
        "payload Mbit/s",
        "link used",
    ]
    uses = [
        [
            markdown(use.cell.id),
            numbers.milliseconds(use.per_s),
            numbers.milliseconds(use.p95_ms),
            numbers.significant(use.kb_per_unit),
            numbers.significant(use.mbit_per_s),
            numbers.share(use.utilisation),
        ]
        for use in view.uses
    ]
    parts = ["### On the link"]
    if run.crossover:
        parts.append(f"**{markdown(numbers.thin(run.crossover.sentence))}**")
    parts += [table(heads, uses, right=len(heads) - 1)] if uses else []
    parts += [
        "The links, measured by a plain TCP stream each way before anything else:",
        table(list(_HEADS), checks, right=len(_HEADS) - 1),
    ]
    return "\n\n".join(parts)


def _use(cell: CellResult) -> LinkUse:
    figures = cell.metrics
    return LinkUse(
        cell=cell,
        per_s=figures.get("transactions_per_s"),
        p95_ms=figures.get("latency_p95_ms"),
        kb_per_unit=figures["wire_kb_per_unit"],
        mbit_per_s=figures["link_mbit_per_s"],
        utilisation=figures["link_utilisation"],
    )
