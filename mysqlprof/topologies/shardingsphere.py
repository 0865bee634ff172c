"""ShardingSphere-Proxy in front of one server, without any sharding: the jars come from Maven."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from mysqlprof.cache import cache_dir
from mysqlprof.children import free_port
from mysqlprof.model import Endpoint, Place
from mysqlprof.packages import pinned_maven_tree, require
from mysqlprof.topologies.answers import answers
from mysqlprof.topologies.programs import program
from mysqlprof.workdir import work_directory, write_private

VERSION = "5.1.0"

_COORDINATES = f"org.apache.shardingsphere:shardingsphere-proxy-bootstrap:{VERSION}"
_SHA256 = "7c2f9326d66cd306dc6796dd42a33357fc15aaa47fd23f84217d93aa05d83b4a"
"""Of `sha256sum *.jar`'s lines, sorted by name."""
_MAIN = "org.apache.shardingsphere.proxy.Bootstrap"
_JVM_OPTIONS = ["-Xms256m", "-Xmx1g", "-XX:+UseSerialGC", "-Duser.timezone=UTC"]
_INSTALL_JAVA = "sudo apt-get install -y --no-install-recommends default-jdk-headless"
_DEADLINE_S = 90.0
# Its packet dump, on below this level, costs more than the proxying.
_LOGGING = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %level %logger - %msg%n</pattern></encoder>
  </appender>
  <root level="error"><appender-ref ref="out"/></root>
</configuration>
"""


@dataclass(frozen=True)
class ShardingSphereProxy:
    endpoint: Endpoint
    """With the login of the server behind it; its schemas are called as `schema` was."""
    product: str
    driver: str
    """The jar by which it speaks to the server."""
    pid: int
    log: Path


@contextmanager
def shardingsphere_proxy(
    server: Endpoint,
    schema: str,
    *,
    place: Place,
    driver: Path | None = None,
    properties: Mapping[str, str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[ShardingSphereProxy]:
    """A proxy for the database `schema`, which must exist, through which a login has succeeded.

    `driver` is a Connector/J jar instead of the 5.1.47 that it brings; `properties` are added to
    the URL by which it reaches the server. It listens on every address of its place: in a network
    apart that is the other host's only, on this host it is all of them, guarded by the server's
    password. Raises EnvironmentLacks or ServerFailed.
    """
    java = require("java", _INSTALL_JAVA)
    jars = _jars(driver, progress)
    with work_directory("shardingsphere") as work:
        endpoint = replace(
            server, host=place.address, port=free_port(), socket="", apart=place.apart
        )
        configuration = _configure(work / "conf", server, schema, properties or {})
        class_path = os.pathsep.join(str(path) for path in (configuration, *jars))
        command = [java, *_JVM_OPTIONS, "-cp", class_path, _MAIN, str(endpoint.port)]
        command.append(str(configuration))
        with program("shardingsphere", command, work, prefix=place.prefix) as running:
            running.await_ready(lambda: answers(endpoint, place), _DEADLINE_S)
            yield ShardingSphereProxy(
                endpoint,
                f"ShardingSphere-Proxy {VERSION}",
                next(jar.name for jar in jars if _is_driver(jar)),
                running.pid,
                running.log,
            )


def _configure(folder: Path, server: Endpoint, schema: str, properties: Mapping[str, str]) -> Path:
    """Its files. JSON's strings are YAML's, with the same escapes: nothing can break out."""
    folder.mkdir(mode=0o700)
    query = urlencode({"useSSL": "false", **properties})
    source = {
        "url": f"jdbc:mysql://{server.host}:{server.port}/{schema}?{query}",
        "username": server.user,
        "password": server.password,
    }
    lines = "".join(f"    {key}: {json.dumps(value)}\n" for key, value in source.items())
    files = {
        "server.yaml": (
            "rules:\n  - !AUTHORITY\n"
            f"    users: [{json.dumps(f'{server.user}@%:{server.password}')}]\n"
            "    provider:\n      type: ALL_PRIVILEGES_PERMITTED\n"
        ),
        "config-schema.yaml": (
            f"schemaName: {json.dumps(schema)}\ndataSources:\n  storage:\n{lines}rules: []\n"
        ),
        "logback.xml": _LOGGING,
    }
    for name, text in files.items():
        write_private(folder / name, text)
    return folder


def _jars(driver: Path | None, progress: Callable[[str], None]) -> list[Path]:
    """What it needs, with one Connector/J only: two on a class path are one too many."""
    home = cache_dir("shardingsphere") / f"proxy-{VERSION}-{_SHA256[:12]}"
    jars = pinned_maven_tree(_COORDINATES, _SHA256, home, progress)
    return [*(jar for jar in jars if not _is_driver(jar)), driver] if driver else jars


def _is_driver(jar: Path) -> bool:
    return "mysql-connector" in jar.name or "connector-j-" in jar.name
