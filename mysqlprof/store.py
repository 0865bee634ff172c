"""The run directory: the only place that knows its file names and schema.

Every file is written under a temporary name and renamed, so that a reader (or a run that was
killed) never meets half a file. trials.csv is complete after every trial.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from mysqlprof import csvfile
from mysqlprof.changes import CellComparison, FunctionChange
from mysqlprof.counted_types import CounterRow
from mysqlprof.errors import UsageError
from mysqlprof.frozen import Frozen
from mysqlprof.model import (
    SCHEMA_VERSION,
    AttributionRow,
    MatrixRow,
    ProfileInfo,
    Run,
    TrialResult,
)
from mysqlprof.stacks import FoldedStacks
from mysqlprof.sweep_types import AllocatorRow, RemedyRow, Scaling, SweepPoint, TriggerRow
from mysqlprof.wire.model import WireCommand

_TRIAL_COLUMNS = [
    "cell", "trial", "round", "kind", "profiled", "elapsed_ms", "prepare_ms", "rows_written",
]  # fmt: skip
_LEVEL = "level."
_STATUS = "status."
_METRIC = "metric."


class RunDirectory:
    """Writes and reads one run directory.

    >>> run_dir = RunDirectory.create(Path("runs/one"), force=False)
    >>> run_dir = RunDirectory.open(Path("runs/one"))
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def check_free(path: Path, *, force: bool) -> None:
        """Refuse a path that `create` would refuse, before anything is started for it."""
        if not path.exists():
            return
        if not force:
            raise UsageError(
                f"{path} exists already", "choose another --out, or pass --force to replace it"
            )
        if not _looks_like_a_run(path):
            raise UsageError(
                f"{path} exists and is not a run directory, so --force will not replace it",
                "choose another --out",
            )

    @classmethod
    def create(cls, path: Path, *, force: bool) -> "RunDirectory":
        """Make an empty run directory; an existing one is refused without `force`."""
        cls.check_free(path, force=force)
        if path.exists():
            shutil.rmtree(path)
        try:
            (path / "profiles").mkdir(parents=True)
            (path / "logs").mkdir()
        except OSError as error:
            raise UsageError(
                f"cannot create {path}: {error.strerror}", "choose another --out"
            ) from error
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "RunDirectory":
        """A stored run. Raises UsageError where there is none, or none that can be read."""
        if not (path / "run.json").is_file():
            raise UsageError(
                f"{path} is not a run directory: it has no run.json",
                "give the directory that `mysqlprof reproduce --out` wrote",
            )
        return cls(path)

    # --- run.json ---

    def write_run(self, run: Run) -> None:
        self._write("run.json", run.model_dump_json(indent=2) + "\n")

    def read_run(self) -> Run:
        path = self.path / "run.json"
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise UsageError(
                f"{path} cannot be read: {error}",
                "restore it from a copy, or measure again; trials.csv and profiles/ are unharmed",
            ) from error
        found = data.get("schema_version") if isinstance(data, dict) else None
        if found != SCHEMA_VERSION:
            raise UsageError(
                f"{path} has schema_version {found!r}; this mysqlprof reads {SCHEMA_VERSION}",
                "use the mysqlprof that wrote it, or measure again",
            )
        try:
            return Run.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise UsageError(
                f"{path} is not a valid run: {where}: {first['msg']}",
                "restore it from a copy, or measure again; trials.csv and profiles/ are unharmed",
            ) from error

    # --- trials.csv ---

    def write_trials(
        self, trials: Iterable[TrialResult], levels: dict[str, dict[str, str]]
    ) -> None:
        """One row a trial; `levels` maps cell ids to their factor levels."""
        rows = list(trials)
        factors = list(dict.fromkeys(f for cell in levels.values() for f in cell))
        counters = sorted({name for row in rows for name in row.status})
        metrics = sorted({name for row in rows for name in row.metrics})
        header = [
            *_TRIAL_COLUMNS,
            *(_LEVEL + f for f in factors),
            *(_STATUS + c for c in counters),
            *(_METRIC + m for m in metrics),
        ]
        table = [header]
        for row in rows:
            cell = levels[row.cell]
            plain = row.model_dump(exclude={"status", "metrics"})
            table.append(
                [
                    *(csvfile.text(plain[column]) for column in _TRIAL_COLUMNS),
                    *(cell.get(f, "") for f in factors),
                    *(str(row.status.get(c, "")) for c in counters),
                    *(csvfile.text(row.metrics.get(m)) for m in metrics),
                ]
            )
        csvfile.write(self.path / "trials.csv", table)

    def read_trials(self) -> list[TrialResult]:
        trials = []
        for row in csvfile.read(self.path / "trials.csv"):
            plain = {column: row.get(column) or None for column in _TRIAL_COLUMNS}
            groups = {"status": _prefixed(row, _STATUS), "metrics": _prefixed(row, _METRIC)}
            try:
                trials.append(TrialResult.model_validate(plain | groups))
            except ValidationError as error:
                raise UsageError(
                    f"{self.path / 'trials.csv'} has a broken row for cell {row.get('cell')!r}",
                    "restore it from a copy, or measure again",
                ) from error
        return trials

    # --- profiles ---

    def write_profile(self, info: ProfileInfo, stacks: FoldedStacks, svg: str | None) -> None:
        self._write(f"profiles/{info.cell}.folded", stacks.to_folded())
        self._write(f"profiles/{info.cell}.json", info.model_dump_json(indent=2) + "\n")
        if svg is not None:
            self._write(f"profiles/{info.cell}.svg", svg)

    def profiles(self) -> list[ProfileInfo]:
        """All stored profiles, in the order of their cells' names."""
        found = []
        for path in sorted((self.path / "profiles").glob("*.json")):
            try:
                found.append(ProfileInfo.model_validate_json(path.read_text(encoding="utf-8")))
            except (OSError, ValidationError) as error:
                raise UsageError(f"{path} cannot be read", "measure again") from error
        return found

    def read_stacks(self, cell: str) -> FoldedStacks:
        path = self.path / "profiles" / f"{cell}.folded"
        try:
            return FoldedStacks.parse(path.read_text(encoding="utf-8").splitlines())
        except (OSError, ValueError) as error:
            raise UsageError(f"{path} cannot be read: {error}", "measure again") from error

    def read_svg(self, cell: str) -> str | None:
        path = self.path / "profiles" / f"{cell}.svg"
        return path.read_text(encoding="utf-8") if path.is_file() else None

    # --- attribution.csv ---

    def write_attribution(self, rows: Iterable[AttributionRow]) -> None:
        self._write_rows("attribution.csv", AttributionRow, rows)

    # --- matrix.csv ---

    def write_matrix(self, rows: Iterable[MatrixRow]) -> None:
        """One row a driver, server and kind of prepare; what was not measured is empty."""
        self._write_rows("matrix.csv", MatrixRow, rows)

    # --- upgrade: comparison.csv, functions.csv, differential flame graphs ---

    def write_comparison(self, rows: Iterable[CellComparison]) -> None:
        """One row a cell; levels and findings as they are in run.json, in one field each."""
        self._write_rows("comparison.csv", CellComparison, rows)

    def write_functions(self, rows: Iterable[FunctionChange]) -> None:
        """One row a function and cell, CPU per unit of work on both servers."""
        self._write_rows("functions.csv", FunctionChange, rows)

    def write_difference(self, cell: str, which: str, svg: str) -> None:
        """`which` names the side whose shape it has: before or after."""
        self._write(f"profiles/{cell}.difference-{which}.svg", svg)

    def read_difference(self, cell: str, which: str) -> str | None:
        path = self.path / "profiles" / f"{cell}.difference-{which}.svg"
        return path.read_text(encoding="utf-8") if path.is_file() else None

    # --- wire.csv ---

    def write_wire(self, rows: Iterable[WireCommand]) -> None:
        """One row a command of the MySQL protocol, in captured executes."""
        self._write_rows("wire.csv", WireCommand, rows)

    def read_wire(self) -> list[WireCommand]:
        """Empty where nothing was captured."""
        path = self.path / "wire.csv"
        try:
            return [
                WireCommand.model_validate({key: value for key, value in row.items() if value})
                for row in csvfile.read(path)
            ]
        except ValidationError as error:
            raise UsageError(
                f"{path} has a broken row", "restore it from a copy, or measure again"
            ) from error

    # --- counters.csv, time off the CPU ---

    def write_counters(self, rows: Iterable[CounterRow]) -> None:
        """One row a counter and execute."""
        self._write_rows("counters.csv", CounterRow, rows)

    def read_counters(self) -> list[CounterRow]:
        path = self.path / "counters.csv"
        try:
            return [
                CounterRow.model_validate({k: v for k, v in row.items() if v})
                for row in csvfile.read(path)
            ]
        except ValidationError as error:
            raise UsageError(f"{path} has a broken row", "measure again") from error

    def write_off_cpu(self, cell: str, stacks: FoldedStacks, svg: str | None) -> None:
        """Microseconds by stack."""
        self._write(f"profiles/{cell}.offcpu.folded", stacks.to_folded())
        if svg is not None:
            self._write(f"profiles/{cell}.offcpu.svg", svg)

    def read_off_cpu_svg(self, cell: str) -> str | None:
        return self.read_svg(f"{cell}.offcpu")

    # --- what triggers it, how it scales, what helps ---

    def write_triggers(self, rows: Iterable[TriggerRow]) -> None:
        self._write_rows("triggers.csv", TriggerRow, rows)

    def write_scaling(self, scaling: Scaling) -> None:
        """A row a size of a sweep in scaling.csv, and an allocator in allocators.csv."""
        points = [point for series in scaling.series for point in series.points]
        self._write_rows("scaling.csv", SweepPoint, points)
        if scaling.allocators:
            self._write_rows("allocators.csv", AllocatorRow, scaling.allocators)

    def write_remedies(self, rows: Iterable[RemedyRow]) -> None:
        self._write_rows("remedies.csv", RemedyRow, rows)

    # --- runs within the run ---

    def part(self, name: str) -> Path:
        """Where a run that is part of this one's evidence belongs; it is not made yet."""
        return self.path / "evidence" / name

    # --- reports, logs, sums ---

    def write_report(self, name: str, text: str) -> Path:
        """`name` is report.html or report.md."""
        return self._write(name, text)

    def write_log(self, name: str, text: str) -> Path:
        """A server's words; the home directory of whoever ran it is nobody else's business."""
        return self._write(f"logs/{name}", text.replace(f"{Path.home()}/", "~/"))

    def write_sums(self) -> None:
        """SHA256SUMS over everything else, in the format of sha256sum(1)."""
        lines = []
        for path in sorted(self.path.rglob("*")):
            relative = path.relative_to(self.path).as_posix()
            if path.is_file() and relative != "SHA256SUMS" and not relative.endswith(".tmp"):
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                lines.append(f"{digest}  {relative}\n")
        self._write("SHA256SUMS", "".join(lines))

    # --- how files are written ---

    def _write(self, name: str, text: str) -> Path:
        path = self.path / name
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_text(text, encoding="utf-8", newline="\n")
        os.replace(temporary, path)
        return path

    def _write_rows(self, name: str, kind: type[Frozen], rows: Iterable[Frozen]) -> None:
        csvfile.write(self.path / name, csvfile.table_of(kind, rows))


def _prefixed(row: dict[str, str], prefix: str) -> dict[str, str]:
    """The filled cells whose columns have that prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in row.items() if k.startswith(prefix) and v}


def _looks_like_a_run(path: Path) -> bool:
    if not path.is_dir() or path.is_symlink():
        return False
    return (path / "run.json").exists() or (path / "trials.csv").exists() or not any(path.iterdir())
