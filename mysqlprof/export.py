"""A stored profile as the content of a file for another tool."""

from pathlib import Path

from mysqlprof import flamegraph
from mysqlprof.errors import UsageError
from mysqlprof.gallery.exports import pprof, speedscope
from mysqlprof.model import ProfileInfo
from mysqlprof.store import RunDirectory


def export(path: Path, cell: str, format_: str) -> bytes:
    """`format_` is speedscope, pprof, folded or svg. `cell` may be empty where there is one.

    Raises UsageError for an unknown cell, EnvironmentLacks where an SVG must be drawn and
    flamegraph.pl is missing.
    """
    run_dir = RunDirectory.open(path)
    run = run_dir.read_run()
    info = _choose(run_dir.profiles(), cell, path)
    stacks = run_dir.read_stacks(info.cell)
    if format_ == "pprof":
        return pprof(info, stacks, run.created)
    if format_ == "speedscope":
        return speedscope(info, stacks).encode()
    if format_ == "folded":
        return stacks.to_folded().encode()
    stored = run_dir.read_svg(info.cell)
    title = run.plan.definition.title
    return (stored or flamegraph.render(stacks, title=title, subtitle=info.cell)).encode()


def _choose(infos: list[ProfileInfo], cell: str, path: Path) -> ProfileInfo:
    if not infos:
        raise UsageError(f"{path} holds no profile", "name a run that was profiled")
    names = ", ".join(info.cell for info in infos)
    if not cell and len(infos) > 1:
        raise UsageError(f"{path} holds {len(infos)} profiles", f"add --cell with one of: {names}")
    for info in infos:
        if cell in (info.cell, ""):
            return info
    raise UsageError(f"{path} holds no profile of cell {cell}", f"cells are: {names}")
