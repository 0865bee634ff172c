"""Remove what killed runs left behind, in every backend."""

from contextlib import suppress

from docker.errors import DockerException

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.servers import engine, workdir


def clean(*, everything: bool = False, dry_run: bool = False) -> list[str]:
    """Descriptions of what was found (and, unless `dry_run`, removed).

    What belongs to a living run is spared unless `everything`.
    """
    found = []
    with suppress(EnvironmentLacks, DockerException, OSError):
        client = engine.connect()
        try:
            for container in engine.find_leftovers(client, also_living=everything):
                found.append(container.describe())
                if not dry_run:
                    engine.remove_leftover(client, container)
        finally:
            client.close()
    for directory in workdir.leftovers(also_living=everything):
        found.append(directory.describe())
        if not dry_run:
            workdir.remove(directory)
    return found
