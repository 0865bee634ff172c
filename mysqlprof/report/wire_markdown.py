"""The captured executes in Markdown."""

from mysqlprof.report import numbers
from mysqlprof.report.safe import code_span, markdown, table
from mysqlprof.report.wire import WireCell, pictured

_HEADS = ["command", "status", "request bytes", "sending ms", "waiting ms", "fetching ms"]
_HEADS += ["response bytes"]


def wire_markdown(cells: tuple[WireCell, ...]) -> str:
    """Empty where nothing was captured; else the pictured pair, or all where there is none."""
    if not cells:
        return ""
    parts = [part for cell in pictured(cells) for part in _cell(cell)]
    return "\n\n".join(["### On the wire", *parts])


def _cell(cell: WireCell) -> list[str]:
    rows = [
        [
            code_span(command.command),
            markdown(command.status),
            numbers.count(command.request_bytes),
            numbers.milliseconds(command.sent_ms),
            numbers.milliseconds(command.wait_ms),
            numbers.milliseconds(command.fetch_ms),
            numbers.count(command.response_bytes),
        ]
        for command in cell.commands
        if command in cell.statement
    ]
    role = f"{cell.role}, " if cell.role else ""
    lead = f"{markdown(role)}{code_span(cell.cell)}: {markdown(cell.sentence)}"
    return [lead, table(_HEADS, rows, right=5)]
