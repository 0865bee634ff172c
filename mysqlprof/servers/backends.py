"""The backends by name, and which one `auto` takes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from docker.errors import DockerException

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.model import BackendChoice
from mysqlprof.servers.base import Backend
from mysqlprof.servers.docker import DockerBackend
from mysqlprof.servers.engine import connect
from mysqlprof.servers.local import LocalBackend


@contextmanager
def open_backend(
    choice: BackendChoice, run_id: str, progress: Callable[[str], None] = lambda _: None
) -> Iterator[Backend]:
    """The chosen backend; `auto` is Docker where an engine answers, else local."""
    if choice == "local" or (choice == "auto" and not engine_answers()):
        yield LocalBackend(run_id, progress)
        return
    with DockerBackend(run_id, progress) as backend:
        yield backend


def engine_answers() -> bool:
    try:
        connect().close()
    except (EnvironmentLacks, DockerException, OSError):
        return False
    return True
