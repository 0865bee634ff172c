"""The archive of symbols that `perf archive` packs on the machine that recorded."""

import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mysqlprof.errors import UsageError
from mysqlprof.probes.fold import Symbols

MAX_BYTES = 16 * 2**30


@contextmanager
def symbols_at(symfs: Path | None, symbols: Path | None) -> Iterator[Symbols]:
    """`symbols` is perf.data.tar.bz2, or a directory into which it was unpacked.

    Raises UsageError where either is not there, or is no archive of this kind.
    """
    if symfs is not None and not symfs.is_dir():
        raise UsageError(f"--symfs {symfs} is not a directory", "give one with the binaries below")
    if symbols is None or symbols.is_dir():
        yield Symbols(symfs, symbols)
        return
    with tempfile.TemporaryDirectory(prefix="mysqlprof-symbols-") as directory:
        _unpack(symbols, Path(directory))
        yield Symbols(symfs, Path(directory))


def _unpack(archive: Path, directory: Path) -> None:
    """Members that would leave the directory are an error (PEP 706), and so are too many bytes."""
    try:
        with tarfile.open(archive) as members:
            total = 0
            for member in members:
                total += member.size
                if total > MAX_BYTES:
                    raise UsageError(f"{archive} unpacks into more than {MAX_BYTES:,} bytes")
                members.extract(member, directory, filter="data")
    except (tarfile.TarError, EOFError, OSError) as error:
        raise UsageError(
            f"--symbols {archive} cannot be unpacked: {error}",
            "give the .tar.bz2 that `perf archive` wrote",
        ) from error
