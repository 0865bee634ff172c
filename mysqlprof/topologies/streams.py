"""A TCP stream from one namespace to another: what really arrives, in bits a second."""

import json
import subprocess

from mysqlprof.children import log_tail
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.topologies.namespaces import Namespace
from mysqlprof.topologies.programs import own_module, program
from mysqlprof.workdir import work_directory

_DEADLINE_S = 20.0


def stream(source: Namespace, sink: Namespace, address: str, seconds: float) -> float:
    """Payload that `sink` receives at `address` from `source`, in bits a second.

    Raises EnvironmentLacks where nothing arrives.
    """
    with work_directory("stream") as work:
        python, port = own_module("transfer"), work / "port"
        receive = [*python, "receive", address, str(port), str(seconds)]
        with program("receive", receive, work, prefix=sink.place.prefix) as receiver:
            receiver.await_ready(port.exists, _DEADLINE_S)
            send = [*python, "send", address, port.read_text(), str(seconds)]
            with program("send", send, work, prefix=source.place.prefix) as sender:
                try:
                    receiver.process.wait(seconds + _DEADLINE_S)
                    answer = json.loads(log_tail(receiver.log, 1))
                except (subprocess.TimeoutExpired, ValueError) as error:
                    words = log_tail(sender.log, 1) or log_tail(receiver.log, 1)
                    raise EnvironmentLacks(
                        f"no TCP stream from the {source.role} to the {sink.role}: {words}"
                    ) from error
    return float(answer["bytes"]) * 8 / float(answer["seconds"])
