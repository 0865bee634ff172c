"""Build an image with the official mysql image's contract from an unpacked server.

The image is FROM scratch: mysqld, its share files, the libraries that ldd names with their loader,
a static busybox for the entrypoint's shell. Nothing is downloaded, and the same input gives the
same tag, so that an image is built once.
"""

import hashlib
import io
import os
import re
import shutil
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from docker import DockerClient
from docker.errors import APIError, BuildError, ImageNotFound

from mysqlprof.debian import symbols_of
from mysqlprof.errors import EnvironmentLacks, ServerFailed
from mysqlprof.servers.archives import Installation
from mysqlprof.servers.container_files import container_file
from mysqlprof.servers.engine import LABEL, engine_error

REPOSITORY = "mysqlprof/mysql"

_HOME = PurePosixPath("usr/local/mysql")
_MYSQLD = _HOME / "bin/mysqld"
_SHARE = _HOME / "share"
_MYSQL_UID = 999  # the official image's

# Resolved by name at run time, so ldd does not show them; part of libc itself since glibc 2.34.
_NSS_LIBRARIES = ("libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2")

#   libaio.so.1 => /lib/x86_64-linux-gnu/libaio.so.1 (0x00007ff7db53c000)
#   libssl.so.1.1 => not found
#   /lib64/ld-linux-x86-64.so.2 (0x00007ff7db55a000)
_LDD_LINE = re.compile(r"^\s*(?:(?P<name>\S+) => )?(?P<path>/\S+|not found)(?: \(0x[0-9a-f]+\))?$")


@dataclass(frozen=True)
class Entry:
    """One member of the image: a directory, a symbolic link, or a file from disk or memory."""

    mode: int
    source: Path | None = None
    data: bytes | None = None
    link: str = ""

    def size(self) -> int:
        return self.source.stat().st_size if self.source else len(self.data or b"")

    def open(self) -> io.BufferedIOBase:
        return self.source.open("rb") if self.source else io.BytesIO(self.data or b"")

    def kind(self) -> bytes:
        if self.link:
            return tarfile.SYMTYPE
        is_file = self.source is not None or self.data is not None
        return tarfile.REGTYPE if is_file else tarfile.DIRTYPE


Context = dict[str, Entry]
"""Path in the build context -> entry."""


@dataclass(frozen=True)
class Libraries:
    """What mysqld needs to be loaded: sonames and the files that serve them."""

    loader: Path
    """As mysqld names it."""
    loader_file: Path
    shared: dict[str, Path]
    system: Path
    """The directory of the C library, as this loader has it built in."""


def image_reference(made_of: Installation) -> str:
    """The tag that the image of this server has, or would have, on this host."""
    return _reference(made_of, fingerprint(build_context(made_of)))


def build_image(
    client: DockerClient, made_of: Installation, progress: Callable[[str], None] = lambda _: None
) -> str:
    """The reference of the image of this server, built unless it is there already."""
    context = build_context(made_of)
    reference = _reference(made_of, fingerprint(context))
    try:
        client.images.get(reference)
    except ImageNotFound:
        progress(f"building the image {reference} from {made_of.source}")
        _build(client, made_of, context, reference)
    return reference


def _build(client: DockerClient, made_of: Installation, context: Context, reference: str) -> None:
    labels = {"version": made_of.version, "source": made_of.source, "sha256": made_of.sha256}
    with tempfile.TemporaryFile() as file:
        write_context(context, file)
        file.seek(0)
        try:
            client.images.build(
                fileobj=file,
                custom_context=True,
                tag=reference,
                labels={f"{LABEL}.{key}": value for key, value in labels.items()},
                buildargs={"MYSQL_VERSION": made_of.version},
                rm=True,
                forcerm=True,
            )
        except BuildError as error:
            raise ServerFailed(f"the image {reference} cannot be built: {error.msg}") from error
        except APIError as error:
            raise engine_error(error, f"the image {reference} cannot be built") from error


def _reference(made_of: Installation, fingerprint_: str) -> str:
    return f"{REPOSITORY}:{made_of.version}-{fingerprint_[:12]}"


def build_context(made_of: Installation) -> Context:
    """Everything that the build sends to the engine."""
    rootfs = {
        **_directories(),
        **_busybox(find_busybox()),
        **_system_files(made_of),
        **_server_files(made_of),
        **_library_files(find_libraries(made_of)),
    }
    context = {f"rootfs/{path}": entry for path, entry in rootfs.items()}
    context["Dockerfile"] = Entry(0o644, source=container_file("mysql/Dockerfile"))
    return context


def fingerprint(context: Context) -> str:
    """SHA-256 over names, modes and contents."""
    whole = hashlib.sha256()
    for path, entry in sorted(context.items()):
        with entry.open() as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(
            f"{path}\0{entry.kind()!r}\0{entry.mode:o}\0{entry.link}\0{content}\n".encode()
        )
    return whole.hexdigest()


def write_context(context: Context, out: IO[bytes]) -> None:
    """A tar archive that is the same, byte for byte, for the same content."""
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, entry in sorted(context.items()):
            member = tarfile.TarInfo(path)
            member.type = entry.kind()
            member.mode = entry.mode
            member.linkname = entry.link
            if member.isfile():
                member.size = entry.size()
                with entry.open() as file:
                    tar.addfile(member, file)
            else:
                tar.addfile(member)


# --- what goes into the image ----------------------------------------------------------------


def _directories() -> Context:
    plain = ("bin", "etc/mysql/conf.d", "docker-entrypoint-initdb.d", "usr/sbin", "usr/local/bin")
    # Writable by whatever user the container is run as, like the official image's.
    open_to_all = ("tmp", "run/mysqld", "var/lib/mysql")
    return {
        **{path: Entry(0o755) for path in plain},
        **{path: Entry(0o1777) for path in open_to_all},
        "root": Entry(0o700),
        "var/run": Entry(0o777, link="../run"),
    }


def find_busybox() -> Path:
    """The host's statically linked busybox."""
    found = shutil.which("busybox", path=f"{os.environ.get('PATH', '')}:/bin:/usr/bin")
    install = "sudo apt-get install -y busybox-static"
    if found is None:
        raise EnvironmentLacks("building an image needs a static busybox", install)
    path = Path(found).resolve()
    if find_interpreter(path):
        raise EnvironmentLacks(
            f"building an image needs a static busybox, and {path} is linked dynamically", install
        )
    return path


def find_interpreter(path: Path) -> str:
    """The dynamic loader that an ELF file names; empty for a static one."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.segments import InterpSegment

    with path.open("rb") as file:
        for segment in ELFFile(file).iter_segments():
            if isinstance(segment, InterpSegment):
                return str(segment.get_interp_name())
    return ""


def _busybox(busybox: Path) -> Context:
    done = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True)
    applets = {name for name in done.stdout.split() if name != "busybox"}
    links = {f"bin/{name}": Entry(0o777, link="busybox") for name in applets}
    return {**links, "bin/busybox": Entry(0o755, source=busybox)}


def _system_files(made_of: Installation) -> Context:
    ids = f"{_MYSQL_UID}:{_MYSQL_UID}"
    texts = {
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
        f"mysql:x:{ids}:MySQL Server:/var/lib/mysql:/bin/false\n",
        "etc/group": f"root:x:0:\nmysql:x:{_MYSQL_UID}:\n",
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
        "etc/my.cnf": _configuration(made_of),
    }
    return {
        **{path: Entry(0o644, data=text.encode()) for path, text in texts.items()},
        "usr/local/bin/docker-entrypoint.sh": Entry(
            0o755, source=container_file("mysql/entrypoint.sh")
        ),
    }


def _configuration(made_of: Installation) -> str:
    """/etc/my.cnf: where things are, what this build needs, then the user's own files."""
    options = {
        "basedir": f"/{_HOME}",
        "lc-messages-dir": f"/{_SHARE}",
        "character-sets-dir": f"/{_SHARE}/charsets",
        "datadir": "/var/lib/mysql",
        "socket": "/var/run/mysqld/mysqld.sock",
        "pid-file": "/var/run/mysqld/mysqld.pid",
        "secure-file-priv": "NULL",
        **made_of.flags,
    }
    lines = [f"{key} = {value}" for key, value in options.items()]
    return "\n".join(["[mysqld]", *lines, "", "!includedir /etc/mysql/conf.d/", ""])


def _server_files(made_of: Installation) -> Context:
    share = {
        f"{_SHARE / path.relative_to(made_of.share).as_posix()}": _copy(path)
        for path in _files_below(made_of.share)
    }
    # mysqld looks for plugins in the same place below basedir as it was built for.
    plugin_files = {
        f"{_HOME}/{path.relative_to(made_of.basedir).as_posix()}": _copy(path)
        for folder in ("lib/plugin", "lib/mysql/plugin")
        for path in _files_below(made_of.basedir / folder)
    }
    link = Entry(0o777, link=os.path.relpath(_MYSQLD, "usr/sbin"))
    mysqld = Entry(0o755, source=made_of.mysqld.resolve())
    return {**share, **plugin_files, str(_MYSQLD): mysqld, "usr/sbin/mysqld": link}


def _files_below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _copy(path: Path) -> Entry:
    executable = path.stat().st_mode & stat.S_IXUSR
    return Entry(0o755 if executable else 0o644, source=path.resolve())


# --- libraries -------------------------------------------------------------------------------


def find_libraries(made_of: Installation) -> Libraries:
    """What mysqld's loader finds on this host. EnvironmentLacks names what is missing."""
    done = _list_libraries(made_of)
    found = parse_ldd(done.stdout)
    loader = find_interpreter(made_of.mysqld)
    if not found or not loader:
        raise EnvironmentLacks(
            f"{made_of.mysqld} cannot be loaded on this host: {done.stderr.strip()}",
            "an x86-64 Linux host with glibc is needed to build images",
        )
    located = {name: path or _under_another_name(name) for name, path in found.items()}
    missing = sorted(name for name, path in located.items() if path is None)
    if missing:
        raise EnvironmentLacks(
            f"mysqld {made_of.version} needs {', '.join(missing)}, not found on this host",
            "sudo apt-get install -y libaio1 libnuma1 libatomic1 libcrypt1 "
            "(libaio1t64 on newer systems), or run scripts/setup",
        )
    shared = {name: path for name, path in located.items() if path and name != Path(loader).name}
    if made_of.loader:
        system = Path("/", made_of.loader.place).parent
        return Libraries(Path(loader), made_of.loader.path, shared, system)
    return Libraries(Path(loader), Path(loader), shared, shared["libc.so.6"].parent)


def _list_libraries(made_of: Installation) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
    if made_of.loader:
        loader, *options = made_of.command()
        command = [loader, "--list", *options]
    else:
        command = ["ldd", str(made_of.mysqld)]
        if made_of.library_paths:
            environment["LD_LIBRARY_PATH"] = os.pathsep.join(map(str, made_of.library_paths))
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def parse_ldd(text: str) -> dict[str, Path | None]:
    """ldd's output -> soname -> file; None where ldd found none. The vdso has no file."""
    found: dict[str, Path | None] = {}
    for line in text.splitlines():
        match = _LDD_LINE.match(line)
        if match:
            path = None if match["path"] == "not found" else Path(match["path"])
            name = match["name"] or PurePosixPath(match["path"]).name
            found[PurePosixPath(name).name] = path
    return found


def _under_another_name(name: str) -> Path | None:
    """Debian 13 and Ubuntu 24.04 call libaio.so.1 libaio.so.1t64: same library, same ABI."""
    folders = (Path("/usr/lib/x86_64-linux-gnu"), Path("/lib/x86_64-linux-gnu"))
    candidates = (folder / f"{name}t64" for folder in folders)
    return next((path for path in candidates if path.exists()), None)


def _library_files(libraries: Libraries) -> Context:
    """Every library in the directory of the C library, which this loader has built in.

    It is searched after mysqld's own RPATH ($ORIGIN/../lib/private), which has no directory here,
    so the server's own libraries are found there, too, however the host came to find them.
    """
    system = libraries.system
    files = {_inside(system / name): _copy(path) for name, path in libraries.shared.items()}
    for path in map(symbols_of, libraries.shared.values()):
        if path.is_file():
            files[_inside(system / ".debug" / path.name)] = _copy(path)
    beside = libraries.shared["libc.so.6"].parent
    for name in _NSS_LIBRARIES:
        if (beside / name).exists():
            files[_inside(system / name)] = _copy(beside / name)
    files[_inside(libraries.loader)] = Entry(0o755, source=libraries.loader_file.resolve())
    return files


def _inside(path: Path) -> str:
    return str(path).lstrip("/")
