"""A row of fresh connections from a place on the network, and what it cost there."""

import json
import subprocess
from dataclasses import asdict

from mysqlprof.children import log_tail
from mysqlprof.errors import ServerFailed
from mysqlprof.model import Endpoint, Place
from mysqlprof.topologies.connect import Answer, Request, Tls
from mysqlprof.topologies.programs import own_module, program
from mysqlprof.workdir import work_directory, write_private

_START_S = 20.0
_LONGEST_CONNECTION_S = 1.0


def storm(
    endpoint: Endpoint,
    connections: int,
    *,
    place: Place | None = None,
    tls: Tls | None = None,
    by_socket: bool = False,
) -> Answer:
    """Connect `connections` times, one after the other, as `endpoint` says.

    Raises ServerFailed when one of them fails, with the words of who refused it.
    """
    request = Request(
        connections=connections,
        user=endpoint.user,
        password=endpoint.password,
        host=endpoint.host,
        port=endpoint.port,
        socket=endpoint.socket if by_socket else "",
        tls=tls,
    )
    with work_directory("connections") as work:
        file = work / "request.json"
        write_private(file, json.dumps(asdict(request)))
        command = [*own_module("connect"), str(file)]
        with program("connect", command, work, prefix=(place or Place()).prefix) as client:
            try:
                client.process.wait(_START_S + connections * _LONGEST_CONNECTION_S)
                answer = Answer(**json.loads(log_tail(client.log, 1)))
            except (subprocess.TimeoutExpired, ValueError, TypeError) as error:
                raise ServerFailed(
                    "the connecting client gave no answer", log_tail(client.log, 5)
                ) from error
    if answer.failed:
        done = len(answer.elapsed_ns)
        raise ServerFailed(f"connection {done + 1} of {connections} failed: {answer.failed}")
    return answer
