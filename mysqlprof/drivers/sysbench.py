"""sysbench 1.0: a process for each trial, told a number of transactions and no time.

The login is in a file that only its owner can read, given by --config-file. sysbench reads its
general and its database options there, but not those of a test: they must be arguments.

For TLS it wants three files of fixed names in its working directory. Its library does not look
whether the server's certificate is one to be trusted.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from mysqlprof.children import end_with_parent
from mysqlprof.drivers.base import DriverFailed, Execution
from mysqlprof.errors import UsageError
from mysqlprof.formats import sysbench_report
from mysqlprof.model import Endpoint
from mysqlprof.packages import first_line, require
from mysqlprof.workdir import work_directory, write_private
from mysqlprof.workloads.base import Options
from mysqlprof.workloads.tasks import DATABASE, SysbenchRun, Task

_INSTALL = "sudo apt-get install -y --no-install-recommends sysbench"
_TIMEOUT_S = 600.0


class SysbenchDriver:
    """A context manager: the files that sysbench is given live within it."""

    tasks: ClassVar[tuple[type[Task], ...]] = (SysbenchRun,)

    def __enter__(self) -> Self:
        self._program = require("sysbench", _INSTALL)
        with ExitStack() as stack:
            self._folder = stack.enter_context(work_directory("driver"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def describe(self) -> dict[str, str]:
        words = first_line([self._program, "--version"])
        return {"name": "sysbench", "version": words.removeprefix("sysbench ")}

    @contextmanager
    def session(
        self, endpoint: Endpoint, task: Task, options: Options
    ) -> Iterator["_SysbenchSession"]:
        assert isinstance(task, SysbenchRun)
        if options.get("tls", False) and not endpoint.client_key:
            raise UsageError(
                "sysbench speaks TLS only with certificates, and this server was given none",
                "name a `certificate` in the scenario's file",
            )
        yield _SysbenchSession(self, endpoint, arguments(task, options))

    def run(self, endpoint: Endpoint, arguments: list[str]) -> str:
        """sysbench's words on stdout. Raises DriverFailed."""
        login = self._folder / f"{endpoint.host}-{endpoint.port}.cnf"
        write_private(login, login_file(endpoint))
        command = [self._program, f"--config-file={login}", *arguments, "run"]
        try:
            done = subprocess.run(
                [*endpoint.client.prefix, *command],
                cwd=self._certificates(endpoint),
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=_TIMEOUT_S,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is the orchestrator's to handle
                preexec_fn=end_with_parent,
            )
        except subprocess.TimeoutExpired:
            raise DriverFailed(f"sysbench did not end in {_TIMEOUT_S:g} s") from None
        if done.returncode != 0:
            words = sysbench_report.fatal_errors(done.stdout) or done.stderr.strip()
            raise DriverFailed(f"sysbench failed: {words or done.returncode}")
        return done.stdout

    def _certificates(self, endpoint: Endpoint) -> Path:
        """The working directory: what TLS takes, by the names that sysbench looks for."""
        folder = self._folder / f"{endpoint.host}-{endpoint.port}"
        folder.mkdir(mode=0o700, exist_ok=True)
        for name, file in (
            ("cacert.pem", endpoint.authority),
            ("client-cert.pem", endpoint.client_certificate),
            ("client-key.pem", endpoint.client_key),
        ):
            if file:
                shutil.copy(file, folder / name)
        return folder


@dataclass(frozen=True)
class _SysbenchSession:
    """There is nothing to ready: sysbench connects and prepares by itself, before its own clock
    starts."""

    driver: SysbenchDriver
    endpoint: Endpoint
    arguments: list[str]
    prepare_ms = 0.0

    def execute(self) -> Execution:
        words = self.driver.run(self.endpoint, self.arguments)
        try:
            report = sysbench_report.parse(words)
        except ValueError as error:
            raise DriverFailed(str(error)) from error
        return Execution(report.elapsed_ms, metrics=report.metrics)


def arguments(task: SysbenchRun, options: Options) -> list[str]:
    """The test and its options. A cell's options: `server_prepare`, which is sysbench's own
    default, `threads`, `compression` and `tls`, off unless they are named. Raises UsageError for
    other options."""
    unknown = set(options) - {"server_prepare", "threads", "compression", "tls"}
    if unknown:
        raise UsageError(
            f"the driver sysbench has no option {', '.join(sorted(unknown))}",
            "it has server_prepare, threads, compression and tls",
        )
    values = {
        "tables": task.tables,
        "table-size": task.table_rows,
        "threads": options.get("threads", task.threads),
        "events": task.events,
        "time": 0,
        "rand-type": task.distribution,
        "rand-seed": task.seed,
        "db-ps-mode": "auto" if options.get("server_prepare", True) else "disable",
        "mysql-compression": "on" if options.get("compression", False) else "off",
        "mysql-ssl": "on" if options.get("tls", False) else "off",
        "percentile": 95,
    }
    return [task.test, *(f"--{name}={value}" for name, value in values.items())]


def login_file(endpoint: Endpoint) -> str:
    return (
        f"mysql-host={endpoint.host}\n"
        f"mysql-port={endpoint.port}\n"
        f"mysql-user={endpoint.user}\n"
        f"mysql-password={endpoint.password}\n"
        f"mysql-db={DATABASE}\n"
    )
