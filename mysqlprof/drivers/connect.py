"""The client of `topologies.storm` as a driver: it connects, logs in, says goodbye, and no more.

A program for each trial, started where the endpoint is reached from. Options of a cell: `tls`
(TLSv1.2, TLSv1.3), `resume` (offer the TLS session of the connection before), `by_socket`.
"""

import platform
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Self

from mysqlprof.drivers.base import DriverFailed, Execution, Refused
from mysqlprof.errors import ServerFailed, UsageError
from mysqlprof.model import Endpoint
from mysqlprof.topologies.connect import Answer, Tls
from mysqlprof.topologies.storm import storm
from mysqlprof.workloads.base import Options
from mysqlprof.workloads.tasks import Logins, Task

_OPTIONS = {"tls", "resume", "by_socket"}


class ConnectDriver:
    tasks: ClassVar[tuple[type[Task], ...]] = (Logins,)

    def __enter__(self) -> Self:
        self._channels: dict[str, None] = {}
        self._known: set[tuple[object, ...]] = set()
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def describe(self) -> dict[str, str]:
        return {
            "name": "mysqlprof.topologies.connect",
            "runtime": f"Python {platform.python_version()}, {ssl.OPENSSL_VERSION}",
            **({"TLS": ", ".join(self._channels)} if self._channels else {}),
        }

    @contextmanager
    def session(
        self, endpoint: Endpoint, task: Task, options: Options
    ) -> Iterator["_ConnectSession"]:
        """Before the first of its kind one connection is made: whether the pair can talk is told
        here."""
        assert isinstance(task, Logins)
        session = _ConnectSession(self, endpoint, task, options)
        kind = (endpoint, *sorted(options.items()))
        if kind not in self._known:
            try:
                session.connect(1)
            except DriverFailed as error:
                raise Refused(str(error)) from error
            self._known.add(kind)
        yield session

    def note(self, answer: Answer) -> None:
        if answer.tls_version:
            self._channels[f"{answer.tls_version} {answer.cipher}"] = None


@dataclass(frozen=True)
class _ConnectSession:
    driver: ConnectDriver
    endpoint: Endpoint
    task: Logins
    options: Options
    prepare_ms = 0.0

    def execute(self) -> Execution:
        answer = self.connect(self.task.connections)
        self.driver.note(answer)
        steps = {f"{name}_ms": spent / 1e6 for name, spent in answer.steps_ns.items()}
        cpu_s = answer.cpu_user_s + answer.cpu_system_s
        return Execution(
            sum(answer.elapsed_ns) / 1e6,
            metrics={**steps, "client_cpu_ms": cpu_s * 1e3, "resumed": float(answer.resumed)},
        )

    def connect(self, connections: int) -> Answer:
        unknown = set(self.options) - _OPTIONS
        if unknown:
            raise UsageError(
                f"the driver connect has no option {', '.join(sorted(unknown))}",
                f"it has {', '.join(sorted(_OPTIONS))}",
            )
        try:
            return storm(
                self.endpoint,
                connections,
                place=self.endpoint.client,
                tls=tls_of(self.endpoint, self.options),
                by_socket=bool(self.options.get("by_socket", False)),
            )
        except ServerFailed as error:
            raise DriverFailed(": ".join(filter(None, (error.message, error.hint)))) from error


def tls_of(endpoint: Endpoint, options: Options) -> Tls | None:
    """Of a cell; None where it speaks none."""
    version = str(options.get("tls", ""))
    if not version:
        return None
    resume = bool(options.get("resume", False))
    return Tls(version.replace(".", "_"), endpoint.authority, resume)
