"""mysql-connector-python, the pure Python implementation, in this process."""

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import Any, ClassVar

import mysql.connector
from mysql.connector.connection import MySQLConnection

from mysqlprof.drivers.base import DriverFailed, Execution, Session
from mysqlprof.model import Endpoint
from mysqlprof.workloads.base import Options
from mysqlprof.workloads.tasks import DATABASE, Statement, Task


class ConnectorPython:
    tasks: ClassVar[tuple[type[Task], ...]] = (Statement,)

    def __enter__(self) -> "ConnectorPython":
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def describe(self) -> dict[str, str]:
        return {
            "name": "mysql-connector-python",
            "version": mysql.connector.__version__,
            "runtime": f"Python {platform.python_version()}",
        }

    @contextmanager
    def session(self, endpoint: Endpoint, task: Task, options: Options) -> Iterator[Session]:
        assert isinstance(task, Statement)
        with _failures():
            connection = MySQLConnection(
                host=endpoint.host,
                port=endpoint.port,
                user=endpoint.user,
                password=endpoint.password,
                database=DATABASE,
                autocommit=True,
                ssl_disabled=True,
            )
        try:
            session: Session
            with _failures():
                if options.get("server_prepare", False):
                    session = _ServerPrepared(connection, task)
                else:
                    session = _ClientPrepared(connection, task)
            yield session
        finally:
            connection.disconnect()


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except (mysql.connector.Error, OSError) as error:
        raise DriverFailed(str(error)) from error


class _ServerPrepared:
    """COM_STMT_PREPARE and COM_STMT_EXECUTE through the connection's own calls.

    The prepared cursor sends both from its first execute(), which leaves nothing to time apart.
    """

    def __init__(self, connection: MySQLConnection, statement: Statement) -> None:
        self._connection = connection
        self._values: tuple[Any, ...] = tuple(statement.parameters)
        start = time.perf_counter()
        self._prepared: Any = connection.cmd_stmt_prepare(statement.sql.encode())
        self.prepare_ms = (time.perf_counter() - start) * 1e3

    def execute(self) -> Execution:
        with _failures():
            start = time.perf_counter()
            result: Any = self._connection.cmd_stmt_execute(
                self._prepared["statement_id"],
                data=self._values,
                parameters=self._prepared["parameters"],
            )
            elapsed_ms = (time.perf_counter() - start) * 1e3
        return Execution(elapsed_ms, int(result["affected_rows"]))


class _ClientPrepared:
    """The ordinary cursor: values are written into the text here, and sent as COM_QUERY."""

    def __init__(self, connection: MySQLConnection, statement: Statement) -> None:
        self._cursor = connection.cursor()
        self._sql = statement.sql.replace("?", "%s")
        self._values: list[int | str | Decimal | datetime | date] = statement.parameters
        self.prepare_ms = 0.0

    def execute(self) -> Execution:
        with _failures():
            start = time.perf_counter()
            self._cursor.execute(self._sql, self._values)
            elapsed_ms = (time.perf_counter() - start) * 1e3
        return Execution(elapsed_ms, self._cursor.rowcount)
