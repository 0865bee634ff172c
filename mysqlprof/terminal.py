"""How things look in a terminal. stdout is data, stderr is progress; NO_COLOR is honoured."""

import re
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mysqlprof.errors import MysqlprofError
from mysqlprof.interrupts import Interrupts
from mysqlprof.model import Run

OUT = Console(soft_wrap=False)
ERR = Console(stderr=True)


def complain(error: MysqlprofError) -> None:
    ERR.print(Text.assemble(("error: ", "bold red"), plain(error.message)), soft_wrap=True)
    if error.hint:
        head, *rest = plain(error.hint).splitlines()
        ERR.print(Text.assemble(("  try: " if not rest else "  ", "bold"), head), soft_wrap=True)
        for line in rest:
            ERR.print(Text("  " + line), soft_wrap=True)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Without characters that would command the terminal: names come from servers and profiles."""
    return _CONTROL.sub("\ufffd", text)


class TerminalProgress:
    """Progress on stderr: a live line where it is a terminal, plain lines where it is not."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._live: Live | None = None
        self._last_percent = -1

    def __enter__(self) -> "TerminalProgress":
        if ERR.is_terminal:
            self._live = Live("", console=ERR, transient=True, refresh_per_second=8)
            self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._live:
            self._live.stop()

    def step(self, text: str) -> None:
        if self._live:
            self._live.update(Text.assemble(("… ", "cyan"), plain(text)))
        else:
            ERR.print(Text(plain(text)))

    def trial(self, done: int, total: int, cell: str, remaining_s: float | None) -> None:
        togo = f", {remaining_s:.0f} s to go" if remaining_s is not None else ""
        ending = "  finishing this one, then stopping" if self._interrupts.requested else ""
        if self._live:
            bar = "━" * (done * 24 // max(total, 1))
            self._live.update(
                Text.assemble(
                    (bar.ljust(24, "─"), "cyan"), f" {done + 1}/{total} {cell}{togo}{ending}"
                )
            )
        else:
            percent = done * 4 // max(total, 1)
            if percent != self._last_percent or done == 0:
                self._last_percent = percent
                ERR.print(Text(f"trial {done + 1} of {total}{togo}: {cell}"))

    def note(self, text: str) -> None:
        ERR.print(Text(plain(text), style="dim"), soft_wrap=True)


_VERDICTS = {
    "reproduced": ("reproduced", "bold red"),
    "not_reproduced": ("not reproduced", "bold green"),
    "inconclusive": ("inconclusive", "bold yellow"),
}
_CLAIMS = {
    "holds": ("holds", "green"),
    "does_not_hold": ("does not hold", "red"),
    "cannot_tell": ("cannot tell", "yellow"),
}


def print_summary(run: Run, path: Path) -> None:
    word, style = _VERDICTS[run.verdict]
    OUT.print(Text.assemble((f"{run.scenario}: ", "bold"), (word, style)))
    for server in run.servers:
        asked = f", asked for {server.requested}" if server.substitution else ""
        OUT.print(
            Text(f"  {server.name}: MySQL {server.version} ({server.backend}{asked})", style="dim")
        )
    OUT.print(cell_table(run))
    OUT.print(contrast_table(run))
    OUT.print(claim_table(run))
    for caveat in run.caveats:
        OUT.print(Text.assemble(("caveat: ", "yellow"), plain(caveat.text)), soft_wrap=True)
    for text in run.missing:
        OUT.print(Text.assemble(("missing: ", "yellow"), plain(text)), soft_wrap=True)
    OUT.print(Text.assemble("report: ", (str(path / "report.html"), "bold")), soft_wrap=True)


def plain_table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_edge=False)


def cell_table(run: Run) -> Table:
    table = plain_table()
    factors = list(run.cells[0].levels) if run.cells else []
    for factor in factors:
        table.add_column(factor)
    for column in ("median ms", "95 % interval", "trials"):
        table.add_column(column, justify="right", no_wrap=True)
    for cell in run.cells:
        measured = ["-", "-"]
        if cell.median_ms is not None:
            measured = [f"{cell.median_ms:.1f}", f"{cell.ci_low_ms:.1f} – {cell.ci_high_ms:.1f}"]
        table.add_row(*(cell.levels[f] for f in factors), *measured, str(cell.trials))
    return table


def contrast_table(run: Run) -> Table:
    table = plain_table()
    table.add_column("ratio of medians")
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    for contrast in run.contrasts:
        if contrast.ratio is None:
            table.add_row(contrast.text, "-", "-")
        else:
            style = "bold" if contrast.headline else ""
            table.add_row(
                Text(contrast.text, style=style),
                Text(f"{contrast.ratio:.2f}x", style=style),
                f"{contrast.ci_low:.2f} – {contrast.ci_high:.2f}",
            )
    return table


def claim_table(run: Run) -> Table:
    table = plain_table()
    for column in ("claim", "verdict", "measured", "expected"):
        table.add_column(column)
    for claim in run.claims:
        word, style = _CLAIMS[claim.verdict]
        measured = claim.measured + (f" ({claim.reason})" if claim.reason else "")
        table.add_row(escape(claim.text), Text(word, style=style), escape(measured), claim.expected)
    return table
