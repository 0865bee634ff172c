"""Where fetched archives, jars and data directory templates are kept between runs."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
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


def built(
    name: str, sources: Mapping[str, bytes], built_by: str, build: Callable[[Path], None]
) -> Path:
    """A cached directory with sources and what `build` made beside them.

    It is built once for each version of the sources and of `built_by`. `name` is the part of the
    cache and the beginning of the directory's name: "drivers/go".
    """
    identity = hashlib.sha256(built_by.encode())
    for file, content in sorted(sources.items()):
        identity.update(f"\0{file}\0{len(content)}\0".encode() + content)
    part, _, stem = name.partition("/")
    home = cache_dir(part) / f"{stem}-{identity.hexdigest()[:16]}"
    with locked(home):
        if not home.is_dir():
            with tempfile.TemporaryDirectory(dir=home.parent) as folder:
                out = Path(folder) / "out"
                out.mkdir()
                for file, content in sources.items():
                    (out / file).write_bytes(content)
                build(out)
                os.replace(out, home)
    return home
