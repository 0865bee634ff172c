"""The archive of symbols that `perf archive` packs on the machine that recorded."""

import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mysqlprof.errors import UsageError
from mysqlprof.probes.fold import Symbols
from mysqlprof.unpacking import unpack

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
        try:
            with tarfile.open(symbols) as archive:
                unpack(archive, Path(directory), MAX_BYTES)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise UsageError(
                f"--symbols {symbols} cannot be unpacked: {error}",
                "give the .tar.bz2 that `perf archive` wrote",
            ) from error
        yield Symbols(symfs, Path(directory))
