"""The exact counts in report.md."""

from mysqlprof.report import numbers
from mysqlprof.report.counted import GROUPS, CountedView
from mysqlprof.report.safe import code_span, markdown, table
from mysqlprof.report.words import claim_word, deviation


def counted_markdown(counted: CountedView) -> str:
    parts = [
        "### Counted",
        _first(counted),
        _comparisons(counted),
        _closures(counted),
        _costs(counted),
    ]
    return "\n\n".join(part for part in parts if part)


def _first(counted: CountedView) -> str:
    found = counted.first
    if found is None:
        return ""
    predicted, worst = numbers.counted(found.predicted), numbers.counted(found.worst)
    return (
        f"**{predicted} predicted, {worst} counted**: {found.measure} of"
        f" {code_span(found.counter)} in each execute of {code_span(found.cell)}"
    )


def _comparisons(counted: CountedView) -> str:
    rows = []
    for row in counted.comparisons:
        found, word = row.found, claim_word(row.found.verdict)
        rows.append(
            [
                f"{code_span(found.counter)} {found.measure}",
                markdown(row.title),
                f"{word.symbol} {word.word}" + (f": {markdown(found.reason)}" * bool(found.reason)),
                numbers.counted(found.predicted),
                numbers.counted(found.worst),
                deviation(found),
            ]
        )
    heads = ["in one execute", "cell", "", "predicted", "counted", "off by"]
    return table(heads, rows, right=3) if rows else ""


def _closures(counted: CountedView) -> str:
    rows = []
    for cell in counted.closed:
        closure = cell.closure
        assert closure is not None
        shares = [
            f"{numbers.signed_duration(ms)} ({numbers.signed_share(ms / closure.client_ms)})"
            for ms in cell.groups.values()
        ]
        rows.append([markdown(cell.title), numbers.duration(closure.client_ms), *shares])
    heads = ["wall time of one execute", "client", *GROUPS.values()]
    return table(heads, rows, right=len(heads) - 1) if rows else ""


def _costs(counted: CountedView) -> str:
    costs = [
        f"{markdown(cell.title)}: counting {numbers.ratio(cell.cost.counting)},"
        f" watching {numbers.ratio(cell.cost.watching)}"
        for cell in counted.cells
        if cell.cost
    ]
    return "Cost of the probes, which no timing has in it: " + "; ".join(costs) if costs else ""
