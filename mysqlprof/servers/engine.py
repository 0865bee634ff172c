"""The Docker engine: connecting to it, its errors in our words, what we left behind on it."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import docker
import requests
from docker import DockerClient
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container

from mysqlprof.errors import EnvironmentLacks, MysqlprofError, ServerFailed, UsageError
from mysqlprof.owner import Owner

LABEL = "io.mysqlprof"
RUN_LABEL = f"{LABEL}.run"
_VERSION = f"{LABEL}.version"

_TIMEOUT_S = 60
_DEFAULT_HOST = "unix:///var/run/docker.sock"
_START_ENGINE = (
    "sudo systemctl start docker (without systemd: sudo dockerd &), or use --backend local"
)


def connect(timeout_s: int = _TIMEOUT_S) -> DockerClient:
    """A client of this host's engine; EnvironmentLacks says what to run where there is none."""
    _knock(os.environ.get("DOCKER_HOST") or _DEFAULT_HOST)
    try:
        return docker.from_env(timeout=timeout_s)
    except DockerException as error:
        raise EnvironmentLacks(
            f"the Docker engine cannot be used: {error}", "check that `docker version` answers"
        ) from error


def _knock(host: str) -> None:
    """Ask the kernel for the socket first: its refusals are plainer than the SDK's."""
    if not host.startswith("unix://"):
        raise EnvironmentLacks(
            f"DOCKER_HOST is {host}: mysqld can be profiled only by an engine on this host, "
            "reached by its socket",
            "unset DOCKER_HOST, or run mysqlprof on that host",
        )
    try:
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(host.removeprefix("unix://"))
    except PermissionError as error:
        raise EnvironmentLacks(
            "the Docker engine's socket may not be used by this user",
            "sudo usermod -aG docker $USER, then log in again (or run mysqlprof with sudo)",
        ) from error
    except FileNotFoundError as error:
        raise EnvironmentLacks(
            "no Docker engine runs on this host",
            f"sudo apt-get install -y docker.io && {_START_ENGINE}",
        ) from error
    except OSError as error:
        raise EnvironmentLacks(
            f"the Docker engine does not answer at its socket: {error.strerror}", _START_ENGINE
        ) from error


def engine_error(error: APIError, doing: str) -> MysqlprofError:
    """An engine's refusal as the user should meet it; `doing` begins the sentence."""
    why = explanation(error)
    if "no space left on device" in why:
        return EnvironmentLacks(
            f"{doing}: the engine's disk is full", "free some space, e.g. docker system prune"
        )
    if error.status_code == 400:
        return UsageError(f"{doing}: {why}", "change the limits or options that it names")
    return ServerFailed(f"{doing}: {why}")


def explanation(error: APIError) -> str:
    """The engine's own words, on one line."""
    return " ".join(str(error.explanation or error).split())


@contextmanager
def speaking_to_engine(doing: str) -> Iterator[None]:
    """Errors of the engine and of the way to it, as ours."""
    try:
        yield
    except APIError as error:
        raise engine_error(error, doing) from error
    except (DockerException, requests.RequestException) as error:
        raise ServerFailed(
            f"{doing}: the Docker engine does not answer ({error})",
            "check that it still runs: docker version",
        ) from error


def labels(run_id: str, **more: str) -> dict[str, str]:
    """What marks a container as ours, its run's, and its orchestrator's."""
    words = {"run": run_id, **Owner.myself().words(), **more}
    return {f"{LABEL}.{key}": value for key, value in words.items()}


@dataclass(frozen=True)
class ContainerLeftover:
    """A container of a run. `lives` when that run's orchestrator may still be at work."""

    id: str
    name: str
    run_id: str
    state: str
    lives: bool

    def describe(self) -> str:
        return f"container {self.name} ({self.state}) of run {self.run_id}"


def find_leftovers(client: DockerClient, *, also_living: bool = False) -> list[ContainerLeftover]:
    """Containers, in any state, of runs that are over (or of all runs, with `also_living`)."""
    with speaking_to_engine("containers cannot be listed"):
        found = client.api.containers(all=True, filters={"label": RUN_LABEL})
    leftovers = (_leftover(row) for row in found)
    chosen = (leftover for leftover in leftovers if also_living or not leftover.lives)
    return sorted(chosen, key=lambda leftover: leftover.name)


def _leftover(row: Mapping[str, Any]) -> ContainerLeftover:
    marks = {
        key.removeprefix(f"{LABEL}."): value
        for key, value in row["Labels"].items()
        if key.startswith(f"{LABEL}.")
    }
    state = str(row["State"])
    name = row["Names"][0].lstrip("/") if row["Names"] else row["Id"][:12]
    return ContainerLeftover(
        row["Id"], name, marks["run"], state, _may_live(Owner.from_words(marks), state)
    )


def _may_live(owner: Owner | None, state: str) -> bool:
    if owner is None:
        return False
    # Running, yet started by a process of another boot: another host shares this engine.
    return owner.lives() or (not owner.of_this_boot() and state == "running")


def remove_leftover(client: DockerClient, leftover: ContainerLeftover) -> None:
    with speaking_to_engine(f"{leftover.describe()} cannot be removed"):
        remove_container(client, leftover.id)


def remove_container(client: DockerClient, id_or_name: str) -> bool:
    """Kill and remove a container with its anonymous volumes; False when there is none."""
    try:
        client.api.remove_container(id_or_name, v=True, force=True)
    except NotFound:
        return False
    except APIError as error:
        # Somebody else (docker rm, an earlier Ctrl-C's request) is at it: that is all we want.
        if error.status_code != 409 or "already in progress" not in explanation(error):
            raise
    return True


def remove_run(client: DockerClient, run_id: str) -> int:
    """Remove all containers of this run; how many there were."""
    found = client.api.containers(all=True, filters={"label": f"{RUN_LABEL}={run_id}"})
    return sum(remove_container(client, row["Id"]) for row in found)


@dataclass(frozen=True)
class BuiltImage:
    """An image that mysqlprof built on this host; a cache, so of no run."""

    id: str
    reference: str
    version: str

    def describe(self) -> str:
        return f"image {self.reference}"


def built_images(client: DockerClient) -> list[BuiltImage]:
    """All images built here, also those that a newer build of the same version replaced."""
    with speaking_to_engine("images cannot be listed"):
        found = client.images.list(filters={"label": _VERSION})
    rows = (
        BuiltImage(str(image.id), (image.tags or [image.short_id])[0], image.labels[_VERSION])
        for image in found
    )
    return sorted(rows, key=lambda image: image.reference)


def remove_image(client: DockerClient, image: BuiltImage) -> None:
    with speaking_to_engine(f"{image.describe()} cannot be removed"):
        client.images.remove(image.reference)


def state_of(container: Container) -> dict[str, Any]:
    """The engine's State object, fresh; empty when the container is gone."""
    try:
        container.reload()
    except NotFound:
        return {}
    state: dict[str, Any] = container.attrs["State"]
    return state
