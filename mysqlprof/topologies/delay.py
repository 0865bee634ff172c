"""A longer way to the server, where the kernel cannot delay packets: through a relay that waits.

It stands in for a link's delay (link.Shape.delay_ms, which is the kernel's netem) and is no equal
of it: it costs CPU, and TCP itself, its windows and its acknowledgements, sees a short way.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from mysqlprof.errors import UsageError
from mysqlprof.model import Endpoint, Place
from mysqlprof.topologies.programs import own_module, program
from mysqlprof.workdir import work_directory

_DEADLINE_S = 20.0


@contextmanager
def delayed(server: Endpoint, place: Place, one_way_ms: float) -> Iterator[Endpoint]:
    """The server as who is at `place` sees it from `one_way_ms` further away, on loopback there."""
    if not 0 < one_way_ms <= 1000:
        raise UsageError(f"{one_way_ms:g} ms is no delay", "choose one of up to 1000 ms")
    with work_directory("delay") as work:
        port = work / "port"
        arguments = [str(port), server.host, str(server.port), str(one_way_ms / 1e3)]
        command = [*own_module("relay"), *arguments]
        with program("relay", command, work, prefix=place.prefix) as running:
            running.await_ready(port.exists, _DEADLINE_S)
            yield replace(
                server, host="127.0.0.1", port=int(port.read_text()), socket="", apart=place.apart
            )
