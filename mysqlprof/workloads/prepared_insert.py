"""One multi-row INSERT as one prepared statement: DDL, SQL, values, what must arrive, limits."""

import random
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from mysqlprof.errors import UsageError
from mysqlprof.workload_spec import PreparedInsertSpec
from mysqlprof.workloads.base import Check, Options, misprepared
from mysqlprof.workloads.statement_text import (
    MAX_PLACEHOLDERS,
    as_text,
    rendered_bytes,
    text_facts,
)
from mysqlprof.workloads.tasks import DATABASE, Kind, Statement, Value

TABLE = "orders"

MAX_ROW_BYTES = 65_535
"""Declared bytes of one row, over all columns."""
MAX_COLUMNS = 1_017
"""InnoDB's limit."""
_BYTES_PER_CHARACTER = 4
"""utf8mb4 declares four bytes for each character of a VARCHAR."""


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind
    sql_type: str
    declared_bytes: int


@dataclass(frozen=True)
class PreparedInsert:
    spec: PreparedInsertSpec
    columns: tuple[Column, ...]
    statement: Statement

    unit = "execute"
    counters = ("Com_stmt_execute", "Com_stmt_prepare", "Com_insert", "Innodb_rows_inserted")

    @property
    def units(self) -> int:
        return self.spec.executes

    @property
    def executes(self) -> int:
        return self.spec.executes

    def task(self, number: int) -> Statement:
        """The same in all trials: the table is emptied before each."""
        return self.statement

    @property
    def setup(self) -> list[str]:
        """Statements that make the empty table."""
        body = ", ".join(f"`{c.name}` {c.sql_type} NOT NULL" for c in self.columns)
        return [
            f"CREATE DATABASE IF NOT EXISTS {DATABASE} CHARACTER SET utf8mb4",
            f"DROP TABLE IF EXISTS {DATABASE}.{TABLE}",
            f"CREATE TABLE {DATABASE}.{TABLE} (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,"
            f" {body}) ENGINE=InnoDB CHARACTER SET utf8mb4",
        ]

    @property
    def reset(self) -> list[str]:
        return [f"TRUNCATE TABLE {DATABASE}.{TABLE}"]

    @property
    def arrival(self) -> Check:
        """Every value as it was sent."""
        names = ", ".join(f"`{c.name}`" for c in self.columns)
        rows = self.spec.executes * self.statement.rows
        checksum = sum(zlib.crc32("|".join(map(as_text, row)).encode()) for row in rows)
        return Check(
            f"SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS('|', {names}))), 0)"
            f" FROM {DATABASE}.{TABLE}",
            {"rows": len(rows), "checksum": checksum},
        )

    def disagreement(
        self, options: Options, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> str:
        """Who prepared is a studied factor."""
        return misprepared(options, status, self.spec.executes)

    def figures(
        self, elapsed_ms: float, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> dict[str, float]:
        return {}

    def facts(self) -> dict[str, Any]:
        return {
            "kind": self.spec.kind,
            "rows": self.spec.rows,
            "columns": self.spec.columns,
            "value_bytes": self.spec.value_bytes,
            **text_facts(self.statement),
        }


def make(spec: PreparedInsertSpec, seed: int, max_allowed_packet: int) -> PreparedInsert:
    """Check the limits, then generate columns, SQL and values."""
    columns = _columns(spec)
    _check_limits(spec, columns)
    generator = random.Random(seed)
    statement = Statement(
        sql=_insert(spec, columns),
        kinds=tuple(column.kind for column in columns),
        rows=tuple(
            tuple(_value(column.kind, spec.value_bytes, generator) for column in columns)
            for _ in range(spec.rows)
        ),
    )
    _check_packet(spec, statement, max_allowed_packet)
    return PreparedInsert(spec, columns, statement)


# A business table: keys, names and free text, amounts, times, states.
_PATTERN: tuple[tuple[str, Kind, str, int], ...] = (
    ("order_no", "long", "BIGINT", 8),
    ("customer", "text", "VARCHAR", 0),
    ("amount", "decimal", "DECIMAL(12,2)", 6),
    ("created_at", "datetime", "DATETIME", 8),
    ("address", "text", "VARCHAR", 0),
    ("quantity", "long", "INT", 4),
    ("sku", "text", "VARCHAR", 0),
    ("due_date", "date", "DATE", 3),
    ("note", "text", "VARCHAR", 0),
    ("state", "long", "TINYINT", 1),
    ("reference", "text", "VARCHAR", 0),
    ("remark", "text", "VARCHAR", 0),
)
_MAX_INTEGER = 120  # fits the narrowest integer column, so that one generator serves all
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ,.-"
_EPOCH = datetime(2020, 1, 1)


def _columns(spec: PreparedInsertSpec) -> tuple[Column, ...]:
    columns = []
    for index in range(spec.columns):
        name, kind, sql_type, declared = _PATTERN[index % len(_PATTERN)]
        if kind == "text":
            sql_type = f"VARCHAR({spec.value_bytes})"
            declared = spec.value_bytes * _BYTES_PER_CHARACTER + 2
        columns.append(Column(f"{name}_{index + 1}", kind, sql_type, declared))
    return tuple(columns)


def _insert(spec: PreparedInsertSpec, columns: tuple[Column, ...]) -> str:
    names = ",".join(column.name for column in columns)
    row = "(" + ",".join("?" * len(columns)) + ")"
    return f"INSERT INTO {TABLE} ({names}) VALUES " + ",".join([row] * spec.rows)


def _value(kind: Kind, value_bytes: int, generator: random.Random) -> Value:
    if kind == "long":
        return generator.randint(1, _MAX_INTEGER)
    if kind == "decimal":
        return Decimal(generator.randint(100, 99_999_999)).scaleb(-2)
    moment = _EPOCH + timedelta(seconds=generator.randint(0, 150_000_000))
    if kind == "datetime":
        return moment
    if kind == "date":
        return moment.date()
    # The last character is not a space: some comparisons and drivers trim those.
    return "".join(generator.choices(_ALPHABET, k=value_bytes - 1)) + "x"


def _check_limits(spec: PreparedInsertSpec, columns: tuple[Column, ...]) -> None:
    if spec.columns > MAX_COLUMNS:
        raise UsageError(
            f"{spec.columns} columns are more than InnoDB's {MAX_COLUMNS}",
            f"--columns {MAX_COLUMNS} is the largest that fits",
        )
    if spec.columns > MAX_PLACEHOLDERS // spec.rows:
        wanted = spec.rows * spec.columns
        raise UsageError(
            f"{spec.rows} rows x {spec.columns} columns = {wanted:,} placeholders;"
            f" the protocol carries {MAX_PLACEHOLDERS:,}",
            f"--rows {MAX_PLACEHOLDERS // spec.columns} is the largest that fits"
            f" {spec.columns} columns",
        )
    declared = sum(column.declared_bytes for column in columns) + 8
    if declared > MAX_ROW_BYTES:
        texts = sum(column.kind == "text" for column in columns)
        rest = sum(column.declared_bytes for column in columns if column.kind != "text") + 8
        largest = ((MAX_ROW_BYTES - rest) // texts - 2) // _BYTES_PER_CHARACTER
        raise UsageError(
            f"a row would declare {declared:,} bytes; MySQL allows {MAX_ROW_BYTES:,}",
            f"--value-bytes {largest} is the largest that fits {spec.columns} columns",
        )


def _check_packet(spec: PreparedInsertSpec, statement: Statement, max_allowed_packet: int) -> None:
    text = rendered_bytes(statement)
    if text <= max_allowed_packet:
        return
    per_row = text / spec.rows
    rows = int(max_allowed_packet // per_row)
    raise UsageError(
        f"the statement's text would be {text:,} bytes; max_allowed_packet is"
        f" {max_allowed_packet:,}",
        f"--rows {rows} is the largest that fits values of {spec.value_bytes} bytes",
    )
