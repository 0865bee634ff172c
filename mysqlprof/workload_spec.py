"""The [workload] of a scenario, one type a kind; each says in words what it is.

The words are for the reports: they must be had from a stored run, without making the workload.
"""

from typing import Annotated, Literal, Self

from pydantic import Field

from mysqlprof.frozen import Frozen

_QUICK_VALUE_BYTES = 64
_QUICK_PARAMETERS = 20_000
_QUICK_EVENTS = 4
"""Divides the transactions, rows or connections of a trial."""

INSERT_WORD = "insert into words (word) values ('123')"
"""The original report's statement, to the letter."""


class PreparedInsertSpec(Frozen):
    """One multi-row INSERT as one prepared statement."""

    kind: Literal["prepared-insert"]
    rows: int = Field(gt=0)
    columns: int = Field(gt=0)
    value_bytes: int = Field(gt=0)
    """Bytes in each value of a text column."""
    executes: int = Field(default=1, gt=0)
    """Of the statement, in a trial; each sends the same rows."""

    @property
    def sentence(self) -> str:
        times = f", executed {self.executes:,} times" if self.executes > 1 else ""
        return (
            f"one multi-row prepared INSERT, {self.rows:,} rows × {self.columns:,} columns"
            f" = {self.rows * self.columns:,} parameters, {self.value_bytes:,}-byte text values"
            f"{times}"
        )

    @property
    def timed(self) -> str:
        """What a trial's elapsed time is the time of."""
        return "the execute alone, on the client's clock"

    def quick(self) -> Self:
        """A smaller one, for a first look."""
        return self.model_copy(update={"value_bytes": _QUICK_VALUE_BYTES})


class InListSpec(Frozen):
    """One SELECT with an IN list as one prepared statement, executed once a trial."""

    kind: Literal["in-list"]
    parameters: int = Field(gt=0)
    """Of the IN list."""
    table_rows: int = Field(gt=1)
    """Half of them are asked for."""
    padding: int = Field(default=0, ge=0)
    """Spaces after each comma of the list."""

    @property
    def sentence(self) -> str:
        spaces = f", {self.padding} spaces after each comma" if self.padding else ""
        return (
            f"one prepared SELECT with IN (?, ...) of {self.parameters:,} parameters{spaces},"
            f" over a table of {self.table_rows:,} rows"
        )

    @property
    def timed(self) -> str:
        return "the execute with the fetching of its rows, on the client's clock"

    def quick(self) -> Self:
        return self.model_copy(update={"parameters": min(self.parameters, _QUICK_PARAMETERS)})


SysbenchTest = Literal[
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_update_index",
    "oltp_update_non_index",
]
"""Those of sysbench's own tests that leave as many rows as they found."""


class SysbenchSpec(Frozen):
    """A test of sysbench, a fixed number of transactions a trial."""

    kind: Literal["sysbench"]
    test: SysbenchTest
    tables: int = Field(gt=0)
    table_rows: int = Field(gt=0)
    """Rows of each table."""
    threads: int = Field(gt=0)
    """Connections that work at the same time."""
    events: int = Field(gt=0)
    """Transactions of a trial, over all threads."""
    distribution: Literal["uniform", "gaussian", "special", "pareto"] = "uniform"
    """Which rows are asked for. sysbench 1.0's own default, "special", asks for 1 % of the rows in
    three of four cases, so that transactions meet and roll back."""

    @property
    def sentence(self) -> str:
        tables = f"{self.tables:,} tables of" if self.tables > 1 else "a table of"
        threads = f"{self.threads:,} threads" if self.threads > 1 else "one thread"
        return (
            f"sysbench {self.test}, {self.events:,} transactions a trial by {threads}"
            f" on {tables} {self.table_rows:,} rows"
        )

    @property
    def timed(self) -> str:
        return f"sysbench's run of {self.events:,} transactions, by its own clock"

    def quick(self) -> Self:
        return self.model_copy(update={"events": max(1, self.events // _QUICK_EVENTS)})


class RowInsertsSpec(Frozen):
    """INSERTs of one short row each, in a loop of the application's."""

    kind: Literal["row-inserts"]
    rows: int = Field(gt=0)
    """Of a trial."""

    @property
    def sentence(self) -> str:
        return f"{self.rows:,} rows a trial, inserted one by one: {INSERT_WORD}"

    @property
    def timed(self) -> str:
        return f"the loop over {self.rows:,} rows, on the client's clock, connected beforehand"

    def quick(self) -> Self:
        return self.model_copy(update={"rows": max(1, self.rows // _QUICK_EVENTS)})


class ConnectionsSpec(Frozen):
    """Fresh connections in a row: connect, log in, say goodbye."""

    kind: Literal["connections"]
    connections: int = Field(gt=1)
    """Of a trial."""

    @property
    def sentence(self) -> str:
        return (
            f"{self.connections:,} fresh connections a trial, one after the other: connect, log in,"
            " say goodbye, no statement"
        )

    @property
    def timed(self) -> str:
        return f"{self.connections:,} connections, each from its socket's making until it is closed"

    def quick(self) -> Self:
        return self.model_copy(update={"connections": max(2, self.connections // _QUICK_EVENTS)})


class NoWorkload(Frozen):
    """Nothing was driven: profiles that were imported. No scenario's file can ask for it."""

    kind: Literal["none"] = "none"

    @property
    def sentence(self) -> str:
        return "none of this run's own"

    @property
    def timed(self) -> str:
        return "nothing"

    def quick(self) -> Self:
        return self


WorkloadSpec = Annotated[
    PreparedInsertSpec | InListSpec | SysbenchSpec | RowInsertsSpec | ConnectionsSpec | NoWorkload,
    Field(discriminator="kind"),
]
