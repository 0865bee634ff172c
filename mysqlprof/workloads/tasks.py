"""What a driver is given to do. A driver names the tasks that it can do (`drivers/base.py`)."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import ClassVar, Literal

from mysqlprof.workload_spec import SysbenchTest

DATABASE = "mysqlprof"
"""All work is done in it."""

Kind = Literal["long", "text", "decimal", "datetime", "date"]
Value = int | str | Decimal | datetime | date


@dataclass(frozen=True)
class Statement:
    """A prepared statement with `?` marks, and the values of its parameters, row by row."""

    what: ClassVar[str] = "one prepared statement"

    sql: str
    kinds: tuple[Kind, ...]
    """Of one row; the parameters are these, once for each row."""
    rows: tuple[tuple[Value, ...], ...]

    @property
    def parameters(self) -> list[Value]:
        return [value for row in self.rows for value in row]


@dataclass(frozen=True)
class Query(Statement):
    """A prepared SELECT, all of whose rows are fetched within the execute.

    The driver tells of them `answer_rows`, and `answer_checksum`: the sum of the CRC-32 of each
    row, its columns as text with `|` between them.
    """

    what: ClassVar[str] = "one prepared query"


@dataclass(frozen=True)
class SysbenchRun:
    """A test of sysbench, run to a number of transactions."""

    what: ClassVar[str] = "a test of sysbench"

    test: SysbenchTest
    tables: int
    table_rows: int
    threads: int
    events: int
    distribution: str
    seed: int
    """1 to 2^31 - 1; what the transactions ask for and write is drawn from it."""


@dataclass(frozen=True)
class RowLoop:
    """One statement, sent once for each row by the application's loop."""

    what: ClassVar[str] = "a loop of single-row inserts"

    sql: str
    rows: int


@dataclass(frozen=True)
class Logins:
    """Connections to be made and left, one after the other."""

    what: ClassVar[str] = "a row of fresh connections"

    connections: int


Task = Statement | Query | SysbenchRun | RowLoop | Logins
