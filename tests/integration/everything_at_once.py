"""A program that has every topology up at once, says what it made, and ends as it is told.

everything_at_once.py succeed | fail | wait
"""

import json
import sys
import time

import psutil

from mysqlprof.errors import MysqlprofError, ServerFailed
from mysqlprof.interrupts import Interrupted, Interrupts
from mysqlprof.model import LaunchSpec
from mysqlprof.servers.local import LocalBackend
from mysqlprof.topologies.certificates import authority
from mysqlprof.topologies.link import Shape, shaped
from mysqlprof.topologies.namespaces import two_hosts
from mysqlprof.topologies.proxy import mysql_router
from mysqlprof.topologies.tunnel import openvpn


def main(ending: str) -> None:
    with two_hosts() as network, shaped(network, Shape.parse("1gbit")), authority() as signer:
        spec = LaunchSpec(
            "server",
            "8.0.31",
            files=signer.issue("server").mysqld_files(),
            place=network.server.place,
        )
        with (
            LocalBackend("everything-at-once").launch(spec, "server") as server,
            openvpn(network),
            mysql_router(server.endpoint, network.client.place),
        ):
            children = psutil.Process().children(recursive=True)
            made = {
                "processes": [(child.pid, child.create_time()) for child in children],
                "programs": sorted(child.name() for child in children),
                "namespaces": [network.server.identity(), network.client.identity()],
            }
            print(json.dumps(made), flush=True)
            if ending == "fail":
                raise ServerFailed("as it was told")
            if ending == "wait":
                time.sleep(60)


if __name__ == "__main__":
    with Interrupts():
        try:
            main(sys.argv[1])
        except MysqlprofError as error:
            print(error.message, error.hint, file=sys.stderr)
            sys.exit(error.exit_code)
        except Interrupted:
            sys.exit(130)
