"""The narrow interface between an experiment and whatever runs mysqld."""

from contextlib import AbstractContextManager
from typing import Protocol

from mysqlprof.model import BackendName, Endpoint, LaunchSpec, ServerInfo


class Server(Protocol):
    """A mysqld that has answered a TCP login as the version it claims to be."""

    @property
    def endpoint(self) -> Endpoint: ...

    @property
    def pid(self) -> int:
        """Process id of mysqld as this host sees it, also for a container."""
        ...

    def info(self) -> ServerInfo:
        """What is really running; settings are read back from the server."""
        ...

    def log_tail(self, lines: int = 20) -> str:
        """The end of the server's error log, without secrets."""
        ...

    def why_dead(self) -> str:
        """Empty while mysqld lives; else one clause: "killed by signal 9", "OOM-killed"..."""
        ...


class Backend(Protocol):
    name: BackendName

    def provides(self, version: str) -> bool:
        """Whether exactly this version of the catalog can be started here."""
        ...

    def launch(self, spec: LaunchSpec, name: str) -> AbstractContextManager[Server]:
        """Start a server; leaving the context stops it and removes what it left.

        Raises EnvironmentLacks, UsageError or ServerFailed (with the end of its log).
        """
        ...
