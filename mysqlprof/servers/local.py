"""The local backend: a real mysqld as a child process, from the catalog's archives."""

import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from mysqlprof.cache import cache_dir, locked
from mysqlprof.children import (
    describe_exit,
    end_with_parent,
    free_port,
    log_tail,
    stop,
    wait_until,
)
from mysqlprof.elf import build_id
from mysqlprof.errors import EnvironmentLacks, ServerFailed, UsageError
from mysqlprof.model import BackendName, Endpoint, LaunchSpec, ServerInfo
from mysqlprof.servers import catalog
from mysqlprof.servers.admin import Admin, identified_by
from mysqlprof.servers.archives import Installation, installation
from mysqlprof.servers.base import Server
from mysqlprof.servers.container_files import cnf_fragments
from mysqlprof.workdir import work_directory, write_private

_USER = "mysqlprof"
_START_DEADLINE_S = 60.0
_START_ATTEMPTS = 3


class LocalServer:
    """A running mysqld child process."""

    def __init__(
        self,
        spec: LaunchSpec,
        name: str,
        made_of: Installation,
        process: subprocess.Popen[bytes],
        endpoint: Endpoint,
        work: Path,
    ) -> None:
        self._spec = spec
        self._name = name
        self._made_of = made_of
        self._process = process
        self._endpoint = endpoint
        self.work = work
        self.ready_s = 0.0

    @property
    def endpoint(self) -> Endpoint:
        return self._endpoint

    @property
    def pid(self) -> int:
        return self._process.pid

    def info(self) -> ServerInfo:
        admin = Admin(self._endpoint)
        try:
            settings = admin.variables()
        finally:
            admin.close()
        version = settings["version"].split("-")[0]
        return ServerInfo(
            role=self._spec.role,
            name=self._name,
            requested=self._spec.requested,
            version=version,
            version_comment=settings.get("version_comment", ""),
            backend="local",
            source=self._made_of.source,
            sha256=self._made_of.sha256,
            build_id=build_id(self._made_of.mysqld),
            server_uuid=settings["server_uuid"],
            substitution=_substitution(self._spec.requested, version),
            environment={**self._made_of.environment, **self._spec.environment},
            arguments=dict(self._spec.arguments),
            limits=_limits(self._spec),
            ready_s=self.ready_s,
            settings=_without_private_names(settings, self.work, self._made_of.basedir),
        )

    def log_tail(self, lines: int = 20) -> str:
        return log_tail(self.work / "error.log", lines)

    def last_errors(self) -> str:
        """The log's errors; its end where it names none."""
        lines = self.log_tail(200).splitlines()
        return "\n".join([line for line in lines if "[ERROR]" in line][-5:] or lines[-5:])

    def why_dead(self) -> str:
        return describe_exit(self._process.poll())


class LocalBackend:
    """Starts mysqld as a child of this process, on loopback only, with a random password."""

    name: BackendName = "local"

    def __init__(self, run_id: str, progress: Callable[[str], None] = lambda _: None) -> None:
        self._run_id = run_id
        self._progress = progress

    def provides(self, version: str) -> bool:
        return catalog.find(version).archive is not None

    def launch(self, spec: LaunchSpec, name: str) -> AbstractContextManager[Server]:
        if spec.image:
            raise UsageError("--image needs Docker", "use --backend docker, or leave --image out")
        if spec.limits.memory_bytes is not None:
            raise UsageError(
                "a memory limit needs Docker", "use --backend docker, or leave --memory out"
            )
        return self._launch(spec, name)

    @contextmanager
    def _launch(self, spec: LaunchSpec, name: str) -> Iterator[Server]:
        made_of = installation(_entry_for(spec.requested), self._progress)
        template = data_template(made_of, self._progress)
        with work_directory(self._run_id) as work:
            shutil.copytree(template, work / "data")
            started = time.monotonic()
            server = self._start(spec, name, made_of, work)
            try:
                Admin.wait(
                    server.endpoint, made_of.version, _START_DEADLINE_S, server.why_dead
                ).close()
                _check_preload(spec, server)
                server.ready_s = round(time.monotonic() - started, 3)
                yield server
            except ServerFailed as error:
                if error.hint:
                    raise
                raise ServerFailed(
                    f"{name} (MySQL {made_of.version}): {error.message}", server.last_errors()
                ) from error
            finally:
                stop(server._process)

    def _start(self, spec: LaunchSpec, name: str, made_of: Installation, work: Path) -> LocalServer:
        """Start mysqld on a port of the kernel's choice; choose again if somebody was faster."""
        for attempt in range(1, _START_ATTEMPTS + 1):
            endpoint = Endpoint(
                spec.place.address,
                free_port(),
                _USER,
                secrets.token_urlsafe(18),
                str(work / "sock"),
                spec.place.apart,
            )
            _write_configuration(spec, made_of, endpoint, work)
            process = _spawn(spec, made_of, work)
            server = LocalServer(spec, name, made_of, process, endpoint, work)
            if attempt == _START_ATTEMPTS or not _lost_its_port(server):
                return server
            stop(process)
        raise AssertionError("unreachable")


def data_template(made_of: Installation, progress: Callable[[str], None] = lambda _: None) -> Path:
    """An initialised data directory of this server, made once and copied for every start."""
    key = hashlib.sha256(f"{made_of.version} {made_of.sha256}".encode()).hexdigest()[:12]
    template = cache_dir("templates") / f"{made_of.version}-{key}"
    with locked(template):
        if template.is_dir():
            return template
        progress(f"initialising a data directory for MySQL {made_of.version}")
        with tempfile.TemporaryDirectory(dir=template.parent, prefix="init-") as folder:
            data, log = Path(folder) / "data", Path(folder) / "log"
            with log.open("wb") as out:
                done = subprocess.run(
                    [
                        *made_of.command(),
                        "--no-defaults",
                        "--initialize-insecure",
                        f"--basedir={made_of.basedir}",
                        f"--lc-messages-dir={made_of.share}",
                        f"--character-sets-dir={made_of.share / 'charsets'}",
                        f"--datadir={data}",
                        "--secure-file-priv=NULL",
                        *_run_as_root(),
                    ],
                    env=_environment(made_of, {}),
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    check=False,
                )
            if done.returncode != 0:
                raise _cannot_run(made_of, log_tail(log, 5))
            # Every copy must be a server of its own: mysqld makes a new uuid where there is none.
            (data / "auto.cnf").unlink(missing_ok=True)
            os.replace(data, template)
    return template


def _cannot_run(made_of: Installation, words: str) -> Exception:
    if "error while loading shared libraries" in words:
        library = words.split("libraries:")[-1].split(":")[0].strip()
        return EnvironmentLacks(
            f"mysqld {made_of.version} needs the library {library}",
            "sudo apt-get install -y libaio1 libnuma1 libatomic1 libcrypt1 "
            "(libaio1t64 on newer systems), or run scripts/setup",
        )
    return ServerFailed(f"MySQL {made_of.version} cannot initialise a data directory", words)


def _entry_for(requested: str) -> catalog.CatalogEntry:
    entry = catalog.find(requested)
    return entry if entry.archive else catalog.nearest_with_archive(requested)


def _substitution(requested: str, version: str) -> str:
    if requested == version:
        return ""
    return (
        f"MySQL {requested} exists only as an image and the local backend runs package archives; "
        f"{version} is the nearest of its series that has one"
    )


def _write_configuration(
    spec: LaunchSpec, made_of: Installation, endpoint: Endpoint, work: Path
) -> None:
    """my.cnf and the statements run before the first login; both readable by this user only."""
    options: dict[str, str] = {
        "basedir": str(made_of.basedir),
        "datadir": str(work / "data"),
        "lc_messages_dir": str(made_of.share),
        "character_sets_dir": str(made_of.share / "charsets"),
        "port": str(endpoint.port),
        # A network apart holds nobody else, and may reach the server at several addresses.
        "bind_address": "0.0.0.0" if endpoint.apart else endpoint.host,
        "socket": endpoint.socket,
        "pid_file": str(work / "mysqld.pid"),
        "log_error": str(work / "error.log"),
        "slow_query_log_file": str(work / "slow.log"),
        "general_log_file": str(work / "general.log"),
        "tmpdir": str(work),
        "secure_file_priv": "NULL",
        "init_file": str(work / "init.sql"),
        **made_of.flags,
        **spec.arguments,
        **_private_copies(spec.files, work),
    }
    if os.geteuid() == 0:
        options["user"] = "root"
    own = "\n".join(f"{key} = {value}" for key, value in options.items())
    write_private(work / "my.cnf", f"{cnf_fragments()}\n[mysqld]\n{own}\n")
    grant = f"'{endpoint.user}'@'{'%' if endpoint.apart else endpoint.host}'"
    write_private(
        work / "init.sql",
        f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{secrets.token_urlsafe(24)}';\n"
        f"CREATE USER {grant} {identified_by(made_of.version)} '{endpoint.password}';\n"
        f"GRANT ALL PRIVILEGES ON *.* TO {grant} WITH GRANT OPTION;\n",
    )


def _private_copies(given: Mapping[str, Path], work: Path) -> dict[str, str]:
    copies = {}
    for option, source in given.items():
        copy = work / f"{option}{source.suffix}"
        write_private(copy, source.read_text(encoding="utf-8"))
        copies[option] = str(copy)
    return copies


def _spawn(spec: LaunchSpec, made_of: Installation, work: Path) -> subprocess.Popen[bytes]:
    allowed = _cpu_set(spec.limits.cpus)

    def in_child() -> None:
        end_with_parent()
        if allowed:
            os.sched_setaffinity(0, allowed)

    with (work / "error.log").open("ab") as log:
        return subprocess.Popen(
            [*spec.place.prefix, *made_of.command(), f"--defaults-file={work / 'my.cnf'}"],
            env=_environment(made_of, spec.environment),
            cwd=work,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is the orchestrator's to handle
            preexec_fn=in_child,
        )


def _cpu_set(cpus: float | None) -> set[int]:
    if cpus is None:
        return set()
    available = sorted(os.sched_getaffinity(0))
    if cpus != int(cpus) or not 1 <= cpus <= len(available):
        raise UsageError(
            f"the local backend pins mysqld to whole CPUs: --cpus {cpus:g} is not possible here",
            f"choose 1 to {len(available)}, or use --backend docker",
        )
    return set(available[: int(cpus)])


def _environment(made_of: Installation, extra: Mapping[str, str]) -> dict[str, str]:
    # A loader is told its libraries: this host's programs must not take them.
    paths = () if made_of.loader else (*made_of.library_paths, *_library_links())
    libraries = [str(path) for path in paths]
    keep = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "TMPDIR")}
    if libraries:
        keep["LD_LIBRARY_PATH"] = ":".join(libraries)
    return {**keep, **made_of.environment, **extra}


def _library_links() -> list[Path]:
    """Debian 13 and Ubuntu 24.04 name libaio.so.1 libaio.so.1t64: the same library and ABI."""
    for folder in ("/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu"):
        old, new = Path(folder, "libaio.so.1"), Path(folder, "libaio.so.1t64")
        if new.exists() and not old.exists():
            links = cache_dir("lib")
            link = links / "libaio.so.1"
            if not link.is_symlink():
                link.symlink_to(new)
            return [links]
    return []


def _run_as_root() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []


def _check_preload(spec: LaunchSpec, server: LocalServer) -> None:
    """The dynamic linker only warns where it cannot preload, and goes on without."""
    library = spec.environment.get("LD_PRELOAD")
    if library and "cannot be preloaded" in log_tail(server.work / "error.log", 10_000):
        raise EnvironmentLacks(f"{library} cannot be preloaded into mysqld", "install it")


def _lost_its_port(server: LocalServer) -> bool:
    """True when mysqld ended because its port was taken: it writes its pid file after binding."""
    bound = server.work / "mysqld.pid"
    wait_until(lambda: bound.exists() or bool(server.why_dead()), _START_DEADLINE_S)
    return bool(server.why_dead()) and "Address already in use" in server.last_errors()


def _limits(spec: LaunchSpec) -> dict[str, float]:
    return {} if spec.limits.cpus is None else {"cpus": spec.limits.cpus}


def _without_private_names(settings: dict[str, str], work: Path, basedir: Path) -> dict[str, str]:
    """Settings are published: keep their meaning, not this machine's directories and name."""
    published = {
        key: value.replace(str(work), "WORK").replace(str(basedir), "BASEDIR")
        for key, value in settings.items()
    }
    return published | {"hostname": "HOST"}
