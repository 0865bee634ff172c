"""A plain TCP stream between two programs, timed where it arrives. Run as a program of its own.

    receive ADDRESS PORT_FILE SECONDS    writes its port; prints {"bytes": ..., "seconds": ...}
    send ADDRESS PORT SECONDS

The first quarter of a second is not counted: windows grow, and the shaper's bucket is full.
"""

import json
import socket
import sys
import time

from mysqlprof.topologies.port_file import write_port

_CHUNK = 1 << 18
_UNCOUNTED_S = 0.25


def receive(address: str, port_file: str, seconds: float) -> dict[str, float]:
    """Bytes that arrived within the counted time, and how long that was."""
    with socket.create_server((address, 0)) as listener:
        listener.settimeout(20)
        write_port(port_file, listener.getsockname()[1])
        connection, _ = listener.accept()
    with connection:
        connection.settimeout(20)
        _count_until(connection, time.monotonic() + _UNCOUNTED_S)
        started = time.monotonic()
        received = _count_until(connection, started + seconds)
        return {"bytes": received, "seconds": time.monotonic() - started}


def send(address: str, port: int, seconds: float) -> None:
    """Send for longer than the other end counts; it hangs up when it has enough."""
    with socket.create_connection((address, port), timeout=20) as connection:
        chunk = memoryview(bytes(_CHUNK))
        end = time.monotonic() + _UNCOUNTED_S + 2 * seconds + 10
        try:
            while time.monotonic() < end:
                connection.sendall(chunk)
        except ConnectionError:
            pass


def _count_until(connection: socket.socket, end: float) -> int:
    room = memoryview(bytearray(_CHUNK))
    total = 0
    while time.monotonic() < end:
        size = connection.recv_into(room)
        if not size:
            break
        total += size
    return total


def main(arguments: list[str]) -> None:
    verb, address, port, seconds = arguments
    if verb == "receive":
        print(json.dumps(receive(address, port, float(seconds))))
    else:
        send(address, int(port), float(seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
