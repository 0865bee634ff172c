"""Fixtures that the Docker tests share. Loaded by `pytest_plugins` in the modules that want it."""

import secrets
from collections.abc import Callable, Iterator

import pytest
from docker import DockerClient
from docker_helpers import installed

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.servers import catalog
from mysqlprof.servers.engine import connect
from mysqlprof.servers.image import build_image
from mysqlprof.servers.resolve import ImageResolver


@pytest.fixture(scope="session")
def engine() -> Iterator[DockerClient]:
    try:
        client = connect()
    except EnvironmentLacks as error:
        pytest.skip(f"{error.message}: {error.hint}")
    yield client
    client.close()


@pytest.fixture(scope="session")
def image_of(engine: DockerClient) -> Callable[[str], str]:
    """Version -> the reference of the image built from its archive."""

    def build(version: str) -> str:
        return build_image(engine, installed(version))

    return build


@pytest.fixture(scope="session")
def offline(engine: DockerClient) -> Callable[..., ImageResolver]:
    """A resolver for DockerBackend that knows beforehand that nothing can be pulled."""

    def resolver(client: DockerClient, progress: Callable[[str], None]) -> ImageResolver:
        nothing = {entry.image: "this test pulls nothing" for entry in catalog.entries()}
        return ImageResolver(client, progress, failed_pulls=nothing)

    return resolver


@pytest.fixture
def run_id() -> str:
    return f"test{secrets.token_hex(4)}"
