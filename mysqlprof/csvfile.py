"""CSV files as run directories hold them: written whole, without a cell that a spreadsheet runs."""

import csv
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from mysqlprof.frozen import Frozen

_NUMBER = re.compile(r"-[\d.]+(?:e[+-]?\d+)?").fullmatch


def write(path: Path, table: Iterable[Iterable[str]]) -> None:
    """Under a temporary name, then renamed: nobody meets half a file."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8", newline="") as file:
        dump(file, table)
    os.replace(temporary, path)


def dump(file: TextIO, table: Iterable[Iterable[str]]) -> None:
    csv.writer(file, lineterminator="\n").writerows(
        [_not_a_formula(value) for value in row] for row in table
    )


def table_of(kind: type[Frozen], rows: Iterable[Frozen]) -> list[list[str]]:
    """A column a field of the model, below a line of their names."""
    values = ([text(value) for value in row.model_dump().values()] for row in rows)
    return [list(kind.model_fields), *values]


def read(path: Path) -> list[dict[str, str]]:
    """No rows where there is no file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def text(value: object) -> str:
    """A cell's text; None is empty, parts of lists and mappings are set apart by "; "."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return "; ".join(f"{key}={text(part)}" for key, part in value.items())
    if isinstance(value, list):
        return "; ".join(map(text, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1000 else f"{value:.3f}"
    return str(value)


def _not_a_formula(value: str) -> str:
    """Spreadsheets run cells that begin so; a quote in front makes them text."""
    begins = value[:1]
    runs = begins in ("=", "+", "@", "\t", "\r", "\n") or (begins == "-" and not _NUMBER(value))
    return "'" + value if runs else value
