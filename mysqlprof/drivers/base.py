"""The narrow interface between an experiment and a client driver."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from mysqlprof.model import Endpoint
from mysqlprof.workload import Statement

Options = Mapping[str, str | int | bool]


@dataclass(frozen=True)
class Execution:
    """One execute: from the driver's call to its return, parameters bound beforehand."""

    elapsed_ms: float
    affected_rows: int


class DriverFailed(Exception):
    """The driver reported an error; the text is the driver's own."""


class Session(Protocol):
    """One connection with one prepared statement, its values bound."""

    @property
    def prepare_ms(self) -> float: ...

    def execute(self) -> Execution:
        """Run the statement once. Raises DriverFailed."""
        ...


class Driver(Protocol):
    def describe(self) -> dict[str, str]:
        """Name, version and what runs it, for run.json."""
        ...

    def session(
        self, endpoint: Endpoint, statement: Statement, options: Options
    ) -> AbstractContextManager[Session]:
        """Connect, prepare and bind. `options["server_prepare"]` chooses who prepares.

        Raises DriverFailed.
        """
        ...
