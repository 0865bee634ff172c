"""Runs into a directory of reports that can be committed: their data, reports, index, pictures."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mysqlprof.errors import UsageError
from mysqlprof.gallery.drawing import thumbnail
from mysqlprof.gallery.entry import Entry, entry
from mysqlprof.gallery.find import Found, find_runs
from mysqlprof.gallery.published import Published, how, index
from mysqlprof.reproduce import write_reports
from mysqlprof.rules import load_rules
from mysqlprof.store import RunDirectory

_PICTURES = "pictures"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NOT_PUBLISHED = shutil.ignore_patterns("perf.data*", "*.tmp")


@dataclass(frozen=True)
class Addition:
    """A run, and the name that it is to have among the reports."""

    name: str
    path: Path

    @classmethod
    def parse(cls, text: str) -> "Addition":
        """[NAME=]RUN; the name of the run's directory is the default."""
        name, equals, path = text.rpartition("=")
        added = cls(name, Path(path)) if equals else cls(Path(text).resolve().name, Path(text))
        if not _NAME.fullmatch(added.name) or added.name == _PICTURES:
            raise UsageError(
                f"{added.name!r} cannot be the name of a report",
                "write NAME=RUN with a name of letters, digits, dots, dashes and underscores",
            )
        return added


def publish(additions: Sequence[Addition], reports: Path) -> list[Path]:
    """Copy the runs, redraw every report below `reports`, and write its index. What was written.

    A report of the same name is replaced. Raises UsageError where a run cannot be read.
    """
    for addition in additions:
        RunDirectory.open(addition.path).read_run()
    for addition in additions:
        target = reports / addition.name
        if addition.path.resolve() == target.resolve():
            continue
        RunDirectory.check_free(target, force=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(addition.path, target, ignore=_NOT_PUBLISHED)
    found, unread = find_runs([reports])
    if unread:
        raise UsageError(unread[0], "mend or remove that report")
    published = [_published(run) for run in found]
    _draw(published, {run.run.id: run for run in found}, reports / _PICTURES)
    (reports / "README.md").write_text(index(published), encoding="utf-8", newline="\n")
    (reports / "how.md").write_text(how(published), encoding="utf-8", newline="\n")
    return [reports / "README.md", reports / "how.md"]


def _published(found: Found) -> Published:
    write_reports(found.directory)
    taken: set[str] = set()
    infos = found.directory.profiles()
    entries = [entry(found, info, taken) for info in infos if info.samples]
    drawn = {info.cell for info in infos if found.directory.read_svg(info.cell)}
    return Published(found.directory.path.name, found.run, tuple(entries), frozenset(drawn))


def _draw(published: Sequence[Published], runs: dict[str, Found], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for report in published:
        for one in report.entries:
            _picture(one, runs[report.run.id], folder)


def _picture(one: Entry, found: Found, folder: Path) -> None:
    drawn = thumbnail(found.directory.read_stacks(one.cell), load_rules())
    (folder / f"{one.id}.svg").write_text(drawn, encoding="utf-8", newline="\n")
