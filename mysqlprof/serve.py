"""A directory of static files, served to this machine alone."""

import functools
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mysqlprof.errors import EnvironmentLacks

HOST = "127.0.0.1"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class Server(ThreadingHTTPServer):
    """Listens on 127.0.0.1 once it is made; `serve_forever` answers.

    `policy` is the content security policy of everything below `folder`. Port 0 takes a free one.
    Raises EnvironmentLacks where the port is taken or not allowed.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, folder: Path, port: int, policy: str) -> None:
        self.folder = folder
        self.policy = f"{policy}; frame-ancestors 'none'"
        try:
            super().__init__((HOST, port), functools.partial(_Handler, directory=str(folder)))
        except OSError as error:
            raise EnvironmentLacks(
                f"cannot listen on {HOST}:{port}: {error.strerror}", "choose another --port"
            ) from error
        self.hosts = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"


class _Handler(SimpleHTTPRequestHandler):
    server: Server
    server_version = "mysqlprof"
    sys_version = ""
    extensions_map = {
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".folded": "text/plain; charset=utf-8",
        ".gz": "application/gzip",
    }

    def send_head(self) -> Any:
        # A page elsewhere that points its own name at 127.0.0.1 asks for that name.
        if self.headers.get("Host") not in self.server.hosts:
            self.send_error(403, "Ask for 127.0.0.1")
            return None
        return super().send_head()

    def list_directory(self, path: Any) -> Any:
        self.send_error(404, "Not found")
        return None

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", self.server.policy)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are nobody's news."""
