"""The narrow interface between an experiment and a client driver."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from mysqlprof.model import Endpoint
from mysqlprof.workloads.base import Options
from mysqlprof.workloads.tasks import Task


@dataclass(frozen=True)
class Execution:
    """A task done once: from the driver's call to its return, parameters bound beforehand."""

    elapsed_ms: float
    affected_rows: int | None = None
    """None where the driver does not say."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Further figures of the driver's, with their unit in the name: `latency_p95_ms`."""


class DriverFailed(Exception):
    """The driver reported an error; the text is the driver's own."""


class Refused(DriverFailed):
    """Driver and server cannot talk: no connection came about."""


class Session(Protocol):
    """One task, ready to be done: where it is a statement, prepared and its values bound."""

    @property
    def prepare_ms(self) -> float: ...

    def execute(self) -> Execution:
        """Do the task once. Raises DriverFailed."""
        ...


class Driver(Protocol):
    tasks: ClassVar[tuple[type[Task], ...]]
    """What it can do; it is given nothing else."""

    def describe(self) -> dict[str, str]:
        """Name, version and what runs it, for run.json."""
        ...

    def session(
        self, endpoint: Endpoint, task: Task, options: Options
    ) -> AbstractContextManager[Session]:
        """Ready the task: connect, prepare, bind. `options["server_prepare"]` chooses who prepares;
        Connector/J and what stands before it also take "default".

        Raises DriverFailed, and UsageError for an option that it does not have.
        """
        ...
