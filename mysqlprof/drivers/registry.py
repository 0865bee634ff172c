"""The drivers by the names that the command line takes."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from mysqlprof.drivers.base import Driver
from mysqlprof.drivers.connector_j import DEFAULT_VERSION, ConnectorJ
from mysqlprof.drivers.go import GoSqlDriver
from mysqlprof.drivers.node import Mysql2
from mysqlprof.drivers.python import ConnectorPython
from mysqlprof.errors import UsageError

_ONE_VERSION: dict[str, Callable[[], AbstractContextManager[Driver]]] = {
    "python": ConnectorPython,
    "go": GoSqlDriver,
    "node": Mysql2,
}


def full_name(text: str) -> str:
    """With its version where a driver has several: `connector-j` is its default version."""
    return f"connector-j:{DEFAULT_VERSION}" if text == "connector-j" else text


def open_driver(text: str) -> AbstractContextManager[Driver]:
    """`name` or `connector-j:version`. What the driver needs is looked for when it is entered.

    Raises UsageError for a name or a version that there is not.
    """
    name, _, version = text.partition(":")
    if name == "connector-j":
        return ConnectorJ(version or DEFAULT_VERSION)
    if name not in _ONE_VERSION:
        raise UsageError(
            f"there is no driver {name!r}",
            f"choose one of connector-j, connector-j:VERSION, {', '.join(_ONE_VERSION)}",
        )
    if version:
        raise UsageError(f"the driver {name} has one version here", f"write {name}")
    return _ONE_VERSION[name]()
