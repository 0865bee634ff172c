"""What an experiment must know of the work that it drives, whatever kind it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mysqlprof.workloads.tasks import Task

Options = Mapping[str, str | int | bool]
"""A cell's options for the driver."""
BY_DEFAULT = "default"
"""The option `server_prepare` of cells that leave it to driver and pool who prepares."""


@dataclass(frozen=True)
class Check:
    """A query, and its single row when the work has arrived as it was sent."""

    query: str
    expected: Mapping[str, int]
    """Name -> value, in the order of the query's columns."""

    def failure(self, row: tuple[Any, ...]) -> str:
        """Empty when `row` is what was expected."""
        found = dict(zip(self.expected, map(int, row), strict=True))
        if found == self.expected:
            return ""
        return f"{_words(found)} arrived, expected {_words(self.expected)}"


class Workload(Protocol):
    """The work of a run: as much of it in each trial of each cell.

    Pure: the same specification and seed give the same work, for every driver.
    """

    def task(self, number: int) -> Task:
        """What the driver is given for the trial of that number on a server, counted from 0."""
        ...

    @property
    def unit(self) -> str:
        """What the work is counted in, in the singular: "execute", "transaction"."""
        ...

    @property
    def units(self) -> int:
        """How many of them a trial is."""
        ...

    @property
    def executes(self) -> int:
        """How often a trial has the driver execute its task; its time is their sum."""
        ...

    @property
    def setup(self) -> list[str]:
        """Statements that make the tables, and the data that trials find there."""
        ...

    @property
    def reset(self) -> list[str]:
        """Statements before each trial; none where trials leave things as they found them."""
        ...

    @property
    def arrival(self) -> Check | None:
        """What must be found after each trial; None where nothing is left behind."""
        ...

    @property
    def counters(self) -> tuple[str, ...]:
        """The server's status variables to be read around each trial."""
        ...

    def disagreement(
        self, options: Options, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> str:
        """How the server's counters contradict what the driver says it did; empty when they agree.

        `status` are the deltas of `counters` over a trial, `metrics` the driver's own figures.
        """
        ...

    def figures(
        self, elapsed_ms: float, status: Mapping[str, int], metrics: Mapping[str, float]
    ) -> dict[str, float]:
        """Further figures of a trial, per unit of work; they are stored with the driver's own, and
        in place of those of the same name."""
        ...

    def facts(self) -> dict[str, Any]:
        """Sizes and predictions, for run.json and the reports."""
        ...


def stored_facts(workload: Workload) -> dict[str, Any]:
    """`workload` of run.json: with the unit, so that a profile can be told per unit of work."""
    return {**workload.facts(), "unit": workload.unit, "units_per_trial": workload.units}


def misprepared(options: Options, status: Mapping[str, int], executes: int) -> str:
    """How the server's count of executes of prepared statements contradicts `server_prepare`.

    Empty when they agree, and for BY_DEFAULT: then the count is what is asked.
    """
    wanted = options.get("server_prepare", False)
    found = status.get("Com_stmt_execute")
    expected = executes if wanted else 0
    if wanted == BY_DEFAULT or found == expected:
        return ""
    return f"the server counted {found} COM_STMT_EXECUTE, expected {expected}"


def amount(workload: Workload, trials: int) -> str:
    """The work of so many trials: "3 executes", "1,500 transactions"."""
    number = trials * workload.units
    return f"{number:,} {workload.unit}{'' if number == 1 else 's'}"


def _words(values: Mapping[str, int]) -> str:
    return " and ".join(f"{name} {value}" for name, value in values.items())
