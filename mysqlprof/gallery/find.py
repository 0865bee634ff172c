"""Run directories below the places that were named."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mysqlprof.errors import UsageError
from mysqlprof.model import Run
from mysqlprof.store import RunDirectory

_DEPTH = 4
"""Levels below a named directory at which a run is looked for."""


@dataclass(frozen=True)
class Found:
    """A run that can be read."""

    directory: RunDirectory
    run: Run


def find_runs(places: Iterable[Path]) -> tuple[list[Found], list[str]]:
    """(runs by rising path, what could not be read and why). A place may itself be a run.

    Raises UsageError where a place is no directory.
    """
    found: list[Found] = []
    unread: list[str] = []
    seen: set[Path] = set()
    for place in places:
        if not place.is_dir():
            raise UsageError(
                f"{place} is not a directory", "name run directories, or directories that hold some"
            )
        for path in _runs_below(place, _DEPTH):
            if path.resolve() in seen:
                continue
            seen.add(path.resolve())
            directory = RunDirectory(path)
            try:
                found.append(Found(directory, directory.read_run()))
            except UsageError as error:
                unread.append(error.message)
    return found, unread


def _runs_below(place: Path, depth: int) -> Iterator[Path]:
    if (place / "run.json").is_file():
        yield place
    elif depth:
        for child in sorted(place.iterdir()):
            if child.is_dir() and not child.is_symlink():
                yield from _runs_below(child, depth - 1)
