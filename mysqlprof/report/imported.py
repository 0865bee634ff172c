"""What the report says of imported profiles, in both renderers."""

from dataclasses import dataclass

from mysqlprof.model import ImportedProfile, ProfileInfo
from mysqlprof.report import numbers
from mysqlprof.report.profiles import PathStep
from mysqlprof.report.safe import code_span, markdown, table
from mysqlprof.report.view import Report
from mysqlprof.stacks import FoldedStacks, short_name

_HOTTEST = 6


@dataclass(frozen=True)
class ImportedLine:
    """One profile on the first screen."""

    record: ImportedProfile
    info: ProfileInfo
    what: str
    """Format, event, weight and unit, in words."""
    hottest: tuple[PathStep, ...]
    """Functions by their own weight, whatever their category."""


def imported_lines(report: Report) -> list[ImportedLine]:
    """In the order of the files."""
    profiles = {profile.cell: profile for profile in report.profiles}
    return [
        ImportedLine(
            record=record,
            info=profiles[record.cell].info,
            what=_what(record),
            hottest=_hottest(profiles[record.cell].stacks),
        )
        for record in report.run.imported
        if record.cell in profiles
    ]


def imported_markdown(report: Report) -> str:
    """The first part of report.md."""
    parts = [
        f"## {markdown(report.scenario.title)}",
        "Recorded elsewhere: nothing was timed here, and no claim is judged.",
    ]
    for line in imported_lines(report):
        known = [f"- {markdown(known.sentence)}" for known in line.record.known]
        rows = [[code_span(f.name), numbers.share(f.share)] for f in line.hottest]
        parts += [
            f"### {code_span(line.record.file)}",
            "\n".join([f"- {markdown(line.what)}", *known]),
            table(["hottest functions", "self"], rows, right=1) if rows else "",
        ]
    return "\n\n".join(part for part in parts if part)


def imported_method(report: Report) -> str:
    """The last part of report.md."""
    run = report.run
    files = [
        f"- {code_span(line.record.file)}: SHA-256 {code_span(line.record.sha256)};"
        f" {numbers.share(line.info.unresolved)} of the weight has a frame without symbol;"
        f" {numbers.count(line.record.unreadable)} lines or samples left out"
        for line in imported_lines(report)
    ]
    command = [f"- Command: {code_span(report.command)}"] if report.command else []
    made = f"- mysqlprof {markdown(run.tool_version)}, run {markdown(run.id)}"
    return "### What was imported\n\n" + "\n".join([*files, made, *command])


def _hottest(stacks: FoldedStacks) -> tuple[PathStep, ...]:
    counts = sorted(stacks.self_counts().items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        PathStep(short_name(frame), count / stacks.total) for frame, count in counts[:_HOTTEST]
    )


def _what(record: ImportedProfile) -> str:
    event = f" of {record.event}" if record.event else ""
    samples = ""
    if record.unit != "samples" and record.samples:
        samples = f" in {numbers.count(record.samples)} samples"
    return f"{record.format}: {numbers.count(record.weight)} {record.unit}{event}{samples}"
