"""A TCP relay that holds everything back for a while, in both directions. A program of its own.

    relay.py PORT_FILE ADDRESS PORT ONE_WAY_S    listens on loopback, writes its port to the file

Data keeps its order and its distances in time. Who connects is let in at once, by the kernel; the
other end is called one and a half round trips later, when the last packet of a real handshake would
have reached it.
"""

import queue
import socket
import sys
import time
from threading import Thread

from mysqlprof.topologies.port_file import write_port

_CHUNK = 1 << 16
_Late = queue.SimpleQueue[tuple[float, bytes]]


def relay(port_file: str, address: str, port: int, one_way_s: float) -> None:
    """Until the process is ended."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        write_port(port_file, listener.getsockname()[1])
        while True:
            near, _ = listener.accept()
            Thread(target=_serve, args=(near, address, port, one_way_s), daemon=True).start()


def _serve(near: socket.socket, address: str, port: int, one_way_s: float) -> None:
    time.sleep(3 * one_way_s)
    try:
        far = socket.create_connection((address, port))
    except OSError:
        near.close()
        return
    with near, far:
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = Thread(target=_carry, args=(far, near, one_way_s), daemon=True)
        back.start()
        _carry(near, far, one_way_s)
        back.join()


def _carry(source: socket.socket, sink: socket.socket, one_way_s: float) -> None:
    late: _Late = queue.SimpleQueue()
    writer = Thread(target=_deliver, args=(late, sink), daemon=True)
    writer.start()
    data = b"more"
    while data:
        try:
            data = source.recv(_CHUNK)
        except OSError:
            data = b""
        late.put((time.monotonic() + one_way_s, data))
    writer.join()


def _deliver(late: _Late, sink: socket.socket) -> None:
    """Each piece when it is due; an empty one is the end."""
    while True:
        due, data = late.get()
        # Threads that sleep wake within 0.1 ms; event loops round up to a millisecond.
        time.sleep(max(0.0, due - time.monotonic()))
        try:
            if not data:
                sink.shutdown(socket.SHUT_WR)
                return
            sink.sendall(data)
        except OSError:
            return


if __name__ == "__main__":
    relay(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
