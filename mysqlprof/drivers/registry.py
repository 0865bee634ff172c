"""The drivers by the names that the command line takes."""

from contextlib import AbstractContextManager

from mysqlprof.drivers.base import Driver
from mysqlprof.drivers.connect import ConnectDriver
from mysqlprof.drivers.connector_j import DEFAULT_VERSION, ConnectorJ
from mysqlprof.drivers.go import GoSqlDriver
from mysqlprof.drivers.hosted import HostedDriver
from mysqlprof.drivers.node import Mysql2
from mysqlprof.drivers.python import ConnectorPython
from mysqlprof.drivers.sharding_jdbc import ShardingJdbc
from mysqlprof.drivers.sysbench import SysbenchDriver
from mysqlprof.errors import UsageError
from mysqlprof.workloads.tasks import Task

_MANY_VERSIONS = {"connector-j": ConnectorJ}
_OneVersion = (
    type[HostedDriver] | type[ConnectorPython] | type[SysbenchDriver] | type[ConnectDriver]
)
_ONE_VERSION: dict[str, _OneVersion] = {
    "python": ConnectorPython,
    "go": GoSqlDriver,
    "node": Mysql2,
    "sharding-jdbc": ShardingJdbc,
    "sysbench": SysbenchDriver,
    "connect": ConnectDriver,
}


def full_name(text: str) -> str:
    """With its version where a driver has several: `connector-j` is its default version."""
    return f"connector-j:{DEFAULT_VERSION}" if text == "connector-j" else text


def open_driver(text: str) -> AbstractContextManager[Driver]:
    """`name` or `connector-j:version`. What the driver needs is looked for when it is entered.

    Raises UsageError for a name or a version that there is not.
    """
    name, _, version = text.partition(":")
    if name in _MANY_VERSIONS:
        return _MANY_VERSIONS[name](version or DEFAULT_VERSION)
    if name not in _ONE_VERSION:
        raise UsageError(
            f"there is no driver {name!r}",
            f"choose one of connector-j, connector-j:VERSION, {', '.join(_ONE_VERSION)}",
        )
    if version:
        raise UsageError(f"the driver {name} has one version here", f"write {name}")
    return _ONE_VERSION[name]()


def check_driver(text: str, task: Task) -> None:
    """Raises UsageError where `open_driver` would, and for a driver that cannot do the task."""
    open_driver(text)
    name = text.partition(":")[0]
    every = {**_MANY_VERSIONS, **_ONE_VERSION}
    if type(task) not in every[name].tasks:
        able = [other for other, driver in every.items() if type(task) in driver.tasks]
        raise UsageError(
            f"the driver {name} cannot run {task.what}", f"choose one of {', '.join(able)}"
        )
