"""The administrator's connection: readiness, settings, switches, counters. Never timed."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import pymysql
from pymysql.constants import CR, ER
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from mysqlprof.errors import ServerFailed
from mysqlprof.model import Endpoint

_CONNECT_TIMEOUT_S = 5
_READ_TIMEOUT_S = 120


class _NotYet(Exception):
    """The server does not answer yet."""


class Admin:
    """One PyMySQL connection with autocommit."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._connection: pymysql.Connection[Any] = pymysql.connect(
            host=endpoint.host,
            port=endpoint.port,
            unix_socket=endpoint.socket if endpoint.apart else None,
            user=endpoint.user,
            password=endpoint.password,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=_CONNECT_TIMEOUT_S,
            read_timeout=_READ_TIMEOUT_S,
        )

    @classmethod
    def wait(
        cls,
        endpoint: Endpoint,
        version_prefix: str,
        deadline_s: float,
        why_dead: Callable[[], str],
    ) -> "Admin":
        """Log in, ask `SELECT 1` and the version, until `deadline_s` has passed.

        By TCP, or where the server is apart, by its socket.
        A log line "ready for connections" proves nothing: a temporary server prints it too.
        `why_dead` is asked between attempts; a non-empty answer ends the wait.
        """

        def attempt() -> Admin:
            death = why_dead()
            if death:
                raise ServerFailed(f"mysqld ended before it was ready: {death}")
            try:
                admin = cls(endpoint)
                admin.query("SELECT 1")
            except (pymysql.MySQLError, OSError) as error:
                if is_login_refused(error):
                    raise ServerFailed(f"the server refused the login: {error.args[-1]}") from error
                raise _NotYet(str(error)) from error
            return admin

        retrying = Retrying(
            stop=stop_after_delay(deadline_s),
            wait=wait_fixed(0.05),
            retry=retry_if_exception_type(_NotYet),
            reraise=True,
        )
        try:
            admin = retrying(attempt)
        except _NotYet as error:
            raise ServerFailed(f"mysqld was not ready after {deadline_s:.0f} s: {error}") from error
        version = admin.version()
        if not version.startswith(version_prefix):
            admin.close()
            raise ServerFailed(f"the server is MySQL {version}, not {version_prefix}")
        return admin

    def query(self, sql: str, arguments: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, tuple(arguments) or None)
            return list(cursor.fetchall())

    def version(self) -> str:
        return str(self.query("SELECT VERSION()")[0][0])

    def variables(self) -> dict[str, str]:
        """All global system variables, as text."""
        return {str(k): str(v) for k, v in self.query("SHOW GLOBAL VARIABLES")}

    def set_global(self, name: str, value: str) -> None:
        """Set a dynamic system variable, and prove by reading it back that it took."""
        if not name.isidentifier():
            raise ValueError(f"{name!r} is not a variable's name")
        number: Any = int(value) if value.lstrip("-").isdigit() else value
        self.query(f"SET GLOBAL `{name}` = %s", [number])
        found = str(self.query(f"SELECT @@GLOBAL.`{name}`")[0][0])
        if _plain(found) != _plain(value):
            raise ServerFailed(f"{name} was set to {value} but reads {found}")

    def status(self, names: Iterable[str]) -> dict[str, int]:
        wanted = list(names)
        marks = ", ".join(["%s"] * len(wanted))
        rows = self.query(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({marks})", wanted)
        return {str(k): int(v) for k, v in rows}

    def create_user(self, user: str, password: str) -> None:
        """An account with all rights on this throw-away server, from any address."""
        identified = identified_by(self.version())
        self.query(f"CREATE USER %s@'%%' {identified} %s", [user, password])
        self.query("GRANT ALL PRIVILEGES ON *.* TO %s@'%%'", [user])

    def close(self) -> None:
        if self._connection.open:
            self._connection.close()


def identified_by(version: str) -> str:
    """What comes before the password where an account is made.

    Every driver since 4.1 can log in by mysql_native_password. It is the default, and cannot be
    written so, in 5.6; from 8.4 on it is off or gone.
    """
    release = tuple(int(part) for part in version.split(".")[:2])
    plugin = "WITH mysql_native_password " if (5, 7) <= release < (8, 4) else ""
    return f"IDENTIFIED {plugin}BY"


def is_login_refused(error: BaseException) -> bool:
    return isinstance(error, pymysql.OperationalError) and error.args[0] == ER.ACCESS_DENIED_ERROR


def is_connection_lost(error: BaseException) -> bool:
    """True for errors that mean: the server has gone, or cannot be reached."""
    if isinstance(error, pymysql.OperationalError):
        return error.args[0] in (
            CR.CR_SERVER_GONE_ERROR,
            CR.CR_SERVER_LOST,
            CR.CR_CONN_HOST_ERROR,
            CR.CR_CONNECTION_ERROR,
            ER.SERVER_SHUTDOWN,
        )
    return isinstance(error, pymysql.InterfaceError | OSError)


def _plain(value: str) -> str:
    """One writing for what the server may write otherwise: ON and 1, 10 and 10.000000."""
    word = {"on": "1", "off": "0"}.get(value.lower(), value.lower())
    return re.sub(r"^(-?\d+)\.0*$", r"\1", word)
