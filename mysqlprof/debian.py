"""Programs of a newer Debian than this system's, beside it and without touching it.

The packages come by apt, from where this system's own come from, their signatures checked by the
system's own keys. They are unpacked, not installed, and run by the C library they were built for.
"""

import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mysqlprof.cache import cache_dir, locked
from mysqlprof.elf import build_id, debug_link
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.packages import require, run
from mysqlprof.unpacking import unpack

LIBRARIES = "usr/lib/x86_64-linux-gnu"
"""Where a package keeps its libraries, and the C library its loader."""
LOADER = f"{LIBRARIES}/ld-linux-x86-64.so.2"

_KEYRINGS = tuple(
    Path("/usr/share/keyrings", name)
    for name in ("debian-archive-keyring.pgp", "debian-archive-keyring.gpg")
)
_HINT = "check that `apt-get update` works here; this way leads only to Debian's own packages"
_NOT_DEBIAN = "use a Debian system, or what needs none of Debian's packages"
_KEPT_SHARE = "mysql"
_NOT_NEEDED = ("gconv", "perl", "perl-base")


@dataclass(frozen=True)
class Unpacked:
    """A package and all it depends on, in one tree."""

    root: Path
    version: str

    def command(self, program: str, *libraries: str) -> list[str]:
        """How to start `program` (a path in the tree) by the tree's own loader."""
        path = ":".join(str(self.root / place) for place in (LIBRARIES, *libraries))
        return [str(self.root / LOADER), "--library-path", path, str(self.root / program)]


def unpacked(
    package: str, suite: str, progress: Callable[[str], None] = lambda _: None
) -> Unpacked:
    """The package as `suite` has it, fetched on first use. Raises EnvironmentLacks."""
    home = cache_dir("debian") / f"{package}-{suite}"
    with locked(home):
        if not home.is_dir():
            progress(f"fetching {package} and what it needs from Debian {suite}")
            with tempfile.TemporaryDirectory(dir=home.parent, prefix="fetch-") as work:
                tree = Path(work) / "tree"
                main, *others = download(package, suite, Path(work) / "archives")
                unpack_packages([main, *others], tree)
                (tree / "version").write_text(main.name.split("_")[1] + "\n", encoding="utf-8")
                os.replace(tree, home)
    return Unpacked(home, (home / "version").read_text(encoding="utf-8").strip())


def download(
    package: str, suite: str, folder: Path, version: str = "", more: Sequence[str] = ()
) -> list[Path]:
    """The package's file, then those of all that it needs and `more`, in `folder`.

    apt checks them against the suite's signed lists. With `version`, the package must be that one.
    Raises EnvironmentLacks.
    """
    folder.mkdir()
    with tempfile.TemporaryDirectory() as work, _private_apt(suite, Path(work)) as options:
        update = [_apt("apt-get"), "-qq", *options, "update"]
        run(update, folder, f"apt cannot read Debian {suite}", hint=_HINT)
        names = _with_dependencies(package, options)
        if version:
            _require_version(package, suite, version, options)
        failure = f"apt cannot fetch {package} of Debian {suite}"
        run([_apt("apt-get"), *options, "download", *names, *more], folder, failure, hint=_HINT)
    return sorted(folder.iterdir(), key=lambda path: (path.name.split("_")[0] != package, path))


def unpack_packages(packages: list[Path], tree: Path) -> None:
    """The files of Debian packages in one tree, less documentation and what else is not needed.

    Nothing of the packages is executed. Raises EnvironmentLacks for a broken one.
    """
    tree.mkdir()
    for package in packages:
        _unpack_package(package, tree)
    for folder in [*(tree / LIBRARIES / name for name in _NOT_NEEDED), *_shared_data(tree)]:
        shutil.rmtree(folder, ignore_errors=True)


def place_symbols(tree: Path) -> None:
    """Files of symbols to beside their libraries, where perf looks first; those of others go."""
    debug = tree / "usr/lib/debug"
    for library in (tree / LIBRARIES).glob("*.so*"):
        id_, name = build_id(library), debug_link(library)
        symbols = debug / ".build-id" / id_[:2] / f"{id_[2:]}.debug"
        if name and symbols.is_file():
            beside = symbols_of(library)
            beside.parent.mkdir(exist_ok=True)
            os.replace(symbols, beside)
    shutil.rmtree(debug, ignore_errors=True)


def symbols_of(library: Path) -> Path:
    """Where the symbols stripped from a library are, if anywhere beside it."""
    return library.parent / ".debug" / debug_link(library)


def _unpack_package(package: Path, tree: Path) -> None:
    command = [require("dpkg-deb", _NOT_DEBIAN), "--fsys-tarfile", str(package)]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
            assert process.stdout is not None
            try:
                with tarfile.open(fileobj=process.stdout, mode="r|") as tar:
                    unpack(tar, tree)
                while process.stdout.read(65536):  # padding, or dpkg-deb would end by SIGPIPE
                    pass
            except (tarfile.TarError, OSError) as error:
                process.kill()
                raise EnvironmentLacks(f"{package.name} is broken: {error}", _HINT) from error
        if process.returncode != 0:
            errors.seek(0)
            words = errors.read().decode("utf-8", "replace").strip()
            raise EnvironmentLacks(f"{package.name} is broken: {words}", _HINT)


def _shared_data(tree: Path) -> list[Path]:
    return [path for path in (tree / "usr/share").glob("*") if path.name != _KEPT_SHARE]


@contextmanager
def _private_apt(suite: str, work: Path) -> Iterator[list[str]]:
    """Options that make apt know `suite` alone, with lists of its own."""
    state = work / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True)
    source = f"Types: deb\nURIs: {_own_archive()}\nSuites: {suite}\nComponents: main\n"
    source += f"Signed-By: {_keyring()}\n"
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
        "APT::Update::Error-Mode": "any",  # or a list that could not be had passes for an empty one
        "APT::Sandbox::User": "root",  # the private directories are this user's alone
    }
    yield [part for key, value in settings.items() for part in ("-o", f"{key}={value}")]


def _keyring() -> Path:
    """Debian's own keys: what is not signed by them is not unpacked."""
    for keyring in _KEYRINGS:
        if keyring.exists():
            return keyring
    raise EnvironmentLacks(
        f"Debian's keys are not on this system ({_KEYRINGS[-1]})",
        "sudo apt-get install -y debian-archive-keyring",
    )


def _own_archive() -> str:
    """Where this system's own packages come from."""
    wanted = "$(ORIGIN)\t$(LABEL)\t$(REPO_URI)"
    lines = _output([_apt("apt-get"), "indextargets", "--format", wanted, "Created-By: Packages"])
    for line in lines.splitlines():
        origin, label, uri = line.split("\t")
        if (origin, label) == ("Debian", "Debian"):
            return uri
    raise EnvironmentLacks("this system's packages are not Debian's", _NOT_DEBIAN)


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


def _require_version(package: str, suite: str, wanted: str, options: list[str]) -> None:
    """A suite has one version of a package, and forgets the one before it."""
    text = _output([_apt("apt-cache"), *options, "show", "--no-all-versions", package])
    found = next((x.split()[1] for x in text.splitlines() if x.startswith("Version: ")), "none")
    if found != wanted:
        raise EnvironmentLacks(
            f"{package} {wanted} is not in Debian {suite} any more, which has {found} now",
            "take a newer mysqlprof, whose catalog may have it, or choose another version",
        )


def _apt(program: str) -> str:
    return require(program, _NOT_DEBIAN)


def _output(command: list[str]) -> str:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    ).stdout
