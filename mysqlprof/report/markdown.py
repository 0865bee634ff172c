"""report.md: what a bug report needs, compact, in GitHub's Markdown."""

from mysqlprof.report import numbers
from mysqlprof.report.bisect import bisect_markdown
from mysqlprof.report.counted_markdown import counted_markdown
from mysqlprof.report.facts import fact_value
from mysqlprof.report.imported import imported_markdown, imported_method
from mysqlprof.report.link import link_markdown
from mysqlprof.report.matrix_markdown import matrix_answer
from mysqlprof.report.published import published_markdown
from mysqlprof.report.safe import code_block, code_span, markdown, table
from mysqlprof.report.sweeps import answer_markdown, sections_markdown, sweep_answer
from mysqlprof.report.upgrade_markdown import upgrade_markdown
from mysqlprof.report.view import Report, build
from mysqlprof.report.wire_markdown import wire_markdown
from mysqlprof.report.words import (
    VERDICTS,
    arrows,
    caveats_by_kind,
    claim_word,
    confidence,
    direction,
    headline,
    moment,
    tally,
    timed_sentence,
    times,
    unfinished,
    wording,
    workload_sentence,
)
from mysqlprof.store import RunDirectory

_TOP = 10
_WIDE = 80
"""Characters of a path's frame, beyond which shares are not aligned."""


def render_markdown(run_dir: RunDirectory) -> str:
    return render(build(run_dir))


def render(report: Report) -> str:
    if report.run.imported:
        imported = [imported_markdown(report), _caveats(report), _attribution(report)]
        return "\n\n".join(p for p in [*imported, imported_method(report)] if p) + "\n"
    matrix, searched = report.matrix, bool(report.run.bisect or report.upgrade)
    swept = sweep_answer(report.run) is not None
    parts = [
        _first_part(report),
        "" if searched or swept else _because(report),
        _caveats(report),
        "" if searched else _claims(report),
        published_markdown(report.run),
        sections_markdown(report),
        link_markdown(report.run),
        _cells(report),
        "" if (matrix or swept) and not report.profiles else _attribution(report),
        wire_markdown(report.wire),
        counted_markdown(report.counted) if report.counted else "",
        _servers(report),
        _method(report),
        _gaps(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _first_part(report: Report) -> str:
    if report.run.bisect:
        return bisect_markdown(report)
    if report.upgrade:
        return upgrade_markdown(report, report.upgrade)
    if answer := sweep_answer(report.run):
        return answer_markdown(report, answer)
    return matrix_answer(report, report.matrix) if report.matrix else _answer(report)


def _answer(report: Report) -> str:
    verdict = VERDICTS[report.run.verdict]
    lines = [
        f"## {markdown(report.scenario.title)}",
        "",
        f"**{verdict.word}**" + (f" ({tally(report)})" if tally(report) else ""),
    ]
    if unfinished(report):
        lines += ["", f"**Incomplete.** {unfinished(report)}"]
    lines += ["", markdown(arrows(headline(report)))]
    if report.run.verdict != "reproduced" and report.unmet:
        lines.append("")
        lines += [
            f"- {claim_word(claim.verdict).word}: {markdown(arrows(claim.text))}"
            for claim in report.unmet
        ]
    if report.headlines:
        lines.append("")
    for contrast in report.headlines:
        result = contrast.result
        between = numbers.interval(result.ci_low, result.ci_high, "×")
        lines.append(
            f"- **{numbers.ratio(result.ratio)}** {direction(contrast)}"
            f" ({confidence(report)} interval {between}): {markdown(result.text)};"
            f" {numbers.duration(contrast.numerator_ms)}"
            f" against {numbers.duration(contrast.denominator_ms)}"
        )
    return "\n".join(lines)


def _because(report: Report) -> str:
    because = report.because
    if because is None or because.culprit is None:
        return ""
    if because.claimed:
        lead = (
            f"Because of {code_span(because.culprit.name)}: {numbers.share(because.culprit.share)}"
            " of the slow execute's CPU samples are under it, on this path:"
        )
    else:
        lead = f"Hottest path in {code_span(because.cell)}, with shares of its CPU samples:"
    widths = [2 * i + len(step.name) for i, step in enumerate(because.steps)]
    width = max((w for w in widths if w <= _WIDE), default=_WIDE)  # templates' names are longer
    lines = [
        f"{'  ' * i + step.name:<{width}}  {numbers.share(step.share):>7}"
        for i, step in enumerate(because.steps)
    ]
    return f"{lead}\n\n{code_block(chr(10).join(lines))}"


def _caveats(report: Report) -> str:
    lines = [
        f"- {markdown(wording(kind))}: {'**data missing**; ' if partial else ''}{markdown(text)}"
        for kind, texts in caveats_by_kind(report).items()
        for text, partial in texts
    ]
    return "**Before you believe a number**\n\n" + "\n".join(lines) if lines else ""


def _claims(report: Report) -> str:
    rows = []
    for claim in report.run.claims:
        word = claim_word(claim.verdict)
        reason = f" ({claim.reason})" if claim.reason else ""
        rows.append(
            [
                markdown(arrows(claim.text)) + ("" if claim.essential else " (not essential)"),
                f"{word.symbol} {word.word}",
                markdown(times(claim.measured + reason)),
                markdown(times(claim.expected)),
            ]
        )
    return (
        "### Claims\n\n" + table(["claim", "verdict", "measured", "expected"], rows) if rows else ""
    )


def _cells(report: Report) -> str:
    rows = [
        [
            *(markdown(cell.result.levels.get(factor, "")) for factor in report.factors),
            str(cell.result.trials),
            numbers.milliseconds(cell.result.median_ms),
            numbers.interval(cell.result.ci_low_ms, cell.result.ci_high_ms),
            *(numbers.milliseconds(cell.result.metrics.get(m)) for m in report.metrics),
        ]
        for cell in report.cells
    ]
    figures = ["trials", "median ms", "interval", *map(wording, report.metrics)]
    heads = map(markdown, [*map(wording, report.factors), *figures])
    if not rows:
        return ""
    return "### Cells\n\n" + table(list(heads), rows, right=len(figures)) + _power(report)


def _power(report: Report) -> str:
    """What these trials could have shown: a difference that was not seen may be smaller."""
    visible = [c.result.visible_ratio for c in report.contrasts if c.result.visible_ratio]
    if not visible:
        return ""
    between = numbers.interval(min(visible), max(visible), "×")
    return (
        f"\n\nThe smallest ratio that these trials would have shown in four of five runs is"
        f" {between}, by comparison."
    )


def _attribution(report: Report) -> str:
    profile = report.slow
    if profile is None:
        return "No cell was profiled in this run."
    lead = f"### Where the time goes in {code_span(profile.cell)}"
    if not profile.total:
        return f"{lead}\n\nNo samples were recorded."
    article: dict[str, float] = {}
    for row in report.article:
        article[row.id] = article.get(row.id, 0.0) + row.percent / 100
    rows = [
        [
            markdown(c.label),
            *([numbers.share(article.get(c.id))] if article else []),
            numbers.share(c.share),
            numbers.share(c.inclusive_share),
        ]
        for c in profile.categories[:_TOP]
    ]
    heads = ["category", *(["article"] if article else []), "here", "inclusive"]
    path = code_block("\n".join(profile.hottest_names))
    return "\n\n".join([lead, table(heads, rows, right=len(heads) - 1), "Hottest path:", path])


def _servers(report: Report) -> str:
    servers = report.run.servers
    if not servers:
        return "### Servers\n\nNo server was started."
    digests = any(server.digest for server in servers)
    rows = [
        [
            markdown(server.name),
            code_span(server.version),
            code_span(server.requested),
            markdown(server.backend),
            code_span(server.source),
            code_span(server.sha256) or numbers.NONE,
            *([code_span(server.digest) or numbers.NONE] if digests else []),
            code_span(server.build_id) or numbers.NONE,
        ]
        for server in servers
    ]
    heads = ["server", "version", "asked for", "backend", "source", "SHA-256 of the archive"]
    heads += [*(["image digest"] if digests else []), "build id"]
    said = " ".join(caveat.text for caveat in report.run.caveats)
    reasons = dict.fromkeys(s.substitution for s in servers if s.substitution not in said)
    notes = "".join(f"\n- {markdown(reason)}" for reason in reasons)
    return "### Servers\n\n" + table(heads, rows) + ("\n" + notes if notes else "")


def _method(report: Report) -> str:
    run = report.run
    driver = " ".join(run.driver.get(key, "") for key in ("name", "version")).strip()
    lines = [
        f"- Workload: {workload_sentence(report)}"
        + (f"; driver {markdown(driver)}" if driver else ""),
        f"- Timed: {timed_sentence(report)}; {run.plan.trials} unprofiled trials a cell,"
        f" interleaved, seed {run.plan.seed}, {run.plan.warmups} warm-ups apart",
    ]
    for name, known in run.drivers.items():
        lines.append(f"- Driver {markdown(name)}: {markdown(fact_value(known))}")
    for profile in report.profiles:
        info = profile.info
        lines.append(
            f"- Profile of {code_span(info.cell)}: {markdown(info.event)} at"
            f" {info.frequency_hz} Hz, call graph {markdown(info.call_graph)};"
            f" {numbers.count(info.samples)} samples in {numbers.seconds(info.window_s)},"
            f" {numbers.count(info.lost)} lost,"
            f" {numbers.share(info.unresolved)} with a frame without symbol"
        )
    facts = [run.environment.get(key) for key in ("cpu_model", "distro", "kernel")]
    machine = ", ".join(str(fact) for fact in facts if fact)
    if machine:
        lines.append(f"- Machine: {markdown(machine)}")
    lines.append(
        f"- mysqlprof {markdown(run.tool_version)}, {moment(run.created)}, run {markdown(run.id)}"
    )
    if report.command:
        lines.append(f"- Command: {code_span(report.command)}")
    return "### How it was measured\n\n" + "\n".join(lines)


def _gaps(report: Report) -> str:
    if not report.gaps:
        return ""
    return "### What was not measured\n\n" + "\n".join(f"- {markdown(gap)}" for gap in report.gaps)
