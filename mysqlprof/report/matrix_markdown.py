"""The first part of report.md in runs of the matrix: the answer, and one line a driver."""

from mysqlprof.report import numbers
from mysqlprof.report.matrix import Matrix, MatrixCell, MatrixServer
from mysqlprof.report.matrix_words import extent, matrix_word, rule, sentence
from mysqlprof.report.safe import markdown, table
from mysqlprof.report.view import Report
from mysqlprof.report.words import confidence, unfinished


def matrix_answer(report: Report, matrix: Matrix) -> str:
    regime = matrix.plan.regime if matrix.plan else ""
    published = (
        f"In parentheses the published figures ({', '.join(matrix.published_servers)}), from"
        " another machine with other data: compare ratios, not times."
    )
    parts = [
        f"## {markdown(report.scenario.title)}",
        f"**{markdown(sentence(matrix))}.**",
        f"**Incomplete.** {unfinished(report)}" if unfinished(report) else "",
        extent(matrix),
        f"Conditions: {markdown(regime)}" if regime else "",
        _table(matrix),
        f"Medians with their {confidence(report)} intervals in brackets. {rule(matrix)}"
        + (f" {markdown(published)}" if matrix.published_servers else ""),
    ]
    return "\n\n".join(part for part in parts if part)


def _table(matrix: Matrix) -> str:
    heads = ["driver"]
    for server in matrix.servers:
        heads += [f"{_head(server)}, server-side prepare", f"{_head(server)}, client-side prepare"]
    rows = [
        [
            markdown(line.driver),
            *(
                _cell(cell, judged)
                for pair in line.pairs
                for cell, judged in zip(pair, (True, False), strict=True)
            ),
        ]
        for line in matrix.lines
    ]
    return table(heads, rows)


def _head(server: MatrixServer) -> str:
    if not server.version or server.version == server.requested:
        return markdown(f"MySQL {server.requested}")
    return markdown(f"MySQL {server.version} instead of {server.requested}")


def _cell(cell: MatrixCell, judged: bool) -> str:
    row = cell.row
    word = matrix_word(row.verdict)
    time = numbers.duration(row.median_ms)
    time += _brackets(numbers.durations(row.ci_low_ms, row.ci_high_ms))
    if row.verdict == "not_measured":
        parts = [f"{word.symbol} {word.word}"]
    elif judged:
        ratio = f" {numbers.ratio(row.ratio)}" if row.ratio is not None else ""
        between = _brackets(numbers.interval(row.ratio_low, row.ratio_high))
        parts = [f"{word.symbol} **{word.word}{ratio}**{between}", time]
    else:
        parts = [time]
    text = "; ".join(parts)
    if cell.reason:
        text += f": {markdown(cell.reason)}"
    if row.article_ms is not None:
        ratio = f", {numbers.ratio(cell.article_ratio)}" if cell.article_ratio else ""
        text += f" (published {numbers.duration(row.article_ms)}{ratio})"
    return text


def _brackets(interval: str) -> str:
    return "" if interval == numbers.NONE else f" [{interval}]"
