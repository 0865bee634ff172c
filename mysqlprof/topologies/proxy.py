"""A pooling proxy between the application and the server: MySQL Router.

It listens on a socket and on loopback, keeps the server's connections when applications leave, and
gives them to those that come next.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from mysqlprof.children import free_port
from mysqlprof.debian import unpacked
from mysqlprof.model import Endpoint, Place
from mysqlprof.packages import first_line
from mysqlprof.topologies.answers import answers
from mysqlprof.topologies.certificates import CertificateFiles
from mysqlprof.topologies.programs import program
from mysqlprof.workdir import work_directory

ServerTls = Literal["DISABLED", "PREFERRED", "REQUIRED"]

_SUITE = "sid"
"""Debian's, which alone has the package. Its version is recorded, for it moves."""
_LIBRARIES = "usr/lib/mysql-router"
_PLUGINS = "usr/lib/mysqlrouter/plugin"
_DEADLINE_S = 30.0


@dataclass(frozen=True)
class PoolOptions:
    idle_connections: int = 64
    """Kept at most; 0 switches pooling off, which tells the proxying from the pooling."""
    sharing: bool = False
    """Give a server's connection to others between two statements already, not only at the end."""
    server_tls: ServerTls = "DISABLED"
    """Between proxy and server."""
    client_tls: CertificateFiles | None = None
    """Between application and proxy; none where not given."""


@dataclass(frozen=True)
class Proxy:
    endpoint: Endpoint
    """With the login of the server behind it."""
    product: str
    pid: int
    log: Path


@dataclass(frozen=True)
class _Router:
    command: list[str]
    plugins: str
    """Empty for those that it finds itself."""


@contextmanager
def mysql_router(
    server: Endpoint,
    place: Place | None = None,
    options: PoolOptions | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Proxy]:
    """A proxy in front of `server` through which a login has succeeded.

    In the client's place it stands beside the application, with the link behind it. Raises
    EnvironmentLacks where there is no MySQL Router, ServerFailed where it does not start.
    """
    place, options = place or Place(), options or PoolOptions()
    router = _router(progress)
    with work_directory("proxy") as work:
        endpoint = replace(
            server,
            host="127.0.0.1",
            port=free_port(),
            socket=str(work / "proxy.sock"),
            apart=place.apart,
        )
        configuration = work / "mysqlrouter.conf"
        configuration.write_text(_configuration(router, server, endpoint, options, work), "utf-8")
        command = [*router.command, "-c", str(configuration)]
        with program("mysqlrouter", command, work, prefix=place.prefix) as running:
            running.await_ready(lambda: answers(endpoint, place), _DEADLINE_S)
            version = first_line([*router.command, "--version"])
            yield Proxy(endpoint, " ".join(version.split()), running.pid, running.log)


def _router(progress: Callable[[str], None]) -> _Router:
    """This system's own, or Debian's unpacked beside it."""
    if path := shutil.which("mysqlrouter"):
        return _Router([path], "")
    tree = unpacked("mysql-router", _SUITE, progress)
    return _Router(tree.command("usr/bin/mysqlrouter", _LIBRARIES), str(tree.root / _PLUGINS))


def _configuration(
    router: _Router, server: Endpoint, listen: Endpoint, options: PoolOptions, work: Path
) -> str:
    folders = {f"{name}_folder": str(work) for name in ("runtime", "data", "config", "logging")}
    if router.plugins:
        folders["plugin_folder"] = router.plugins
    sections = {
        "DEFAULT": {**folders, "unknown_config_option": "error"},
        "logger": {"level": "warning", "destination": "/dev/stderr"},
        "connection_pool": {"max_idle_server_connections": str(options.idle_connections)},
        "routing:mysqlprof": {
            "protocol": "classic",
            "bind_address": listen.host,
            "bind_port": str(listen.port),
            "socket": listen.socket,
            "destinations": f"{server.host}:{server.port}",
            "routing_strategy": "first-available",
            # One refused handshake of many must not shut a measured client out.
            "max_connect_errors": "4294967295",
            "connection_sharing": "1" if options.sharing else "0",
            "connection_sharing_delay": "0",
            "server_ssl_mode": options.server_tls,
            **_client_side(options.client_tls),
        },
    }
    return "\n".join(
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in section.items())
        for name, section in sections.items()
    )


def _client_side(tls: CertificateFiles | None) -> dict[str, str]:
    if tls is None:
        return {"client_ssl_mode": "DISABLED"}
    return {
        "client_ssl_mode": "PREFERRED",
        "client_ssl_cert": str(tls.certificate),
        "client_ssl_key": str(tls.key),
    }
