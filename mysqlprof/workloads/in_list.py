"""One SELECT whose IN list has very many parameters: DDL, rows, SQL, values, the answer, limits."""

import random
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mysqlprof.errors import UsageError
from mysqlprof.workload_spec import InListSpec
from mysqlprof.workloads.base import Check, Options, misprepared
from mysqlprof.workloads.statement_text import MAX_PLACEHOLDERS, rendered_bytes, text_facts
from mysqlprof.workloads.tasks import DATABASE, Query

TABLE = "items"

_CODES = range(1_000_000_000, 10_000_000_000)
"""Ten digits each, so that every parameter is as long as the next."""
_BATCH = 1000
"""Rows of one INSERT of the set-up."""


@dataclass(frozen=True)
class InList:
    """Half of the table's rows are asked for, and as many codes besides as the list has room for.

    The column has no index: the list is sorted once and each row looked up in it, whatever
    the optimizer of a version thinks of so many ranges.
    """

    spec: InListSpec
    codes: tuple[int, ...]
    """Of the table's rows, in the order of their ids, which count from 1."""
    query: Query

    unit = "execute"
    units = 1
    executes = 1
    counters = ("Com_stmt_execute", "Com_stmt_prepare", "Com_select", "Innodb_rows_read")

    def task(self, number: int) -> Query:
        return self.query

    @property
    def setup(self) -> list[str]:
        rows = [f"({number},{code})" for number, code in enumerate(self.codes, start=1)]
        batches = [rows[first : first + _BATCH] for first in range(0, len(rows), _BATCH)]
        return [
            f"CREATE DATABASE IF NOT EXISTS {DATABASE} CHARACTER SET utf8mb4",
            f"DROP TABLE IF EXISTS {DATABASE}.{TABLE}",
            f"CREATE TABLE {DATABASE}.{TABLE} (id BIGINT NOT NULL PRIMARY KEY,"
            " code BIGINT NOT NULL) ENGINE=InnoDB",
            *(f"INSERT INTO {DATABASE}.{TABLE} VALUES {','.join(batch)}" for batch in batches),
        ]

    @property
    def reset(self) -> list[str]:
        """None: nothing is written."""
        return []

    @property
    def arrival(self) -> None:
        """Nothing is left behind: `disagreement` looks at the answer."""

    def disagreement(
        self, options: Options, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> str:
        """The answer must be the rows that were asked for; who prepared is a studied factor."""
        answer = (metrics["answer_rows"], metrics["answer_checksum"])
        return misprepared(options, status, self.executes) or self._answer.failure(answer)

    def figures(
        self, elapsed_ms: float, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> dict[str, float]:
        return {}

    @cached_property
    def _answer(self) -> Check:
        asked = set(self.query.parameters)
        found = [row for row in enumerate(self.codes, start=1) if row[1] in asked]
        checksum = sum(zlib.crc32(f"{number}|{code}".encode()) for number, code in found)
        return Check(self.query.sql, {"rows": len(found), "checksum": checksum})

    def facts(self) -> dict[str, Any]:
        return {
            **self.spec.model_dump(),
            "answer_rows": self._answer.expected["rows"],
            **text_facts(self.query),
        }


def make(spec: InListSpec, seed: int, max_allowed_packet: int) -> InList:
    """Check the limits, then generate rows, SQL and values."""
    if spec.parameters > MAX_PLACEHOLDERS:
        raise UsageError(
            f"{spec.parameters:,} placeholders; the protocol carries {MAX_PLACEHOLDERS:,}",
            f"parameters = {MAX_PLACEHOLDERS} is the most",
        )
    if spec.parameters < spec.table_rows // 2:
        raise UsageError(
            f"half of {spec.table_rows:,} rows are asked for, with {spec.parameters:,} parameters",
            f"table_rows = {2 * spec.parameters} is the most",
        )
    generator = random.Random(seed)
    present = spec.table_rows // 2
    drawn = generator.sample(_CODES, k=spec.table_rows + spec.parameters - present)
    codes, absent = drawn[: spec.table_rows], drawn[spec.table_rows :]
    values = generator.sample([*codes[:present], *absent], k=spec.parameters)
    generator.shuffle(codes)
    query = Query(sql=_select(spec), kinds=("long",), rows=tuple((value,) for value in values))
    text = rendered_bytes(query)
    if text > max_allowed_packet:
        raise UsageError(
            f"the statement's text would be {text:,} bytes; max_allowed_packet is"
            f" {max_allowed_packet:,}",
            "ask for less padding, or for fewer parameters",
        )
    return InList(spec, tuple(codes), query)


def _select(spec: InListSpec) -> str:
    """With the spaces of a pretty-printer after each comma."""
    marks = ("," + " " * spec.padding).join("?" * spec.parameters)
    return f"SELECT id, code FROM {TABLE} WHERE code IN ({marks})"
