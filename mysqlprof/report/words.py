"""The report's fixed words: verdicts, claim verdicts, caveat kinds, and the headline."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from mysqlprof.model import ClaimVerdict, Verdict
from mysqlprof.report import numbers
from mysqlprof.report.view import Report


@dataclass(frozen=True)
class Word:
    word: str
    symbol: str
    """Read without colour."""
    tone: str
    """CSS class."""


VERDICTS: dict[Verdict, Word] = {
    "reproduced": Word("Reproduced", "✓", "yes"),
    "not_reproduced": Word("Not reproduced", "✗", "no"),
    "inconclusive": Word("Inconclusive", "?", "unsure"),
}
_CLAIMS: dict[ClaimVerdict, Word] = {
    "holds": Word("holds", "✓", "yes"),
    "does_not_hold": Word("does not hold", "✗", "no"),
    "cannot_tell": Word("cannot tell", "?", "unsure"),
}
_UNFINISHED = {
    "interrupted": "The run was interrupted. What follows is what had been measured by then.",
    "failed": "The run failed before its end. What follows is what had been measured by then.",
    "running": "The run was still going on when this was drawn.",
}


def claim_word(verdict: ClaimVerdict) -> Word:
    return _CLAIMS[verdict]


def wording(identifier: str) -> str:
    """`text_rebuilding` -> text rebuilding."""
    return identifier.replace("_", " ")


def unfinished(report: Report) -> str:
    return _UNFINISHED.get(report.run.status, "")


def headline(report: Report) -> str:
    """One sentence under the verdict: the cause, or what stands against it."""
    if report.run.verdict == "reproduced":
        return report.scenario.cause or report.scenario.summary.strip()
    if not report.run.claims:
        return "No claim was judged."
    against = "; ".join(f"{c.text}: {claim_word(c.verdict).word}" for c in report.unmet)
    return against or "Too little was measured to judge the claims."


def tally(report: Report) -> str:
    held = sum(1 for claim in report.essential if claim.verdict == "holds")
    return f"{held} of {len(report.essential)} essential claims hold" if report.essential else ""


def workload_sentence(report: Report) -> str:
    work = report.scenario.workload
    return (
        f"one multi-row prepared INSERT, {numbers.count(work.rows)} rows × {work.columns} columns "
        f"= {numbers.count(work.rows * work.columns)} parameters, "
        f"{work.value_bytes}-byte text values"
    )


def confidence(report: Report) -> str:
    level = report.run.thresholds.get("confidence")
    return f"{100 * level:g}{numbers.THIN}%" if level else "stated"


def moment(iso: str) -> str:
    """`2025-11-20T15:40:05Z` -> 20 Nov 2025, 15:40 UTC; anything else as it stands."""
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    if when.tzinfo is not None:
        when = when.astimezone(UTC)
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    return f"{when.day} {months[when.month - 1]} {when.year}, {when:%H:%M} UTC"


def direction(ratio: float | None) -> str:
    if ratio is None:
        return "not measured"
    return "slower" if ratio >= 1 else "of the time"


def arrows(text: str) -> str:
    return text.replace(" -> ", " → ")


def times(text: str) -> str:
    """The sign for "times" in measured values: `40.4x [38.2x, 43.5x]`."""
    return re.sub(r"(?<=\d)x\b", "×", text)
