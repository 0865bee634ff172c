"""mysql2 for Node. It comes from npm, as package-lock.json pins it."""

import json
from pathlib import Path

from mysqlprof.drivers.hosted import HostedDriver, built, host_sources
from mysqlprof.model import Endpoint
from mysqlprof.packages import NPM_INSTALL, first_line, require, run
from mysqlprof.workloads.base import Options
from mysqlprof.workloads.tasks import DATABASE

_INSTALL = "sudo apt-get install -y --no-install-recommends nodejs"


class Mysql2(HostedDriver):
    name = "mysql2"

    def __init__(self) -> None:
        self.version: str = json.loads(host_sources("node")["package.json"])["dependencies"][
            "mysql2"
        ]

    def command(self) -> list[str]:
        node = require("node", _INSTALL)
        return [node, str(built("node", self.runtime_version(), _install) / "driver_host.mjs")]

    def runtime_version(self) -> str:
        return f"Node.js {first_line([require('node', _INSTALL), '--version'])}"

    def url(self, endpoint: Endpoint, options: Options) -> str:
        """With datetimes in UTC, as the values are read."""
        return f"mysql://{endpoint.host}:{endpoint.port}/{DATABASE}?timezone=Z"


def _install(folder: Path) -> None:
    npm = require("npm", NPM_INSTALL)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    run(command, folder, "npm could not install mysql2")
