"""The report's fixed words: verdicts, claim verdicts, caveat kinds, and the headline."""

import re
from datetime import UTC, datetime

from mysqlprof.model import ClaimVerdict, Verdict
from mysqlprof.report import numbers
from mysqlprof.report.view import ContrastView, Report
from mysqlprof.report.word import Word
from mysqlprof.statistics import Interval, difference

VERDICTS: dict[Verdict, Word] = {
    "reproduced": Word("Reproduced", "✓", "yes"),
    "not_reproduced": Word("Not reproduced", "✗", "no"),
    "inconclusive": Word("Inconclusive", "?", "unsure"),
    "measured": Word("Measured", "•", "done"),
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
    """Under the verdict: the cause, what was measured, or that something stands against it."""
    if report.run.verdict == "reproduced":
        return report.scenario.cause or report.scenario.summary.strip()
    if report.run.verdict == "measured":
        return report.scenario.summary.strip()
    if not report.run.claims:
        return "No claim was judged."
    return "Of the essential claims, these do not hold or cannot be told:"


def tally(report: Report) -> str:
    held = sum(1 for claim in report.essential if claim.verdict == "holds")
    return f"{held} of {len(report.essential)} essential claims hold" if report.essential else ""


def workload_sentence(report: Report) -> str:
    return numbers.thin(report.scenario.workload.sentence)


def timed_sentence(report: Report) -> str:
    """What an elapsed time is the time of."""
    return numbers.thin(report.scenario.workload.timed)


def units(report: Report, trials: int) -> str:
    """The work of so many trials: "3 executes", "1 500 transactions"."""
    unit = report.run.workload.get("unit", "execute")
    number = trials * report.run.workload.get("units_per_trial", 1)
    return f"{numbers.count(number)} {unit}{'' if number == 1 else 's'}"


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


def direction(contrast: ContrastView) -> str:
    """What a ratio means, read after it: "8.9× slower", "0.97× the time: no difference"."""
    ratio, low, high = contrast.result.ratio, contrast.result.ci_low, contrast.result.ci_high
    if ratio is None:
        return "no ratio: too few trials"
    if low is None or high is None:
        return "the time"
    found = difference(Interval(ratio, low, high))
    return {
        "slower": "slower",
        "faster": "the time: faster",
        "same": "the time: no difference",
    }.get(found, "the time: cannot tell")


def arrows(text: str) -> str:
    return text.replace(" -> ", " → ")


def times(text: str) -> str:
    """The sign for "times" in measured values: `40.4x [38.2x, 43.5x]`."""
    return re.sub(r"(?<=\d)x\b", "×", text)


def caveats_by_kind(report: Report) -> dict[str, list[tuple[str, bool]]]:
    """Text and "data is missing" of every caveat, in order. What is said of several servers or
    cells in the same words is said once: "before_default, before_fixed: ..."."""
    subjects: dict[tuple[str, str, bool], list[str]] = {}
    for caveat in report.run.caveats:
        subject, colon, rest = caveat.text.partition(": ")
        if not colon or " " in subject:
            subject, rest = "", caveat.text
        subjects.setdefault((caveat.kind, rest, caveat.partial), []).append(subject)
    found: dict[str, list[tuple[str, bool]]] = {}
    for (kind, rest, partial), names in subjects.items():
        prefix = ", ".join(dict.fromkeys(filter(None, names)))
        found.setdefault(kind, []).append((f"{prefix}: {rest}" if prefix else rest, partial))
    return found
