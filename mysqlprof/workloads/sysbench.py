"""A test of sysbench: what it is told, and what the server must have counted of it."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mysqlprof.workload_spec import SysbenchSpec
from mysqlprof.workloads.base import Check, Options
from mysqlprof.workloads.tasks import DATABASE, SysbenchRun

_SEEDS = 2**31 - 1
_BATCH = 1000
"""Rows of one INSERT: about 200 kB of text."""
_SAME = (
    (("queries_read",), ("Com_select",)),
    (
        ("queries_write", "queries_other"),
        ("Com_insert", "Com_update", "Com_delete", "Com_begin", "Com_commit"),
    ),
)
"""What sysbench counts, and the server's counters of the same statements. (sysbench counts a
statement that changed no row among the others.)"""


@dataclass(frozen=True)
class Sysbench:
    spec: SysbenchSpec
    seed: int

    unit = "transaction"
    executes = 1
    counters = (
        *(name for _, names in _SAME for name in names),
        "Com_stmt_execute",
        "Ssl_finished_accepts",
    )

    @property
    def _tables(self) -> list[str]:
        return [f"sbtest{number}" for number in range(1, self.spec.tables + 1)]

    @property
    def units(self) -> int:
        return self.spec.events

    def task(self, number: int) -> SysbenchRun:
        """Each trial draws anew: an update that writes what is there already would be no work."""
        settings = self.spec.model_dump(exclude={"kind"})
        # The seed 0 would mean the time of day.
        return SysbenchRun(**settings, seed=(self.seed + number) % _SEEDS + 1)

    @property
    def setup(self) -> list[str]:
        """The tables as `sysbench prepare` makes them, but from the seed: sysbench 1.0 draws other
        rows each time, whatever its --rand-seed, and every server is to have the same.

        The collation is named, as an upgrade leaves that of tables that are there: by default 5.7
        and 8.0 would choose different ones.
        """
        statements = [
            f"DROP DATABASE IF EXISTS {DATABASE}",
            f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        ]
        generator = random.Random(self.seed)
        for table in self._tables:
            number = table.removeprefix("sbtest")
            statements += [
                f"CREATE TABLE {DATABASE}.{table} (id INTEGER NOT NULL AUTO_INCREMENT,"
                " k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL,"
                " pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) ENGINE=InnoDB",
                *self._inserts(table, generator),
                f"CREATE INDEX k_{number} ON {DATABASE}.{table} (k)",
            ]
        return statements

    def _inserts(self, table: str, generator: random.Random) -> Iterator[str]:
        size = self.spec.table_rows
        for first in range(1, size + 1, _BATCH):
            rows = (
                f"({row},{generator.randint(1, size)},"
                f"'{_digits(generator, 10)}','{_digits(generator, 5)}')"
                for row in range(first, min(first + _BATCH, size + 1))
            )
            yield f"INSERT INTO {DATABASE}.{table} (id, k, c, pad) VALUES {','.join(rows)}"

    @property
    def reset(self) -> list[str]:
        """None: a transaction that deletes a row inserts one."""
        return []

    @property
    def arrival(self) -> Check:
        counts = ", ".join(f"(SELECT COUNT(*) FROM {DATABASE}.{name})" for name in self._tables)
        rows = {f"rows of {name}": self.spec.table_rows for name in self._tables}
        return Check(f"SELECT {counts}", rows)

    def disagreement(
        self, options: Options, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> str:
        if metrics["transactions"] != self.spec.events:
            return f"{metrics['transactions']:.0f} transactions, expected {self.spec.events}"
        if metrics["reconnects"]:
            return f"{metrics['reconnects']:.0f} connections were lost and made again"
        on_server = bool(options.get("server_prepare", True))
        if (status["Com_stmt_execute"] > 0) != on_server:
            side = "the server" if on_server else "the client"
            return f"{side} was to prepare, and {status['Com_stmt_execute']} COM_STMT_EXECUTE came"
        if (status["Ssl_finished_accepts"] > 0) != bool(options.get("tls", False)):
            return f"the server counted {status['Ssl_finished_accepts']} TLS handshakes"
        for names, counters in _SAME:
            said = sum(metrics[name] for name in names)
            found = sum(status[counter] for counter in counters)
            # A statement whose error is answered by a new transaction was counted by the server
            # alone.
            if not 0 <= found - said <= metrics["ignored_errors"]:
                theirs, ours = " + ".join(names), " + ".join(counters)
                return f"sysbench counted {said:.0f} {theirs}, the server {found} {ours}"
        return ""

    def figures(
        self, elapsed_ms: float, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> dict[str, float]:
        return {}

    def facts(self) -> dict[str, Any]:
        return self.spec.model_dump()


def _digits(generator: random.Random, groups: int) -> str:
    """sysbench's texts: groups of eleven digits."""
    return "-".join(f"{generator.randrange(10**11):011d}" for _ in range(groups))
