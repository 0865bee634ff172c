"""Containers in tests: start, wait, log in, look."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest
from docker import DockerClient
from docker.models.containers import Container

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.servers import catalog
from mysqlprof.servers.archives import Installation, installation

VERSION = "5.7.22"
"""The fastest to initialise."""


def installed(version: str) -> Installation:
    try:
        return installation(catalog.find(version))
    except EnvironmentLacks as error:
        pytest.skip(f"{error.message}: {error.hint}")


def of_run(client: DockerClient, run_id: str) -> list[Container]:
    """All containers of a run, in any state."""
    found: list[Container] = client.containers.list(
        all=True, filters={"label": f"io.mysqlprof.run={run_id}"}
    )
    return found


def volumes(client: DockerClient) -> set[str]:
    return {str(volume.name) for volume in client.volumes.list()}


@contextmanager
def running(client: DockerClient, image: str, *command: str, **options: Any) -> Iterator[Container]:
    """A container of an image, started; removed with its volumes whatever happens."""
    container = client.containers.create(
        image, list(command), ports={"3306/tcp": ("127.0.0.1", None)}, **options
    )
    try:
        container.start()
        yield container
    finally:
        container.remove(v=True, force=True)


def words(container: Container) -> str:
    return container.logs().decode()


def ended(container: Container) -> tuple[int, str]:
    """Exit status and log of a container that is expected to end by itself."""
    status = int(container.wait(timeout=60)["StatusCode"])
    return status, words(container)


def log_in(
    container: Container, password: str, user: str = "root", seconds: float = 60
) -> "pymysql.Connection[Any]":
    """The first TCP login that succeeds; a refusal by a server that runs is final."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            container.reload()
            port = int(container.ports["3306/tcp"][0]["HostPort"])
            return pymysql.connect(
                host="127.0.0.1",
                port=port,
                user=user,
                password=password.encode(),  # as str, PyMySQL would send Latin-1
                autocommit=True,
            )
        except (pymysql.MySQLError, OSError, KeyError) as error:
            refused = isinstance(error, pymysql.OperationalError) and error.args[0] in (1045, 1130)
            if refused or container.status == "exited" or time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def ask(connection: "pymysql.Connection[Any]", sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())
