"""A run's tables as pandas DataFrames, for notebooks and for questions of your own.

>>> from mysqlprof import tables
>>> trials = tables.trials("runs/bug")
>>> trials[trials.kind == "timed"].groupby("cell").elapsed_ms.median()
"""

from os import PathLike
from pathlib import Path

import pandas as pd

from mysqlprof.errors import UsageError


def trials(run: str | PathLike[str]) -> pd.DataFrame:
    """One row a trial: cell, kind, elapsed_ms, prepare_ms, `level.*` factors, `status.*` deltas,
    `metric.*` figures of the driver's."""
    return _read(Path(run) / "trials.csv", text=("cell", "kind", "level."))


def attribution(run: str | PathLike[str]) -> pd.DataFrame:
    """One row a cell, category and function; `function` is empty in a category's own row."""
    return _read(Path(run) / "attribution.csv", text=("cell", "category", "function"))


def wire(run: str | PathLike[str]) -> pd.DataFrame:
    """One row a command of MySQL's protocol in the captured executes; docs/wire.md has the
    columns."""
    return _read(Path(run) / "wire.csv", text=("cell", "connection", "command", "status", "sql"))


def profile(run: str | PathLike[str], cell: str) -> pd.DataFrame:
    """One row a stack of that cell's profile: `stack` (root;...;leaf) and `samples`."""
    path = Path(run) / "profiles" / f"{cell}.folded"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "is it a run?") from error
    rows = [line.rpartition(" ") for line in lines]
    return pd.DataFrame(
        {"stack": [row[0] for row in rows], "samples": [int(row[2]) for row in rows]}
    )


def _read(path: Path, text: tuple[str, ...]) -> pd.DataFrame:
    """A CSV file whose columns that begin with one of `text` are strings ("on" is no boolean)."""
    try:
        header = pd.read_csv(path, nrows=0).columns
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "is it a run?") from error
    strings = {name: str for name in header if name.startswith(text)}
    return pd.read_csv(path, dtype=strings, keep_default_na=False, na_values=[""])
