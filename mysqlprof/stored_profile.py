"""One profile as a user names it: a run directory and a cell, or a folded file."""

from dataclasses import dataclass
from pathlib import Path

from mysqlprof.errors import UsageError
from mysqlprof.model import ProfileInfo, Run
from mysqlprof.stacks import FoldedStacks
from mysqlprof.store import RunDirectory


def units_of(run: Run, info: ProfileInfo) -> float:
    """Units of work that a profile was recorded over; 0 where that is not known."""
    return info.executes * float(run.workload.get("units_per_trial", 1))


def unit_of(run: Run) -> str:
    """Of work: "execute", "transaction"."""
    return str(run.workload.get("unit", "execute"))


@dataclass(frozen=True)
class StoredProfile:
    path: Path
    stacks: FoldedStacks
    run: Run | None = None
    """None for a folded file, which says nothing of itself."""
    info: ProfileInfo | None = None

    @property
    def name(self) -> str:
        return f"{self.path}: {self.info.cell}" if self.info else str(self.path)

    @property
    def units(self) -> float:
        """Units of work that were done while it was recorded; 0 where that is not known."""
        return units_of(self.run, self.info) if self.run and self.info else 0.0

    @property
    def unit(self) -> str:
        return unit_of(self.run) if self.run else ""

    @property
    def frequency_hz(self) -> int:
        return self.info.frequency_hz if self.info else 0


def open_profile(path: Path, cell: str, option: str = "--cell") -> StoredProfile:
    """`cell` may be empty where the run has one profile; `option` is what names it.

    Raises UsageError for what is neither, and for an unknown cell.
    """
    if path.is_file():
        return StoredProfile(path, _folded(path))
    run_dir = RunDirectory.open(path)
    run = run_dir.read_run()
    info = _choose(run_dir.profiles(), cell, path, option)
    return StoredProfile(path, run_dir.read_stacks(info.cell), run, info)


def _folded(path: Path) -> FoldedStacks:
    try:
        return FoldedStacks.parse(path.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path} cannot be read as folded stacks: {error}",
            "give a run directory, or lines of `frame;frame COUNT`",
        ) from error


def _choose(infos: list[ProfileInfo], cell: str, path: Path, option: str) -> ProfileInfo:
    if not infos:
        raise UsageError(f"{path} holds no profile", "name a run that was profiled")
    names = ", ".join(info.cell for info in infos)
    if not cell and len(infos) > 1:
        raise UsageError(
            f"{path} holds {len(infos)} profiles", f"add {option} with one of: {names}"
        )
    for info in infos:
        if cell in (info.cell, ""):
            return info
    raise UsageError(f"{path} holds no profile of cell {cell}", f"cells are: {names}")
