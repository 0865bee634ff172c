"""CSV files as run directories hold them: written whole, without a cell that a spreadsheet runs."""

import csv
import os
from collections.abc import Iterable
from pathlib import Path


def write(path: Path, table: Iterable[Iterable[str]]) -> None:
    """Under a temporary name, then renamed: nobody meets half a file."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [_not_a_formula(value) for value in row] for row in table
        )
    os.replace(temporary, path)


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
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _not_a_formula(value: str) -> str:
    """Spreadsheets run cells that begin so; a quote in front makes them text."""
    return "'" + value if value[:1] in ("=", "+", "@", "\t", "\r") else value
