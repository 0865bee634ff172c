"""How things look in a terminal. stdout is data, stderr is progress; NO_COLOR is honoured."""

import re
import sys
from pathlib import Path

from packaging.version import Version
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mysqlprof.errors import MysqlprofError
from mysqlprof.interrupts import Interrupts
from mysqlprof.model import Run

# Where there is no terminal there is no width either: tables then take what they need.
OUT = Console(width=None if sys.stdout.isatty() else 132)
ERR = Console(stderr=True)


def complain(error: MysqlprofError) -> None:
    ERR.print(Text.assemble(("error: ", "bold red"), plain(error.message)), soft_wrap=True)
    if error.hint:
        head, *rest = plain(error.hint).splitlines()
        ERR.print(Text.assemble(("  try: " if not rest else "  ", "bold"), head), soft_wrap=True)
        for line in rest:
            ERR.print(Text("  " + line), soft_wrap=True)


_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


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
    "measured": ("measured", "bold"),
}
_CLAIMS = {
    "holds": ("holds", "green"),
    "does_not_hold": ("does not hold", "red"),
    "cannot_tell": ("cannot tell", "yellow"),
}


def print_summary(run: Run, path: Path) -> None:
    """The answer first, then its evidence in short; the report has the rest."""
    word, style = _VERDICTS[run.verdict]
    definition = run.plan.definition
    OUT.print(Text.assemble("\n", (word.upper(), style), "  ", (definition.title, "bold")))
    OUT.print(headline_table(run))
    if run.verdict == "reproduced" and definition.cause:
        OUT.print(Text.assemble(("why  ", "bold"), definition.cause), soft_wrap=True)
    OUT.print()
    OUT.print(cell_table(run))
    OUT.print()
    if run.crossover:
        OUT.print(Text.assemble(("found  ", "bold"), plain(run.crossover.sentence)), soft_wrap=True)
        OUT.print()
    if run.claims:
        OUT.print(claim_table(run))
        OUT.print()
    print_footnotes(run, path)


_POINT_STYLES = {"shows": "bold red", "absent": "green", "cannot_tell": "yellow"}


def print_bisect(run: Run, path: Path) -> None:
    """The answer, then the points, oldest version first."""
    if run.bisect is None:
        return
    OUT.print(Text.assemble("\n", ("BISECT", "bold"), "  ", run.plan.definition.title))
    OUT.print(Text(run.bisect.answer, style="bold"), soft_wrap=True)
    OUT.print()
    table = plain_table("version", "symptom")
    for header in ("ratio", "95 % interval", "share", "trials"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("measured as")
    for number, point in sorted(
        enumerate(run.bisect.points, 1), key=lambda pair: Version(pair[1].version)
    ):
        share = "-" if point.share is None else f"{point.share * 100:.1f} %"
        table.add_row(
            point.version,
            Text(point.verdict.replace("_", " "), style=_POINT_STYLES[point.verdict]),
            times(point.ratio),
            f"{times(point.ci_low)} – {times(point.ci_high)}",
            share,
            str(point.trials),
            f"{number}: {point.why}",
        )
    OUT.print(table)
    OUT.print()
    print_footnotes(run, path)


_CELL_STYLES = {
    "slow": "bold red",
    "normal": "green",
    "cannot_tell": "yellow",
    "not_measured": "dim",
}


def print_matrix(run: Run, path: Path) -> None:
    """One row a driver and server: both ways to prepare, the ratio, and the published times."""
    plan = run.plan.definition.matrix
    OUT.print(Text.assemble("\n", ("MATRIX", "bold"), "  ", run.plan.definition.title))
    if plan:
        OUT.print(Text(plan.regime, style="dim"))
    OUT.print()
    OUT.print(matrix_table(run))
    OUT.print()
    print_footnotes(run, path)


def matrix_table(run: Run) -> Table:
    """Rows come in pairs: with server-side prepare, then without."""
    table = plain_table("server", "driver")
    for header in ("server-side ms", "client-side ms", "ratio", "95 % interval"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("published ms", justify="right", no_wrap=True)
    for on, off in zip(run.matrix[::2], run.matrix[1::2], strict=True):
        ratio, span = "-", "-"
        if on.ratio is not None:
            ratio, span = times(on.ratio), f"{times(on.ratio_low)} – {times(on.ratio_high)}"
        published = "-"
        if on.article_ms is not None and off.article_ms is not None:
            published = f"{on.article_ms:,.0f} : {off.article_ms:,.0f}"
        table.add_row(
            Text(on.version or on.server, no_wrap=True),
            Text(plain(on.driver), no_wrap=True),
            milliseconds(on.median_ms),
            milliseconds(off.median_ms),
            ratio,
            span,
            Text(on.verdict.replace("_", " "), style=_CELL_STYLES[on.verdict]),
            published,
        )
    return table


def print_footnotes(run: Run, path: Path) -> None:
    gaps = [f"{row.driver} on {row.server}: {row.gap}" for row in run.matrix if row.gap]
    for text in dict.fromkeys(gaps):
        OUT.print(Text.assemble(("gap      ", "yellow"), plain(text)), soft_wrap=True)
    for caveat in run.caveats:
        OUT.print(Text.assemble(("caveat   ", "yellow"), plain(caveat.text)), soft_wrap=True)
    for text in run.missing:
        OUT.print(Text.assemble(("missing  ", "yellow"), plain(text)), soft_wrap=True)
    OUT.print(Text.assemble(("report   ", "bold"), str(path / "report.html")), soft_wrap=True)


def milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def plain_table(*headers: str) -> Table:
    table = Table(
        box=None, padding=(0, 2, 0, 0), header_style="bold", show_edge=False,
        show_header=bool(headers),
    )  # fmt: skip
    for header in headers:
        table.add_column(header)
    return table


def headline_table(run: Run) -> Table:
    table = plain_table()
    for contrast in run.contrasts:
        if contrast.headline and contrast.ratio is not None:
            table.add_row(
                Text(f"{times(contrast.ratio)} as long", style="bold"),
                Text(f"[{times(contrast.ci_low)} – {times(contrast.ci_high)}]"),
                contrast.text,
            )
    return table


def cell_table(run: Run) -> Table:
    """Cells by their levels; servers with the version that really ran."""
    versions = {server.name: f"{server.role} {server.version}" for server in run.servers}
    factors = [name for name in (run.cells[0].levels if run.cells else {}) if name != "server"]
    table = plain_table("server", *factors)
    table.columns[0].no_wrap = True
    for header in ("median ms", "95 % interval", "trials"):
        table.add_column(header, justify="right", no_wrap=True)
    for cell in run.cells:
        measured = ["-", "-"]
        if cell.median_ms is not None:
            measured = [f"{cell.median_ms:.1f}", f"{cell.ci_low_ms:.1f} – {cell.ci_high_ms:.1f}"]
        server = versions.get(cell.server, cell.levels["server"])
        levels = [cell.levels[factor] for factor in factors]
        table.add_row(server, *levels, *measured, str(cell.trials))
    return table


def claim_table(run: Run) -> Table:
    table = plain_table("verdict", "claim", "measured", "expected")
    for claim in run.claims:
        word, style = _CLAIMS[claim.verdict]
        measured = claim.measured.replace("; ", "\n")
        reason = f" ({claim.reason})" if claim.reason else ""
        table.add_row(
            Text(word, style=style, no_wrap=True),
            Text(claim.text + reason),
            Text(measured, no_wrap=True),
            Text(claim.expected, no_wrap=True),
        )
    return table


def times(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio:.0f}x" if ratio >= 20 else f"{ratio:.1f}x" if ratio >= 10 else f"{ratio:.2f}x"
