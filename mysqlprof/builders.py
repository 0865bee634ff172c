"""Who built the servers that are compared."""

from collections.abc import Sequence

from mysqlprof.model import Caveat, ServerInfo

_OF_MYSQL = "MySQL Community Server"


def different_builders(servers: Sequence[ServerInfo]) -> list[Caveat]:
    """A caveat where servers were not built by the same people, by their own version_comment.

    MySQL Community Server - GPL; MySQL Community Server (GPL); (Debian); Percona Server (GPL)...
    """
    versions: dict[str, list[str]] = {}
    for server in servers:
        known = versions.setdefault(_builder(server.version_comment), [])
        if server.version not in known:
            known.append(server.version)
    if len(versions) < 2:
        return []
    named = "; ".join(f"{who} built {', '.join(found)}" for who, found in versions.items())
    text = (
        f"{named}: a difference between them may be the compiler's, its options'"
        " or the C library's, and not the version's"
    )
    return [Caveat(kind="builders", text=text)]


def _builder(version_comment: str) -> str:
    return "MySQL" if version_comment.startswith(_OF_MYSQL) else version_comment.strip("() ")
