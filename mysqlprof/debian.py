"""Programs of a newer Debian than this system's, beside it and without touching it.

The packages come by apt, from where this system's own come from, their signatures checked by the
system's own keys. They are unpacked, not installed, and run by the C library they were built for.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mysqlprof.cache import cache_dir, locked
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.packages import require, run

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_TRIPLET = "x86_64-linux-gnu"
_HINT = "check that `apt-get update` works here; this way leads only to Debian's own packages"
_NOT_NEEDED = ("usr/share", "usr/lib/x86_64-linux-gnu/gconv")


@dataclass(frozen=True)
class Unpacked:
    """A package and all it depends on, in one tree."""

    root: Path
    version: str

    def command(self, program: str, *libraries: str) -> list[str]:
        """How to start `program` (a path in the tree) by the tree's own loader."""
        places = [f"usr/lib/{_TRIPLET}", f"lib/{_TRIPLET}", *libraries]
        path = ":".join(str(self.root / place) for place in places)
        loader = self.root / "usr/lib" / _TRIPLET / "ld-linux-x86-64.so.2"
        return [str(loader), "--library-path", path, str(self.root / program)]


def unpacked(
    package: str, suite: str, progress: Callable[[str], None] = lambda _: None
) -> Unpacked:
    """The package as `suite` has it, fetched on first use. Raises EnvironmentLacks."""
    home = cache_dir("debian") / f"{package}-{suite}"
    with locked(home):
        if not home.is_dir():
            progress(f"fetching {package} and what it needs from Debian {suite}")
            with tempfile.TemporaryDirectory(dir=home.parent, prefix="fetch-") as work:
                os.replace(_fetch(package, suite, Path(work)), home)
    return Unpacked(home, (home / "version").read_text(encoding="utf-8").strip())


def _fetch(package: str, suite: str, work: Path) -> Path:
    tree, archives = work / "tree", work / "archives"
    tree.mkdir()
    archives.mkdir()
    with _private_apt(suite, work) as options:
        run([_apt("apt-get"), *options, "update"], work, f"apt cannot read {suite}", hint=_HINT)
        names = _with_dependencies(package, options)
        failure = f"apt cannot fetch {package} of {suite}"
        run([_apt("apt-get"), *options, "download", *names], archives, failure, hint=_HINT)
    unpack = require("dpkg-deb", _HINT)
    for archive in sorted(archives.iterdir()):
        run([unpack, "--extract", str(archive), str(tree)], work, f"{archive.name} is broken")
        if archive.name.startswith(f"{package}_"):
            (tree / "version").write_text(archive.name.split("_")[1] + "\n", encoding="utf-8")
    for folder in _NOT_NEEDED:
        shutil.rmtree(tree / folder, ignore_errors=True)
    return tree


@contextmanager
def _private_apt(suite: str, work: Path) -> Iterator[list[str]]:
    """Options that make apt know `suite` alone, with lists of its own."""
    state = work / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True)
    source = f"Types: deb\nURIs: {_own_archive()}\nSuites: {suite}\nComponents: main\n"
    if _KEYRING.exists():
        source += f"Signed-By: {_KEYRING}\n"
    (state / "debian.sources").write_text(source, encoding="utf-8")
    settings = {
        "Dir::Etc::sourcelist": str(state / "debian.sources"),
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State::lists": str(state / "lists"),
        "Dir::State::status": "/dev/null",
        "Dir::Cache": str(state / "cache"),
        "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled": "false",
        "Acquire::IndexTargets::deb-src::Contents-dsc::DefaultEnabled": "false",
        "APT::Sandbox::User": "root",  # the private directories are this user's alone
    }
    yield [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]


def _own_archive() -> str:
    """Where this system's own packages come from."""
    wanted = "$(ORIGIN)\t$(LABEL)\t$(REPO_URI)"
    lines = _output([_apt("apt-get"), "indextargets", "--format", wanted, "Created-By: Packages"])
    for line in lines.splitlines():
        origin, label, uri = line.split("\t")
        if (origin, label) == ("Debian", "Debian"):
            return uri
    raise EnvironmentLacks("this system's packages are not Debian's", _HINT)


def _with_dependencies(package: str, options: list[str]) -> list[str]:
    """Names of the package and of all that it needs, recursively.

    mysql-router
      Depends: libc6
    libc6
    """
    less = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    flags = ["--recurse", *(f"--no-{relation}" for relation in less)]
    text = _output([_apt("apt-cache"), *options, "depends", *flags, package])
    names = {line.strip() for line in text.splitlines() if line[:1].isalnum()}
    if package not in names:
        raise EnvironmentLacks(f"there is no package {package}", _HINT)
    return sorted(names)


def _apt(program: str) -> str:
    return require(program, "use Debian, or install the program by this system's own means")


def _output(command: list[str]) -> str:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    ).stdout
