"""ShardingSphere-JDBC in front of Connector/J, without any sharding. The jars come from Maven.

Its pool of connections to the server is made by itself, with useServerPrepStmts and
cachePrepStmts unless the URL says otherwise. It prepares on the server within the execute, since it
only then knows which server that is.
"""

from pathlib import Path
from typing import ClassVar

from mysqlprof.cache import cache_dir
from mysqlprof.drivers.connector_j import (
    ConnectorJ,
    compile_java,
    compiler,
    connector_jar,
    host_classes,
    java_command,
)
from mysqlprof.drivers.hosted import built
from mysqlprof.packages import pinned_maven_tree
from mysqlprof.workloads.tasks import Statement, Task

VERSION = "5.1.0"

_COORDINATES = f"org.apache.shardingsphere:shardingsphere-jdbc-core:{VERSION}"
_SHA256 = "c2bc85dcc5023ea26038e18e0890e95cbcf5a436400b4ff5f3a1c494d1232d8a"
"""Of `sha256sum *.jar`'s lines, sorted by name."""


class ShardingJdbc(ConnectorJ):
    """The application's side is Connector/J's own: the same URL, as that of a storage unit."""

    tasks: ClassVar[tuple[type[Task], ...]] = (Statement,)
    name = "sharding-jdbc"

    def command(self) -> list[str]:
        """No logging library is on its class path: it logs nothing."""
        home = cache_dir("shardingsphere") / f"jdbc-{VERSION}-{_SHA256[:12]}"
        library = [host_classes(), *pinned_maven_tree(_COORDINATES, _SHA256, home)]

        def build(folder: Path) -> None:
            compile_java(folder, "ShardingHost.java", library)

        own = built("sharding", f"{compiler()} {library[0].name} {_SHA256}", build)
        return java_command("ShardingHost", [own, *library, connector_jar(self.version)])

    def describe(self) -> dict[str, str]:
        return {
            **super().describe(),
            "version": VERSION,
            "behind it": f"Connector/J {self.version}",
        }
