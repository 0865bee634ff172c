"""What many commands come to: by kind of command, and by phase of one statement."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mysqlprof.wire.model import WireCommand

_PREPARED = (
    "COM_STMT_PREPARE",
    "COM_STMT_SEND_LONG_DATA",
    "COM_STMT_EXECUTE",
    "COM_STMT_FETCH",
)
_PHASES = (("sending", "sent_ms"), ("waiting", "wait_ms"), ("fetching", "fetch_ms"))


@dataclass(frozen=True)
class CommandSummary:
    """All commands of one name. Times are from the request's first byte to the response's last."""

    command: str
    count: int
    errors: int
    median_ms: float | None
    p95_ms: float | None
    max_ms: float | None
    total_ms: float
    request_bytes: int
    response_bytes: int


@dataclass(frozen=True)
class Phase:
    """A part of the time that a client spends on a statement's commands."""

    command: str
    name: str
    """sending, waiting (for the response's first byte) or fetching."""
    ms: float
    share: float
    """Of all phases, 0..1."""


def by_command(commands: Iterable[WireCommand]) -> list[CommandSummary]:
    """The command that takes most time first."""
    groups: dict[str, list[WireCommand]] = {}
    for command in commands:
        groups.setdefault(command.command, []).append(command)
    found = [_summary(name, group) for name, group in groups.items()]
    return sorted(found, key=lambda summary: (-summary.total_ms, summary.command))


def _summary(name: str, group: Sequence[WireCommand]) -> CommandSummary:
    answered = [command.last_ms for command in group if command.last_ms is not None]
    quantiles = np.quantile(answered, [0.5, 0.95, 1.0]) if answered else [None] * 3
    median, p95, longest = (None if q is None else float(q) for q in quantiles)
    return CommandSummary(
        command=name,
        count=len(group),
        errors=sum(command.status.startswith("ERR") for command in group),
        median_ms=median,
        p95_ms=p95,
        max_ms=longest,
        total_ms=sum(command.total_ms for command in group),
        request_bytes=sum(command.request_bytes for command in group),
        response_bytes=sum(command.response_bytes for command in group),
    )


def slowest(commands: Iterable[WireCommand], count: int) -> list[WireCommand]:
    return sorted(commands, key=lambda command: -command.total_ms)[:count]


def statement_commands(commands: Sequence[WireCommand]) -> list[WireCommand]:
    """Those of the statement that a captured trial measures.

    Where the server prepared it: all of the statement that was executed. Else the COM_QUERY
    with the largest request: the others are the driver's own, when it connects.
    """
    executed = {c.statement for c in commands if c.command == "COM_STMT_EXECUTE"}
    if executed:
        return [c for c in commands if c.command in _PREPARED and c.statement in executed]
    queries = [c for c in commands if c.command == "COM_QUERY"]
    return [max(queries, key=lambda c: c.request_bytes)] if queries else []


def phases(commands: Sequence[WireCommand]) -> list[Phase]:
    """The time spent on these commands, by command and phase; shares sum to 1."""
    found: dict[tuple[str, str], float] = {}
    for command in commands:
        for name, field in _PHASES:
            key = command.command, name
            found[key] = found.get(key, 0.0) + (getattr(command, field) or 0.0)
    total = sum(found.values())
    return [Phase(*key, ms, ms / total if total else 0.0) for key, ms in found.items()]


def wait_share(commands: Sequence[WireCommand], command: str) -> float | None:
    """Of the time spent on these commands, the share spent waiting for the first byte of the
    response to `command`; None where the capture does not hold its response."""
    waited = [c for c in commands if c.command == command]
    if not waited or any(c.first_ms is None for c in waited):
        return None
    found = (p.share for p in phases(commands) if (p.command, p.name) == (command, "waiting"))
    return next(found, None)
