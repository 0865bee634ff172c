"""go-sql-driver/mysql, the driver of Go's database/sql. The module comes from `go build`."""

import re
from pathlib import Path

from mysqlprof.drivers.hosted import HostedDriver, built, host_sources
from mysqlprof.model import Endpoint
from mysqlprof.packages import first_line, require, run
from mysqlprof.workloads.base import Options
from mysqlprof.workloads.tasks import DATABASE

_INSTALL = "sudo apt-get install -y --no-install-recommends golang-go"
# The Go that is here builds the pinned module: no other is fetched, no C compiler is needed.
_ENVIRONMENT = {"GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


class GoSqlDriver(HostedDriver):
    name = "go-sql-driver/mysql"

    def __init__(self) -> None:
        module = host_sources("go")["go.mod"].decode()
        (self.version,) = re.findall(r"go-sql-driver/mysql v(\S+)", module)

    def command(self) -> list[str]:
        return [str(built("go", self.runtime_version(), _build) / "driver-host")]

    def runtime_version(self) -> str:
        return first_line([_go(), "version"], _ENVIRONMENT)

    def url(self, endpoint: Endpoint, options: Options) -> str:
        """A data source name. The server is asked for its largest packet, so that all that fits
        there is interpolated here."""
        interpolate = str(not options.get("server_prepare", False)).lower()
        return (
            f"tcp({endpoint.host}:{endpoint.port})/{DATABASE}"
            f"?interpolateParams={interpolate}&maxAllowedPacket=0&timeout=10s"
        )


def _go() -> str:
    return require("go", _INSTALL)


def _build(folder: Path) -> None:
    command = [_go(), "build", "-trimpath", "-o", "driver-host", "."]
    run(command, folder, "go cannot build the driver's host", environment=_ENVIRONMENT)
