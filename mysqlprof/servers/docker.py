"""The Docker backend: mysqld in a container of the official image's contract.

Containers publish on 127.0.0.1 only, at a port of the engine's choice; they are never privileged,
keep only the capabilities that the entrypoint needs, carry the run's id as a label, and are removed
on every way out. The data directory lives in memory (tmpfs) unless told otherwise: on a disk, its
noise swallows what is to be measured. What it holds counts towards a memory limit.
"""

import re
import secrets
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

from docker import DockerClient
from docker.errors import DockerException
from docker.models.containers import Container
from docker.types import LogConfig, Mount
from requests import RequestException

from mysqlprof.elf import build_id
from mysqlprof.errors import EnvironmentLacks, ServerFailed, UsageError
from mysqlprof.model import BackendName, Endpoint, LaunchSpec, Limits, ServerInfo
from mysqlprof.servers.admin import Admin
from mysqlprof.servers.base import Server
from mysqlprof.servers.container_files import cnf_fragments
from mysqlprof.servers.engine import (
    connect,
    labels,
    remove_container,
    remove_run,
    speaking_to_engine,
    state_of,
)
from mysqlprof.servers.resolve import ImageResolver, ResolvedImage
from mysqlprof.workdir import work_directory

_USER = "mysqlprof"
_PORT = "3306/tcp"
_DATA = "/var/lib/mysql"
_SECRET = "/run/secrets/mysqlprof-root-password"
_CONFIGURATION = "/etc/mysql/conf.d/mysqlprof.cnf"
_START_DEADLINE_S = 120.0
_TMPFS_BYTES = 2 * 2**30

# What the official entrypoint does as root before it becomes mysql: own the directories, read the
# secret of another user, change the user.
_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID")

DataPlace = Literal["tmpfs", "volume"]


@dataclass(frozen=True)
class _Secrets:
    """Passwords of one server; they live in a private directory and in this process."""

    root: str = field(repr=False)
    user: str = field(repr=False)

    def redact(self, text: str) -> str:
        return text.replace(self.root, "***").replace(self.user, "***")


class DockerServer:
    """A mysqld in a container."""

    def __init__(
        self,
        container: Container,
        spec: LaunchSpec,
        name: str,
        image: ResolvedImage,
        passwords: _Secrets,
    ) -> None:
        self._container = container
        self._spec = spec
        self._name = name
        self._image = image
        self._secrets = passwords
        self._port = 0
        self.ready_s = 0.0

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint("127.0.0.1", self._port, _USER, self._secrets.user)

    @property
    def container_name(self) -> str:
        return str(self._container.name)

    @property
    def pid(self) -> int:
        """mysqld's process id on the host: the container's first process, or one below it."""
        first = int(state_of(self._container).get("Pid", 0))
        if _command_of(first) in ("mysqld", ""):
            return first
        with speaking_to_engine(f"the processes of {self.container_name} cannot be listed"):
            table = self._container.top(ps_args="-eo pid,comm")
        return next((int(pid) for pid, command in table["Processes"] if command == "mysqld"), first)

    def info(self) -> ServerInfo:
        admin = Admin(self.endpoint)
        try:
            settings = admin.variables()
        finally:
            admin.close()
        return ServerInfo(
            role=self._spec.role,
            name=self._name,
            requested=self._spec.requested,
            version=settings["version"].split("-")[0],
            version_comment=settings.get("version_comment", ""),
            backend="docker",
            source=self._image.source,
            sha256=self._image.sha256,
            digest=self._image.digest,
            build_id=self._build_id(),
            server_uuid=settings["server_uuid"],
            substitution=self._image.substitution,
            environment={**self._image.environment, **self._spec.environment},
            arguments=dict(self._spec.arguments),
            limits=_limits_as_numbers(self._spec.limits),
            ready_s=self.ready_s,
            settings=settings,
        )

    def log_tail(self, lines: int = 20) -> str:
        try:
            words = self._container.logs(tail=lines)
        except (DockerException, RequestException):
            return ""
        return self._secrets.redact(words.decode("utf-8", errors="replace").rstrip())

    def why_dead(self) -> str:
        with speaking_to_engine(f"the state of {self.container_name} cannot be read"):
            return describe_state(state_of(self._container), self._spec.limits)

    def login(self, deadline_s: float) -> None:
        """Wait until root can log in by TCP to the right version; make the drivers' account."""
        self._port = self._published_port()
        root = Endpoint("127.0.0.1", self._port, "root", self._secrets.root)
        admin = Admin.wait(root, self._image.version_prefix, deadline_s, self.why_dead)
        try:
            admin.create_user(_USER, self._secrets.user)
        finally:
            admin.close()

    def _published_port(self) -> int:
        self._container.reload()
        for binding in self._container.ports.get(_PORT) or []:
            if binding["HostIp"] == "127.0.0.1":
                return int(binding["HostPort"])
        raise ServerFailed(f"mysqld ended at once: {self.why_dead() or 'no port is published'}")

    def _build_id(self) -> str:
        """From the running file; where /proc denies that, from the archive or the container."""
        found = build_id(Path(f"/proc/{self.pid}/exe"))
        if found:
            return found
        if self._image.made_of:
            return build_id(self._image.made_of.mysqld)
        with suppress(DockerException, RequestException, tarfile.TarError, KeyError):
            return _build_id_inside(self._container, "/usr/sbin/mysqld")
        return ""


class DockerBackend:
    """Starts mysqld in containers of this host's engine.

    As a context manager it also removes, at the end, whatever of the run is still there: a
    container whose creation was interrupted before its id was known, for instance.
    """

    name: BackendName = "docker"

    def __init__(
        self,
        run_id: str,
        progress: Callable[[str], None] = lambda _: None,
        *,
        data: DataPlace = "tmpfs",
        tmpfs_bytes: int = _TMPFS_BYTES,
        deadline_s: float = _START_DEADLINE_S,
        resolver: Callable[[DockerClient, Callable[[str], None]], ImageResolver] = ImageResolver,
    ) -> None:
        self._run_id = run_id
        self._progress = progress
        self._data = data
        self._tmpfs_bytes = tmpfs_bytes
        self._deadline_s = deadline_s
        self._make_resolver = resolver
        self._client: DockerClient | None = None
        self._resolver: ImageResolver | None = None

    def __enter__(self) -> Self:
        self._connected()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove every container of this run, then let go of the engine."""
        if self._client is None:
            return
        with suppress(DockerException, RequestException):
            remove_run(self._client, self._run_id)
        self._client.close()
        self._client = self._resolver = None

    def provides(self, version: str) -> bool:
        return self._connected()[1].provides(version)

    def launch(self, spec: LaunchSpec, name: str) -> AbstractContextManager[Server]:
        if spec.place.apart or spec.files:
            raise UsageError(
                "a network or certificates of its own need mysqld as a local process",
                "use --backend local",
            )
        return self._launch(spec, name)

    @contextmanager
    def _launch(self, spec: LaunchSpec, name: str) -> Iterator[Server]:
        client, resolver = self._connected()
        image = resolver.resolve(spec)
        passwords = _Secrets(secrets.token_urlsafe(18), secrets.token_urlsafe(18))
        container_name = _container_name(self._run_id, name)
        with work_directory(self._run_id) as private, _removed(client, container_name):
            started = time.monotonic()
            options = self._options(spec, name, image, private, passwords)
            with speaking_to_engine(f"the container of {name} cannot be started"):
                container = client.containers.create(image.id, name=container_name, **options)
                container.start()
            server = DockerServer(container, spec, name, image, passwords)
            try:
                server.login(self._deadline_s)
                server.ready_s = round(time.monotonic() - started, 3)
                yield server
            except ServerFailed as error:
                if error.hint:
                    raise
                raise ServerFailed(
                    f"{name} ({image.source}): {error.message}", server.log_tail()
                ) from error

    def _connected(self) -> tuple[DockerClient, ImageResolver]:
        if self._client is None or self._resolver is None:
            self._client = connect()
            self._resolver = self._make_resolver(self._client, self._progress)
        return self._client, self._resolver

    def _options(
        self,
        spec: LaunchSpec,
        name: str,
        image: ResolvedImage,
        private: Path,
        passwords: _Secrets,
    ) -> dict[str, Any]:
        secret = private / "root-password"
        secret.touch(mode=0o600)
        secret.write_text(passwords.root, encoding="ascii")
        configuration = private / "mysqlprof.cnf"
        configuration.write_text(cnf_fragments(), encoding="utf-8")
        configuration.chmod(0o644)  # mysqld reads it as another user, whatever our umask
        return {
            "command": [f"--{key}={value}" for key, value in spec.arguments.items()],
            "environment": {
                **image.environment,
                **spec.environment,
                "MYSQL_ROOT_PASSWORD_FILE": _SECRET,
                "MYSQL_INITDB_SKIP_TZINFO": "1",  # seconds of every first start, for nothing
            },
            "hostname": "mysqlprof",
            "labels": labels(self._run_id, role=spec.role, name=name),
            "log_config": LogConfig(type=LogConfig.types.JSON, config={"max-size": "20m"}),
            "mounts": [_read_only(secret, _SECRET), _read_only(configuration, _CONFIGURATION)],
            "ports": {_PORT: ("127.0.0.1", None)},
            "cap_drop": ["ALL"],
            "cap_add": list(_CAPABILITIES),
            "security_opt": ["no-new-privileges:true"],
            **self._data_options(),
            **_limit_options(spec.limits),
        }

    def _data_options(self) -> dict[str, Any]:
        if self._data == "volume":
            return {}  # the image's own VOLUME: anonymous, removed with the container
        return {"tmpfs": {_DATA: f"size={self._tmpfs_bytes},mode=1777"}}


@contextmanager
def _removed(client: DockerClient, name: str) -> Iterator[None]:
    """Whatever happens inside, no container of this name is left.

    By name, since an interrupt may strike after the engine has made the container and before it
    has told us its id; and again for a moment, since it may still be making it.
    """
    try:
        yield
    except BaseException as error:
        refused = isinstance(error, UsageError | EnvironmentLacks)  # so there never was one
        deadline = time.monotonic() + (0.0 if refused else 2.0)
        while not _try_remove(client, name) and time.monotonic() < deadline:
            time.sleep(0.1)
        raise
    else:
        _try_remove(client, name)


def _try_remove(client: DockerClient, name: str) -> bool:
    """False when there was nothing to remove. The engine's failure must not hide the cause."""
    try:
        return remove_container(client, name)
    except (DockerException, RequestException):
        return False


def describe_state(state: dict[str, Any], limits: Limits = Limits()) -> str:
    """The engine's State -> why mysqld is dead, or "" while it lives."""
    if not state:
        return "its container was removed by somebody else"
    if state["Running"] and not state.get("Dead"):
        return ""
    code = int(state.get("ExitCode", 0))
    if state.get("OOMKilled"):
        limit = limits.memory_bytes
        return "OOM-killed" + (f" at its memory limit of {limit // 2**20} MiB" if limit else "")
    if state.get("Error"):
        return str(state["Error"])
    if code > 128:
        return f"killed by signal {code - 128}"
    return f"exited with status {code}"


def _container_name(run_id: str, name: str) -> str:
    """Of the characters that the engine allows, and unique also within the run."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", f"mysqlprof-{run_id}-{name}-{secrets.token_hex(3)}")


def _read_only(source: Path, target: str) -> Mount:
    return Mount(target=target, source=str(source), type="bind", read_only=True)


def _limit_options(limits: Limits) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if limits.cpus is not None:
        options["nano_cpus"] = int(limits.cpus * 1e9)
    if limits.memory_bytes is not None:
        # Equal, or the container would swap instead of meeting its limit.
        options["mem_limit"] = options["memswap_limit"] = limits.memory_bytes
    return options


def _limits_as_numbers(limits: Limits) -> dict[str, float]:
    known = {"cpus": limits.cpus, "memory_bytes": limits.memory_bytes}
    return {key: value for key, value in known.items() if value is not None}


def _command_of(pid: int) -> str:
    """The process's name; empty where it cannot be seen from here."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _build_id_inside(container: Container, path: str) -> str:
    """The build id of a file in a container, through the engine (needs no right on /proc)."""
    for _ in range(2):  # the path itself may be a symbolic link
        with tempfile.TemporaryFile() as spool, tempfile.NamedTemporaryFile() as file:
            chunks, about = container.get_archive(path)
            if about and about["linkTarget"]:
                path = str(about["linkTarget"])
                continue
            for chunk in chunks:
                spool.write(chunk)
            spool.seek(0)
            with tarfile.open(fileobj=spool) as tar:
                member = tar.extractfile(tar.getmembers()[0])
                file.write(member.read() if member else b"")
            file.flush()
            return build_id(Path(file.name))
    return ""
