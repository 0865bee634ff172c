"""The published gallery: Markdown that a repository's own pages show, over stored runs.

It holds no script and nothing of third parties, so it can be committed; the interactive site is
built from the same runs by `mysqlprof gallery`.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from mysqlprof.gallery.entry import Entry, run_verdict
from mysqlprof.model import Run
from mysqlprof.report import numbers
from mysqlprof.report.facts import fact_value
from mysqlprof.report.matrix import matrix_of
from mysqlprof.report.matrix_words import sentence
from mysqlprof.report.safe import code_block, code_span, markdown, table
from mysqlprof.report.upgrade_words import answer as upgrade_answer
from mysqlprof.report.words import moment

_OURS = {"--out": 1, "--force": 0, "--json": 0}
"""Options that say where a run goes, and how many values follow: not how it was made."""
_MACHINE = ("cpu_model", "cores", "memory_bytes", "virtualisation", "distro", "kernel")


@dataclass(frozen=True)
class Published:
    """A run in the directory of reports."""

    name: str
    """Of its directory."""
    run: Run
    entries: tuple[Entry, ...]
    drawn: frozenset[str]
    """Cells that have a flame graph in the run directory."""


def index(reports: Sequence[Published]) -> str:
    """README.md: every report with its answer, then every profile with its picture."""
    rows = [
        [
            _link(r, "report.md", r.name) + f" ({_link(r, 'report.html', 'HTML')})",
            markdown(answer(r.run)),
            markdown(moment(r.run.created)),
        ]
        for r in reports
    ]
    parts = [
        "# Published reports",
        "Made by mysqlprof's own commands on real servers, each with its data beside it: folded"
        " stacks, CSV, JSON. [How each was made](how.md).",
        table(["report", "what it says", "made"], rows),
        "Redraw any of them with `mysqlprof report DIRECTORY`; check one with"
        " `sha256sum -c SHA256SUMS` in its directory.",
        "## Flame graphs",
        "Width is the share of samples; a picture leads to the drawing. Dark red are the frames"
        " that the scenario is about, yellow is mysqld, blue-grey the C library, orange the kernel,"
        " grey has no symbol. `mysqlprof gallery reports --serve`, from the repository's root,"
        " shows the same profiles with zoom, search and comparison.",
        *(_pictures(r) for r in reports if r.entries),
        "This page and its pictures are written by `scripts/publish`.",
    ]
    return "\n\n".join(parts) + "\n"


def _link(report: Published, file: str, text: str) -> str:
    return f"[{markdown(text)}]({quote(report.name)}/{file})"


def _pictures(report: Published) -> str:
    rows = []
    for entry in report.entries:
        ratio = "" if entry.ratio is None or not entry.is_numerator else numbers.ratio(entry.ratio)
        drawn = entry.cell in report.drawn
        target = (
            f"{report.name}/profiles/{entry.cell}.svg" if drawn else f"{report.name}/report.html"
        )
        alt = f"flame graph of {entry.name}"
        rows.append(
            [
                f"[![{markdown(alt)}](pictures/{entry.id}.svg)]({target})",
                markdown(entry.name),
                markdown(entry.verdict.word),
                ratio,
            ]
        )
    heads = ["", "profile", "verdict", "ratio"]
    return f"### {markdown(report.name)}\n\n{table(heads, rows, right=1)}"


def how(reports: Sequence[Published]) -> str:
    """how.md: command, machine, servers and caveats of every report."""
    parts = [
        "# How the published reports were made",
        "From each run's own record. A command measures anew; figures differ by machine.",
    ]
    for report in reports:
        run = report.run
        servers = [
            [
                markdown(s.name),
                markdown(s.requested),
                markdown(s.version),
                markdown(s.backend),
                code_span(s.source),
            ]
            for s in run.servers
        ]
        heads = ["server", "asked for", "ran", "backend", "from"]
        parts += [
            f"## {markdown(report.name)}",
            markdown(run.plan.definition.title) + f". Run {code_span(run.id)}, made at"
            f" {markdown(moment(run.created))} by mysqlprof {markdown(run.tool_version)}"
            f" with seed {run.plan.seed}.",
            code_block(command(run)),
            f"On: {machine(run)}.",
            *([table(heads, servers)] if servers else []),
            *("* " + markdown(caveat.text) for caveat in run.caveats),
        ]
    return "\n\n".join(parts) + "\n"


def answer(run: Run) -> str:
    """What a run found, in one sentence."""
    if run.bisect:
        return run.bisect.answer
    if run.upgrade:
        return upgrade_answer(run)
    matrix = matrix_of(run)
    if matrix:
        return sentence(matrix) + "."
    ratios = [c.ratio for c in run.contrasts if c.headline and c.ratio is not None]
    worst = f", up to {numbers.ratio(max(ratios))} as long" if ratios else ""
    return f"{run_verdict(run).word}: {run.plan.definition.title}{worst}."


def command(run: Run) -> str:
    """As it was typed, without where its output went."""
    words = iter(run.command)
    kept = []
    for word in words:
        option = word.partition("=")[0]
        if option not in _OURS:
            kept.append(word)
        elif "=" not in word:
            for _ in range(_OURS[option]):
                next(words, None)
    return shlex.join(kept)


def machine(run: Run) -> str:
    found = [(key, run.environment.get(key)) for key in _MACHINE]
    words = {"cores": " CPUs", "memory_bytes": " of memory"}
    return markdown(
        ", ".join(fact_value(value, key) + words.get(key, "") for key, value in found if value)
    )
