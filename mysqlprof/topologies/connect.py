"""Fresh connections in a row: connect, log in, say goodbye, again. Run as a program of its own.

    connect.py REQUEST_FILE    prints the answer as one line of JSON

Request and Answer are the two files' content. A failure ends the row: its words go to "failed",
and what was done until then is still told.
"""

import json
import resource
import socket
import ssl
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mysqlprof.topologies.login import LoggedIn, LoginFailed, log_in

_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Tls:
    version: str
    """As ssl.TLSVersion has it: TLSv1_2, TLSv1_3."""
    authority: str
    """PEM file; the server's certificate must be signed by it. Its name is not looked at."""
    resume: bool = False
    """Each connection offers the session of the one before."""


@dataclass(frozen=True)
class Request:
    connections: int
    user: str
    password: str = field(repr=False)
    host: str = ""
    port: int = 0
    socket: str = ""
    """Where given, it is used and no TCP."""
    tls: Tls | None = None


@dataclass
class Answer:
    elapsed_ns: list[int] = field(default_factory=list)
    """Of each connection: from the socket's making until it is closed."""
    steps_ns: dict[str, int] = field(default_factory=dict)
    """Of all together: connect, greeting, tls, authentication, close."""
    cpu_user_s: float = 0.0
    """Of this program, for all connections."""
    cpu_system_s: float = 0.0
    resumed: int = 0
    """Connections that took up the TLS session of the one before."""
    tls_version: str = ""
    cipher: str = ""
    plugin: str = ""
    server_version: str = ""
    failed: str = ""


def run(request: Request) -> Answer:
    answer = Answer()
    context = _context(request.tls) if request.tls else None
    session: ssl.SSLSession | None = None
    before = resource.getrusage(resource.RUSAGE_SELF)
    try:
        for _ in range(request.connections):
            begun = time.perf_counter_ns()
            connection = _connected(request)
            with connection:
                connected = time.perf_counter_ns()
                login = log_in(connection, request.user, request.password, context, session)
                session = _note_tls(answer, login, request.tls)
                leaving = time.perf_counter_ns()
                login.close()
                done = time.perf_counter_ns()
            answer.elapsed_ns.append(done - begun)
            _add_steps(answer, login, connected - begun, done - leaving)
    except (OSError, LoginFailed) as error:
        answer.failed = str(error)
    after = resource.getrusage(resource.RUSAGE_SELF)
    answer.cpu_user_s = after.ru_utime - before.ru_utime
    answer.cpu_system_s = after.ru_stime - before.ru_stime
    return answer


def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=tls.authority)
    context.check_hostname = False  # its name is not looked at: so do MySQL's clients by default
    context.minimum_version = context.maximum_version = ssl.TLSVersion[tls.version]
    return context


def _connected(request: Request) -> socket.socket:
    if request.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_TIMEOUT_S)
        connection.connect(request.socket)
        return connection
    connection = socket.create_connection((request.host, request.port), _TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _note_tls(answer: Answer, login: LoggedIn, tls: Tls | None) -> ssl.SSLSession | None:
    """The session to offer next; its ticket has come by the time the server lets us in."""
    answer.plugin, answer.server_version = login.plugin, login.server_version
    secured = login.tls
    if tls is None or secured is None:
        return None
    answer.resumed += bool(secured.session_reused)
    answer.tls_version = secured.version() or ""
    answer.cipher = (secured.cipher() or ("",))[0]
    return secured.session if tls.resume else None


def _add_steps(answer: Answer, login: LoggedIn, connect_ns: int, close_ns: int) -> None:
    for name, spent in {"connect": connect_ns, **asdict(login.steps), "close": close_ns}.items():
        answer.steps_ns[name] = answer.steps_ns.get(name, 0) + spent


def main(path: str) -> None:
    words = json.loads(Path(path).read_text(encoding="utf-8"))
    tls = Tls(**words.pop("tls")) if words["tls"] else words.pop("tls")
    print(json.dumps(asdict(run(Request(**words, tls=tls)))))


if __name__ == "__main__":
    main(sys.argv[1])
