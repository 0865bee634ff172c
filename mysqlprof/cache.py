"""Where fetched archives, jars and data directory templates are kept between runs."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from mysqlprof.errors import EnvironmentLacks


def cache_dir(part: str) -> Path:
    """A directory of the user's cache (or of $MYSQLPROF_CACHE), made on first use."""
    root = os.environ.get("MYSQLPROF_CACHE") or platformdirs.user_cache_dir("mysqlprof")
    path = Path(root).absolute() / part
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentLacks(
            f"cannot create {path}: {error.strerror}",
            "set MYSQLPROF_CACHE to a directory that you may write",
        ) from error
    return path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock beside `path`, so that parallel runs prepare it once."""
    with open(f"{path}.lock", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
