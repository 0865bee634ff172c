"""A stored profile as the content of a file for another tool."""

from pathlib import Path

from mysqlprof import flamegraph
from mysqlprof.errors import UsageError
from mysqlprof.formats import ExportFormat
from mysqlprof.gallery.exports import pprof, speedscope
from mysqlprof.store import RunDirectory
from mysqlprof.stored_profile import open_profile


def export(path: Path, cell: str, format_: ExportFormat) -> bytes:
    """`cell` may be empty where there is one profile.

    Raises UsageError for an unknown cell, EnvironmentLacks where an SVG must be drawn and
    flamegraph.pl is missing.
    """
    found = open_profile(path, cell)
    if found.run is None or found.info is None:
        raise UsageError(f"{path} is not a run directory", "name the run that holds the profile")
    if format_ == "pprof":
        return pprof(found.info, found.stacks, found.run.created)
    if format_ == "speedscope":
        return speedscope(found.info, found.stacks).encode()
    if format_ == "folded":
        return found.stacks.to_folded().encode()
    title = found.run.plan.definition.title
    stored = RunDirectory(path).read_svg(found.info.cell)
    drawn = stored or flamegraph.render(found.stacks, title=title, subtitle=found.info.cell)
    return drawn.encode()
