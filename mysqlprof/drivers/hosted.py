"""A driver in a host process: a small program in the driver's language, alive for the whole run.

So trials of many cells can be interleaved without starting a program for each. A host answers:

    OPEN session url login-file                          OK driver-name driver-version
    PREPARE session sql-file values-file server|client   OK nanoseconds
    LOOP session sql-file rows way                       OK tls-version cipher
    EXECUTE session                                      OK nanoseconds affected-rows [answer]
    CLOSE session                                        OK
    QUIT                                                 OK, and the end

and ERR class message when something goes wrong. A session is one connection. Times are of the
driver's call alone, on a monotonic clock: values are read and converted when PREPARE is answered.

The answer to a query is two fields, as `tasks.Query` has them: how many rows came, and their
checksum. Hosts of drivers without that task are given none.

The login file has two lines, user and password. The values file has one line of kinds (long, text,
decimal, datetime, date), then one line a row; datetimes carry no time zone and must arrive as they
are. The last field of PREPARE says who prepares, for hosts whose url does not.

LOOP readies, in place of PREPARE, one statement to be sent once for each row; only hosts of drivers
with the task RowLoop know it. The way is `each` (autocommit), `transaction` (one for all rows),
`batch` (one batch in one transaction) or `checkout` (before each row, what a connection pool asks
for: isolation level and autocommit). TLS version and cipher are those of the connection, empty
without TLS.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Self

import psutil

from mysqlprof import cache
from mysqlprof.drivers.base import DriverFailed, Execution, Refused
from mysqlprof.errors import UsageError
from mysqlprof.line_host import LineHost, line_host
from mysqlprof.model import Endpoint, Place
from mysqlprof.workdir import work_directory, write_private
from mysqlprof.workloads.base import Options
from mysqlprof.workloads.tasks import RowLoop, Statement, Task


class HostedDriver(ABC):
    """A context manager: the host process lives within it."""

    tasks: ClassVar[tuple[type[Task], ...]] = (Statement,)
    name: str
    version: str
    place: Place = Place()
    """Where on the network the host runs."""

    @abstractmethod
    def command(self) -> list[str]:
        """What starts the host, built and ready. Raises EnvironmentLacks."""

    @abstractmethod
    def runtime_version(self) -> str:
        """What runs the host, in its own words."""

    @abstractmethod
    def url(self, endpoint: Endpoint, options: Options) -> str:
        """Where to connect, as users of the driver write it; without the login."""

    def __enter__(self) -> Self:
        command = self.command()
        self._sessions = 0
        self._product: dict[str, str] = {}
        with ExitStack() as stack:
            self._files = StatementFiles(stack.enter_context(work_directory("driver")))
            host = line_host(command, DriverFailed, prefix=self.place.prefix)
            self._host = stack.enter_context(host)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def describe(self) -> dict[str, str]:
        return {
            "name": self.name,
            "version": self.version,
            "runtime": self._runtime,
            **self._product,
        }

    @cached_property
    def _runtime(self) -> str:
        return self.runtime_version()

    @contextmanager
    def session(
        self, endpoint: Endpoint, task: Task, options: Options
    ) -> Iterator["_HostedSession"]:
        assert isinstance(task, Statement | RowLoop)
        if endpoint.client.prefix != self.place.prefix:
            raise UsageError(
                f"the driver {self.name} runs on this host, and the server is on another",
                "leave `hosts` out of the scenario's file, or choose another driver",
            )
        self._sessions += 1
        name = f"s{self._sessions}"
        url, login = self.url(endpoint, options), self._files.login(endpoint)
        try:
            product, version = self._host.ask("OPEN", name, url, login)
        except DriverFailed as error:
            raise Refused(str(error)) from error
        self._product |= {"product": f"{product} {version}"}
        try:
            if isinstance(task, Statement):
                yield self._prepared(name, task, options)
            else:
                yield self._looping(name, task, options)
        finally:
            with suppress(DriverFailed):  # the server has gone: there is nothing left to close
                self._host.ask("CLOSE", name)

    def _prepared(self, name: str, task: Statement, options: Options) -> "_HostedSession":
        side = "server" if options.get("server_prepare", False) else "client"
        (nanoseconds,) = self._host.ask("PREPARE", name, *self._files.of(task), side)
        return _HostedSession(self._host, name, int(nanoseconds) / 1e6)

    def _looping(self, name: str, task: RowLoop, options: Options) -> "_LoopSession":
        sql = self._files.sql(task.sql)
        version, cipher = self._host.ask(
            "LOOP", name, sql, str(task.rows), str(options.get("way", "each"))
        )
        if version:
            seen = [known for known in self._product.get("TLS", "").split(", ") if known]
            self._product["TLS"] = ", ".join(dict.fromkeys([*seen, f"{version} {cipher}"]))
        return _LoopSession(self._host, name, float(version.removeprefix("TLSv") or 0))


class _HostedSession:
    def __init__(self, host: LineHost, name: str, prepare_ms: float) -> None:
        self._host = host
        self._name = name
        self.prepare_ms = prepare_ms

    def execute(self) -> Execution:
        nanoseconds, affected, *answer = self._host.ask("EXECUTE", self._name)
        if not answer:
            return Execution(int(nanoseconds) / 1e6, int(affected))
        names = ("answer_rows", "answer_checksum")
        figures = dict(zip(names, map(float, answer), strict=True))
        return Execution(int(nanoseconds) / 1e6, metrics=figures)


class _LoopSession(_HostedSession):
    """Tells the host's CPU time too, with its garbage collector and compiler."""

    def __init__(self, host: LineHost, name: str, tls_version: float) -> None:
        super().__init__(host, name, 0.0)
        self._tls_version = tls_version

    def execute(self) -> Execution:
        process = psutil.Process(self._host.pid)
        before = process.cpu_times()
        done = super().execute()
        after = process.cpu_times()
        cpu_s = after.user + after.system - before.user - before.system
        metrics = {"client_cpu_ms": cpu_s * 1e3, "tls_version": self._tls_version}
        return replace(done, metrics=metrics)


class StatementFiles:
    """SQL, values and login as files that a host reads: nothing secret on a command line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[int, tuple[Statement, tuple[str, str]]] = {}

    def of(self, statement: Statement) -> tuple[str, str]:
        """Paths of the SQL and of the values."""
        if id(statement) not in self._known:
            number = len(self._known)
            sql, values = self._folder / f"{number}.sql", self._folder / f"{number}.values"
            sql.write_text(statement.sql, encoding="utf-8")
            rows = ["\t".join(_plain(value) for value in row) for row in statement.rows]
            values.write_text("\n".join(["\t".join(statement.kinds), *rows]) + "\n", "utf-8")
            self._known[id(statement)] = (statement, (str(sql), str(values)))
        return self._known[id(statement)][1]

    def sql(self, text: str) -> str:
        """Path of a statement without parameters."""
        path = self._folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.sql"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def login(self, endpoint: Endpoint) -> str:
        """Path of a file that only its owner can read."""
        path = self._folder / f"{endpoint.host}-{endpoint.port}.login"
        write_private(path, f"{endpoint.user}\n{endpoint.password}\n")
        return str(path)


def _plain(value: object) -> str:
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def host_sources(language: str) -> dict[str, bytes]:
    """Name -> content of the files of a host, as they come with this package."""
    folder = files("mysqlprof.drivers") / language
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def built(language: str, built_by: str, build: Callable[[Path], None]) -> Path:
    """A cached directory with a host's sources and what `build` made beside them."""
    return cache.built(f"drivers/{language}", host_sources(language), built_by, build)
