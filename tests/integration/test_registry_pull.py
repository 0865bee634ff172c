"""The pull path, against a registry on loopback: by tag, by pinned digest, and when it fails."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from docker import DockerClient
from docker.errors import ImageNotFound
from docker_helpers import VERSION, installed, of_run

from mysqlprof.errors import EnvironmentLacks, ServerFailed
from mysqlprof.model import LaunchSpec
from mysqlprof.servers.catalog import CatalogEntry
from mysqlprof.servers.catalog import find as find_in_catalog
from mysqlprof.servers.docker import DockerBackend
from mysqlprof.servers.engine import LABEL
from mysqlprof.servers.image import build_image
from mysqlprof.servers.resolve import ImageResolver

pytest_plugins = ["docker_fixtures"]
pytestmark = [pytest.mark.docker, pytest.mark.server]

SPEC = LaunchSpec("before", VERSION)
WRONG = "sha256:" + "0" * 64

CONFIGURATION = """\
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {storage}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@dataclass(frozen=True)
class Registry:
    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def repository(self) -> str:
        return f"localhost:{self.port}/mysql"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def registry(engine: DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("docker-registry is not installed: sudo apt-get install docker-registry")
    folder = tmp_path_factory.mktemp("registry")
    port = free_port()
    configuration = folder / "config.yml"
    configuration.write_text(CONFIGURATION.format(storage=folder / "storage", port=port))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, "serve", str(configuration)], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_for(port)
        yield Registry(port, process)
    finally:
        process.terminate()
        process.wait(timeout=10)


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@pytest.fixture(scope="module")
def pushed(engine: DockerClient, registry: Registry) -> str:
    """The digest of REPOSITORY:5.7.22 in the registry; the image itself is not on this host."""
    # Unlike the image that other tests use, so that it can be removed, layers and all.
    made_of = replace(installed(VERSION), flags={"loose-registry-test": str(registry.port)})
    built = build_image(engine, made_of)
    engine.images.get(built).tag(registry.repository, VERSION)
    for line in engine.images.push(registry.repository, tag=VERSION, stream=True, decode=True):
        assert "error" not in line
    digest = engine.images.get_registry_data(f"{registry.repository}:{VERSION}").id
    engine.images.remove(f"{registry.repository}:{VERSION}")
    engine.images.remove(built)
    return str(digest)


@pytest.fixture
def forgotten(engine: DockerClient, registry: Registry) -> Iterator[None]:
    """What this test pulls is not there before it, nor after it."""
    yield
    for image in engine.images.list(filters={"label": f"{LABEL}.version"}):
        own = [d for d in image.attrs["RepoDigests"] or [] if d.startswith(registry.repository)]
        if own:
            engine.images.remove(image.id, force=True)


def backend(run_id: str, entry: CatalogEntry) -> DockerBackend:
    return DockerBackend(
        run_id,
        resolver=lambda client, progress: ImageResolver(
            client, progress, find=lambda _: entry, failed_pulls={}
        ),
    )


def resolver(
    engine: DockerClient, entry: CatalogEntry, nearest: str = VERSION, said: list[str] | None = None
) -> ImageResolver:
    return ImageResolver(
        engine,
        (said if said is not None else []).append,
        find=lambda _: entry,
        nearest=lambda _: find_in_catalog(nearest),
        failed_pulls={},
    )


def test_a_tag_is_pulled_run_and_recorded_with_its_digest(
    engine: DockerClient, registry: Registry, pushed: str, forgotten: None, run_id: str
) -> None:
    entry = CatalogEntry(version=VERSION, image=f"{registry.repository}:{VERSION}")
    with pytest.raises(ImageNotFound):
        engine.images.get(entry.image)
    with backend(run_id, entry) as docker, docker.launch(SPEC, "before") as server:
        info = server.info()
    assert info.version == VERSION
    assert info.source == entry.image
    assert info.digest == pushed
    assert info.substitution == ""
    assert info.sha256 == ""
    assert info.build_id == "6937b2d474ad4cf841db252edbfd9c28c0a1b37f"
    assert of_run(engine, run_id) == []


def test_the_pinned_digest_is_pulled_and_verified(
    engine: DockerClient, registry: Registry, pushed: str, forgotten: None
) -> None:
    entry = CatalogEntry(version=VERSION, image=f"{registry.repository}:{VERSION}", digest=pushed)
    said: list[str] = []
    image = resolver(engine, entry, said=said).resolve(SPEC)
    assert image.digest == pushed
    assert said == [f"pulling {registry.repository}@{pushed}"]
    assert resolver(engine, entry, said=said).resolve(SPEC) == image
    assert len(said) == 1  # the second time it is there already


def test_another_digest_than_the_pinned_one_is_refused_naming_both(
    engine: DockerClient, registry: Registry, pushed: str, forgotten: None
) -> None:
    entry = CatalogEntry(version=VERSION, image=f"{registry.repository}:{VERSION}", digest=WRONG)
    with pytest.raises(ServerFailed) as caught:
        resolver(engine, entry).resolve(SPEC)
    assert WRONG in caught.value.message
    assert pushed in caught.value.message


def test_a_local_image_of_the_tag_does_not_satisfy_another_pin(
    engine: DockerClient, registry: Registry, pushed: str, forgotten: None
) -> None:
    free = CatalogEntry(version=VERSION, image=f"{registry.repository}:{VERSION}")
    resolver(engine, free).resolve(SPEC)
    with pytest.raises(ServerFailed, match=WRONG):
        resolver(engine, free.model_copy(update={"digest": WRONG})).resolve(SPEC)


def test_a_pinned_tag_that_is_not_there_says_so(
    engine: DockerClient, registry: Registry, pushed: str
) -> None:
    entry = CatalogEntry(version="1", image=f"{registry.repository}:none", digest=WRONG)
    with pytest.raises(ServerFailed, match="but it was not found"):
        resolver(engine, entry).resolve(LaunchSpec("before", "1"))


def test_a_tag_that_the_registry_lacks_is_substituted_and_said(
    engine: DockerClient, registry: Registry, pushed: str
) -> None:
    entry = CatalogEntry(version="5.7.38", image=f"{registry.repository}:5.7.38")
    image = resolver(engine, entry).resolve(LaunchSpec("before", "5.7.38"))
    assert image.version_prefix == VERSION
    assert image.substitution.startswith(
        f"MySQL 5.7.38 was asked for, but the image {registry.repository}:5.7.38 could not be "
        "pulled (its registry does not hold it"
    )
    assert image.substitution.endswith(
        f"an image built from the package archive of {VERSION} is used instead"
    )
    assert image.digest == image.id


def test_an_own_image_is_pulled_but_never_substituted(
    engine: DockerClient, registry: Registry, pushed: str, forgotten: None
) -> None:
    entry = find_in_catalog(VERSION)
    own = LaunchSpec("before", "mine", image=f"{registry.repository}@{pushed}")
    assert resolver(engine, entry).resolve(own).digest == pushed
    with pytest.raises(EnvironmentLacks, match="cannot be pulled: its registry does not hold it"):
        resolver(engine, entry).resolve(replace(own, image=f"{registry.repository}:none"))


def test_without_a_registry_it_is_asked_once_and_the_substitute_is_named(
    engine: DockerClient,
) -> None:
    image = f"localhost:{free_port()}/mysql:5.7.38"
    asked = resolver(engine, CatalogEntry(version="5.7.38", image=image))
    started = time.monotonic()
    first = asked.resolve(LaunchSpec("before", "5.7.38"))
    assert "its registry refuses connections" in first.substitution
    assert time.monotonic() - started < 10
    assert asked.resolve(LaunchSpec("before", "5.7.38")) == first
    assert asked._failed == {image: "its registry refuses connections"}


def test_a_registry_that_never_answers_is_given_up(
    engine: DockerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mysqlprof.servers.resolve._REGISTRY_TIMEOUT_S", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        image = f"localhost:{silent.getsockname()[1]}/mysql:5.7.38"
        asked = resolver(engine, CatalogEntry(version="5.7.38", image=image))
        started = time.monotonic()
        found = asked.resolve(LaunchSpec("before", "5.7.38"))
    assert time.monotonic() - started < 10
    assert "its registry did not answer within 1 s" in found.substitution


def test_the_same_version_from_an_archive_is_no_substitution(engine: DockerClient) -> None:
    entry = find_in_catalog(VERSION).model_copy(
        update={"image": f"localhost:{free_port()}/mysql:{VERSION}"}
    )
    image = resolver(engine, entry).resolve(SPEC)
    assert image.substitution == ""
    assert image.source.startswith("maven:")
