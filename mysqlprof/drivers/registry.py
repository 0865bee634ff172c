"""The drivers by the names that the command line takes."""

from contextlib import AbstractContextManager

from mysqlprof.drivers.base import Driver
from mysqlprof.drivers.connector_j import DEFAULT_VERSION, ConnectorJ
from mysqlprof.drivers.python import ConnectorPython
from mysqlprof.model import DriverName


def open_driver(name: DriverName, version: str = "") -> AbstractContextManager[Driver]:
    if name == "python":
        return ConnectorPython()
    return ConnectorJ(version or DEFAULT_VERSION)
