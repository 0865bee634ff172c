"""Remove what killed runs left behind, in every backend."""

from dataclasses import dataclass, field

from docker import DockerClient

from mysqlprof import workdir
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.servers import engine


@dataclass
class Cleaned:
    found: list[str] = field(default_factory=list)
    """One description each; they were removed, unless it was a dry run."""
    unseen: str = ""
    """Why containers could not be looked at; empty when they were, or when no engine runs."""


def clean(*, everything: bool = False, images: bool = False, dry_run: bool = False) -> Cleaned:
    """Look for leftovers and, unless `dry_run`, remove them.

    What belongs to a living run is spared unless `everything`. With `images`, those that were
    built here go, too.
    """
    cleaned = Cleaned()
    try:
        client = engine.connect()
    except EnvironmentLacks as error:
        cleaned.unseen = error.message
    else:
        try:
            _clean_engine(client, cleaned, everything, images, dry_run)
        finally:
            client.close()
    for directory in workdir.leftovers(also_living=everything):
        cleaned.found.append(directory.describe())
        if not dry_run:
            workdir.remove(directory)
    return cleaned


def _clean_engine(
    client: DockerClient, cleaned: Cleaned, everything: bool, images: bool, dry_run: bool
) -> None:
    for container in engine.find_leftovers(client, also_living=everything):
        cleaned.found.append(container.describe())
        if not dry_run:
            engine.remove_leftover(client, container)
    for image in engine.built_images(client) if images else []:
        cleaned.found.append(image.describe())
        if not dry_run:
            engine.remove_image(client, image)
