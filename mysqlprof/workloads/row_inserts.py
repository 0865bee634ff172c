"""Single-row INSERTs in a loop: the round trip is the work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mysqlprof.workload_spec import INSERT_WORD, RowInsertsSpec
from mysqlprof.workloads.base import Check, Options
from mysqlprof.workloads.tasks import DATABASE, RowLoop

_TABLE = f"{DATABASE}.words"
_OUR_OWN = 1
"""Questions that the second reading of the counters adds to itself."""


@dataclass(frozen=True)
class RowInserts:
    spec: RowInsertsSpec

    unit = "row"
    executes = 1
    counters = ("Questions", "Com_insert", "Com_commit", "Com_set_option", "Com_select")

    @property
    def units(self) -> int:
        return self.spec.rows

    def task(self, number: int) -> RowLoop:
        """The same in all trials: the table is emptied before each."""
        return RowLoop(INSERT_WORD, self.spec.rows)

    @property
    def setup(self) -> list[str]:
        return [
            f"CREATE DATABASE IF NOT EXISTS {DATABASE} CHARACTER SET utf8mb4",
            f"DROP TABLE IF EXISTS {_TABLE}",
            f"CREATE TABLE {_TABLE} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,"
            " word VARCHAR(64) NOT NULL) ENGINE=InnoDB CHARACTER SET utf8mb4",
        ]

    @property
    def reset(self) -> list[str]:
        return [f"TRUNCATE TABLE {_TABLE}"]

    @property
    def arrival(self) -> Check:
        rows = self.spec.rows
        return Check(
            f"SELECT COUNT(*), COALESCE(SUM(word = '123'), 0) FROM {_TABLE}",
            {"rows": rows, "rows as they were sent": rows},
        )

    def disagreement(
        self, options: Options, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> str:
        """TLS is a studied factor, and so are the round trips."""
        wanted = str(options.get("tls", "off")).removeprefix("TLSv")
        found = metrics["tls_version"]
        if wanted == "off" and found:
            return f"TLS {found:g} was to be off"
        if wanted not in ("off", "default") and found != float(wanted):
            return f"TLS {wanted} was asked for, and {found:g} was spoken"
        inserts, rows = status["Com_insert"], self.spec.rows
        if inserts != rows and not options.get("rewritten"):
            return f"the server counted {inserts} INSERTs, expected {rows}"
        return ""

    def figures(
        self, elapsed_ms: float, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> dict[str, float]:
        rows = self.spec.rows
        figures = {
            "row_ms": elapsed_ms / rows,
            "round_trips_per_row": (status["Questions"] - _OUR_OWN) / rows,
            "client_cpu_ms": metrics["client_cpu_ms"] / rows,
        }
        if "cpu_ms" in status:
            figures["server_cpu_ms"] = status["cpu_ms"] / rows
        return figures

    def facts(self) -> dict[str, Any]:
        return {**self.spec.model_dump(), "statement": INSERT_WORD}
