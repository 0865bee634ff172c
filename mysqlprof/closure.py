"""Wall-time closure: the client's time for one execute as parts that sum to it. Pure.

Client and network is what the client waited beyond the server's span. Within the span, time on a
CPU (the scheduler's account) and time off it (every switch that was seen) come from two sources;
what they leave of the span is printed as unexplained: time that a hypervisor or an interrupt took,
and what the two measure differently. It can be negative by as much.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mysqlprof.attribution import UNATTRIBUTED, attribute
from mysqlprof.counted_types import Closure, ClosurePart, Reason
from mysqlprof.rules import Rules
from mysqlprof.stacks import FoldedStacks, Stack, plain_name

WAITING_FOR_A_CPU = "could run, but another thread had the CPU"
OTHER_WAITS = "waiting for something else"
_LEAST_SHARE = 0.01
"""Categories with less of the time on the CPU are shown as one."""


@dataclass(frozen=True)
class Share:
    """One category's part of the samples on the CPU."""

    label: str
    kind: str
    share: float


@dataclass(frozen=True)
class Wait:
    ms: float
    runnable: bool
    stack: Stack


@dataclass(frozen=True)
class Spans:
    """One execute, as client and server measured it, in ms."""

    client: float
    server: float
    cpu: float
    phases: Mapping[str, float]
    waits: Sequence[Wait]


def close(
    cell: str, spans: Spans, shares: Sequence[Share], reasons: Sequence[Reason], notes: list[str]
) -> Closure:
    """Without shares (no profile of the cell) the time on the CPU is one part."""
    on_cpu = shares or [Share("on a CPU, not profiled", "unknown", 1.0)]
    parts = [
        ClosurePart(group="client", label="client and network", ms=spans.client - spans.server)
    ]
    parts += [
        ClosurePart(group="on_cpu", label=s.label, kind=s.kind, ms=s.share * spans.cpu)
        for s in on_cpu
    ]
    parts += [
        ClosurePart(group="off_cpu", label=label, ms=ms)
        for label, ms in off_cpu_reasons(spans.waits, reasons).items()
    ]
    rest = spans.client - sum(part.ms for part in parts)
    parts.append(ClosurePart(group="unexplained", label="unexplained", ms=rest))
    return Closure(
        cell=cell,
        client_ms=spans.client,
        server_ms=spans.server,
        parts=parts,
        phases=dict(spans.phases),
        notes=notes,
    )


def off_cpu_reasons(waits: Sequence[Wait], reasons: Sequence[Reason]) -> dict[str, float]:
    """Reason -> ms, the largest first."""
    found: dict[str, float] = {}
    for wait in waits:
        label = WAITING_FOR_A_CPU if wait.runnable else _reason(wait.stack, reasons)
        found[label] = found.get(label, 0.0) + wait.ms
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _reason(stack: Stack, reasons: Sequence[Reason]) -> str:
    for reason in reasons:
        expression = re.compile(reason.frames)
        if any(expression.search(plain_name(frame)) for frame in stack):
            return reason.label
    return OTHER_WAITS


def on_cpu_shares(stacks: FoldedStacks, dispatch: str, rules: Rules) -> list[Share]:
    """What the command's thread did on the CPU, by category: of the samples below `dispatch`."""
    command = re.compile(rf"^{re.escape(dispatch)}\b")
    below = stacks.with_frame(lambda frame: command.search(plain_name(frame)) is not None)
    if not below.total:
        return []
    found = attribute(below, rules).categories
    colours = {category.id: str(category.colour) for category in rules.categories}
    large = [c for c in found if c.samples >= _LEAST_SHARE * below.total and c.id != UNATTRIBUTED]
    shares = [
        Share(c.label, colours[c.id], c.samples / below.total)
        for c in sorted(large, key=lambda c: (-c.samples, c.id))
    ]
    rest = 1 - sum(share.share for share in shares)
    return [*shares, Share("other functions", "unknown", rest)] if rest > 1e-9 else shares
