"""The catalog of servers: versions, images, package archives. Data in catalog.toml."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from packaging.version import InvalidVersion, Version

from mysqlprof.errors import UsageError
from mysqlprof.frozen import Frozen


class Archive(Frozen):
    client: Literal["maven", "npm", "apt"]
    package: str
    sha256: str
    inner: str = ""
    mysqld: str
    share: str
    libraries: list[str] = []
    loader: str = ""
    basedir: str = ""
    symbols: list[str] = []


class CatalogEntry(Frozen):
    version: str
    image: str = ""
    digest: str = ""
    archive: Archive | None = None
    flags: dict[str, str] = {}
    environment: dict[str, str] = {}


@cache
def entries() -> tuple[CatalogEntry, ...]:
    """All known servers, oldest first."""
    text = (files("mysqlprof.servers") / "catalog.toml").read_text(encoding="utf-8")
    rows = [CatalogEntry.model_validate(row) for row in tomllib.loads(text)["server"]]
    return tuple(sorted(rows, key=lambda row: Version(row.version)))


def find(version: str) -> CatalogEntry:
    """The entry of exactly this version; UsageError lists what there is."""
    for entry in entries():
        if entry.version == version:
            return entry
    known = ", ".join(entry.version for entry in entries())
    raise UsageError(
        f"MySQL {version} is not in the catalog", f"choose one of {known}, or pass --image REF"
    )


def nearest_with_archive(version: str) -> CatalogEntry:
    """The entry with an archive that is closest to `version` within its release series.

    The closest older release is preferred: a later one may hold the very fix that is studied,
    while the control must not be newer than what was asked for.
    """
    try:
        wanted = Version(version)
    except InvalidVersion:
        raise UsageError(f"{version!r} is not a version", "give one such as 5.7.38") from None
    series = [
        entry
        for entry in entries()
        if entry.archive is not None and Version(entry.version).release[:2] == wanted.release[:2]
    ]
    if not series:
        raise UsageError(
            f"no MySQL {wanted.major}.{wanted.minor} can be had from a package archive",
            "choose another version (`mysqlprof servers list`), or use Docker with a registry",
        )
    older = [entry for entry in series if Version(entry.version) <= wanted]
    return older[-1] if older else series[0]
