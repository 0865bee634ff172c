"""The image built here keeps the official mysql image's contract, point by point."""

import gzip
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from docker import DockerClient
from docker.models.containers import Container
from docker.types import Mount
from docker_helpers import ask, ended, log_in, running, volumes, words

pytest_plugins = ["docker_fixtures"]
pytestmark = [pytest.mark.docker, pytest.mark.server]

ROOT = "r'o\\o\"t; -- $(id) `id` é"
"""A password with everything that a shell or SQL might trip over."""
USER = "us'er\\ %s"
IN_MEMORY = {"/var/lib/mysql": "size=1g,mode=1777"}


@pytest.fixture(scope="module", params=["5.7.22", "8.0.31"])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def image(version: str, image_of: Callable[[str], str]) -> str:
    return image_of(version)


def readable(folder: Path, **files: str | bytes) -> Path:
    """A directory of files that any user may read. `__` in a name stands for a dot."""
    folder.mkdir()
    folder.chmod(0o755)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(0o644)
    return folder


def mounted(source: Path, target: str) -> Mount:
    return Mount(target, str(source), type="bind", read_only=True)


# --- refused at once --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({}, "password option is not specified"),
        (
            {"MYSQL_ROOT_PASSWORD": "a", "MYSQL_ROOT_PASSWORD_FILE": "/b"},
            "Both MYSQL_ROOT_PASSWORD and MYSQL_ROOT_PASSWORD_FILE are set",
        ),
        ({"MYSQL_ROOT_PASSWORD_FILE": "/none"}, "MYSQL_ROOT_PASSWORD_FILE cannot be read: /none"),
        ({"MYSQL_ROOT_PASSWORD": "a", "MYSQL_USER": "root"}, 'MYSQL_USER="root"'),
    ],
    ids=["no password", "value and file", "no such file", "user root"],
)
def test_wrong_environment_is_an_error_before_anything_is_made(
    engine: DockerClient, image: str, environment: dict[str, str], sentence: str
) -> None:
    with running(engine, image, environment=environment, tmpfs=IN_MEMORY) as container:
        status, log = ended(container)
    assert status == 1
    assert sentence in log
    assert "Initializing database files" not in log


def test_an_unknown_option_ends_the_start_with_mysqlds_own_words(
    engine: DockerClient, image: str
) -> None:
    environment = {"MYSQL_ROOT_PASSWORD": "a"}
    with running(engine, image, "--no-such-option=1", environment=environment) as container:
        status, log = ended(container)
    assert status == 1
    assert "unknown variable 'no-such-option=1'" in log


def test_a_shell_script_in_initdb_is_refused_not_left_out(
    engine: DockerClient, image: str, tmp_path: Path
) -> None:
    folder = readable(tmp_path / "initdb", a__sh="echo hello\n")
    with running(
        engine,
        image,
        environment={"MYSQL_ROOT_PASSWORD": "a"},
        mounts=[mounted(folder, "/docker-entrypoint-initdb.d")],
    ) as container:
        status, log = ended(container)
    assert status == 1
    assert "a.sh: this image holds no mysql client" in log


# --- commands ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["--version"], ["mysqld", "--version"], ["-V"]])
def test_help_options_need_no_password(
    engine: DockerClient, image: str, version: str, command: list[str]
) -> None:
    with running(engine, image, *command) as container:
        status, log = ended(container)
    assert status == 0
    assert f"Ver {version}" in log


def test_another_command_is_run_instead(engine: DockerClient, image: str) -> None:
    with running(engine, image, "sh", "-c", "echo uid=$(id -u); exit 7") as container:
        status, log = ended(container)
    assert (status, log) == (7, "uid=0\n")


# --- a first start with everything, a second start, a clean end -----------------------------------


@pytest.fixture(scope="module")
def data(engine: DockerClient, image: str) -> Iterator[str]:
    """A named volume; one for each image."""
    volume = engine.volumes.create()
    yield str(volume.name)
    volume.remove(force=True)


@pytest.fixture(scope="module")
def first_start(
    engine: DockerClient, image: str, data: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Container]:
    folder = tmp_path_factory.mktemp("first")
    init = readable(
        folder / "initdb",
        **{
            "1_tables__sql": "-- a comment\nCREATE TABLE t (\n  a INT\n);\n"
            "INSERT INTO t VALUES (1);\n",
            "2_more__sql__gz": gzip.compress(b"INSERT INTO t VALUES (2);\n"),
            "notes__txt": "not for mysqld",
        },
    )
    settings = readable(folder / "conf", extra__cnf="[mysqld]\nback_log = 81\n")
    hidden = readable(folder / "secrets", root=ROOT, user=f"{USER}\n")
    for path in hidden.iterdir():
        path.chmod(0o600)
    with running(
        engine,
        image,
        "--max-connections=77",
        environment={
            "MYSQL_ROOT_PASSWORD_FILE": "/run/secrets/root",
            "MYSQL_PASSWORD_FILE": "/run/secrets/user",
            "MYSQL_DATABASE": "shop_1",
            "MYSQL_USER": "keeper",
        },
        mounts=[
            mounted(init, "/docker-entrypoint-initdb.d"),
            mounted(settings, "/etc/mysql/conf.d"),
            mounted(hidden, "/run/secrets"),
            Mount("/var/lib/mysql", data, type="volume"),
        ],
    ) as container:
        log_in(container, ROOT).close()
        yield container


@pytest.fixture
def root(first_start: Container) -> Iterator["pymysql.Connection[Any]"]:
    connection = log_in(first_start, ROOT)
    yield connection
    connection.close()


def inside(container: Container, command: str) -> str:
    return container.exec_run(["sh", "-c", command]).output.decode()


def test_the_server_is_process_1_and_runs_as_mysql(first_start: Container) -> None:
    assert inside(first_start, "cat /proc/1/comm") == "mysqld\n"
    assert inside(first_start, "awk '/^Uid:/ {print $2, $3}' /proc/1/status") == "999 999\n"
    assert inside(first_start, "stat -c %U /var/lib/mysql/auto.cnf") == "mysql\n"


def test_the_temporary_server_had_no_network(first_start: Container) -> None:
    log = words(first_start)
    before, after = log.split("MySQL init process done. Ready for start up.")
    assert "Execution of init_file '/dev/shm/init.sql' started" in before
    assert "port: 3306" not in before
    assert "port: 3306" in after


def test_root_may_log_in_from_anywhere_and_only_with_the_password(
    first_start: Container, root: "pymysql.Connection[Any]"
) -> None:
    hosts = ask(root, "SELECT host FROM mysql.user WHERE user = 'root' ORDER BY host")
    assert hosts == [("%",), ("localhost",)]
    empty = "SELECT COUNT(*) FROM mysql.user WHERE user = 'root' AND authentication_string = ''"
    assert ask(root, empty) == [(0,)]
    with pytest.raises(pymysql.OperationalError, match="Access denied"):
        log_in(first_start, "")


def test_database_and_user_are_made_with_rights_on_that_database_alone(
    first_start: Container,
) -> None:
    connection = log_in(first_start, USER, user="keeper")
    try:
        assert [row for row in ask(connection, "SHOW DATABASES") if "shop" in row[0]] == [
            ("shop_1",)
        ]
        grants = "; ".join(row[0] for row in ask(connection, "SHOW GRANTS"))
        assert "ON `shop\\_1`.*" in grants
        with pytest.raises(pymysql.MySQLError, match="denied"):
            ask(connection, "CREATE DATABASE shopx1")
    finally:
        connection.close()


def test_initdb_files_are_run_in_order_in_that_database(
    first_start: Container, root: "pymysql.Connection[Any]"
) -> None:
    assert ask(root, "SELECT a FROM shop_1.t ORDER BY a") == [(1,), (2,)]
    assert "ignoring /docker-entrypoint-initdb.d/notes.txt" in words(first_start)


def test_arguments_and_configuration_files_reach_the_server(
    root: "pymysql.Connection[Any]",
) -> None:
    assert ask(root, "SELECT @@max_connections, @@back_log") == [(77, 81)]


def test_no_password_is_to_be_seen(first_start: Container, engine: DockerClient) -> None:
    first_start.reload()
    seen = json.dumps(first_start.attrs, ensure_ascii=False)
    seen += json.dumps(first_start.image.history(), ensure_ascii=False)
    seen += inside(first_start, "cat /proc/[0-9]*/cmdline /proc/1/environ; ls /dev/shm /tmp")
    seen += words(first_start)
    for secret in (ROOT, USER, "r'o", "us'er"):
        assert secret not in seen
    assert inside(first_start, "ls /dev/shm") == ""


def test_a_stop_is_clean_and_a_second_start_keeps_the_data(
    engine: DockerClient, image: str, data: str, first_start: Container
) -> None:
    first_start.stop(timeout=30)
    status, log = ended(first_start)
    assert status == 0
    assert "Shutdown complete" in log
    storage = [Mount("/var/lib/mysql", data, type="volume")]
    started = time.monotonic()
    # No password given: none is needed, and none is changed.
    with running(engine, image, mounts=storage) as second:
        connection = log_in(second, ROOT)
        assert ask(connection, "SELECT COUNT(*) FROM shop_1.t") == [(2,)]
        connection.close()
        assert time.monotonic() - started < 10
        assert "Initializing database files" not in words(second)


# --- other ways to give, or not to give, a password ---------------------------------------------


def test_random_password_is_printed_and_works_and_root_host_is_kept(
    engine: DockerClient, image: str
) -> None:
    environment = {"MYSQL_RANDOM_ROOT_PASSWORD": "yes", "MYSQL_ROOT_HOST": "172.%"}
    with running(engine, image, environment=environment, tmpfs=IN_MEMORY) as container:
        deadline = time.monotonic() + 60
        while "GENERATED ROOT PASSWORD: " not in words(container):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        password = words(container).split("GENERATED ROOT PASSWORD: ")[1].split("\n")[0]
        connection = log_in(container, password)
        hosts = ask(connection, "SELECT host FROM mysql.user WHERE user = 'root' ORDER BY host")
        connection.close()
    assert len(password) == 24
    assert hosts == [("172.%",), ("localhost",)]


def test_empty_password_only_when_allowed_and_any_user_id_will_do(
    engine: DockerClient, image: str
) -> None:
    environment = {"MYSQL_ALLOW_EMPTY_PASSWORD": "yes"}
    with running(
        engine, image, environment=environment, tmpfs=IN_MEMORY, user="1234:1234"
    ) as container:
        connection = log_in(container, "")
        assert ask(connection, "SELECT 1") == [(1,)]
        connection.close()
        assert inside(container, "awk '/^Uid:/ {print $2}' /proc/1/status") == "1234\n"


# --- a first start that fails leaves no half-made database ----------------------------------------


def test_a_bad_statement_ends_the_start_and_the_next_one_will_begin_anew(
    engine: DockerClient, image: str, tmp_path: Path
) -> None:
    folder = readable(tmp_path / "initdb", a__sql="CREATE TABLE nowhere (a INT);\n")
    before = volumes(engine)
    with running(
        engine,
        image,
        environment={"MYSQL_ROOT_PASSWORD": "a"},
        mounts=[mounted(folder, "/docker-entrypoint-initdb.d")],
    ) as container:
        status, log = ended(container)
        assert status == 1
        assert "No database selected" in log
        assert "A statement of the initialisation failed" in log
        [volume] = [
            mount["Name"] for mount in container.attrs["Mounts"] if mount["Type"] == "volume"
        ]
        with running(
            engine, image, "ls", "-A", "/var/lib/mysql", volumes_from=[container.id]
        ) as ls:
            assert ended(ls) == (0, "")
    assert volume not in before
    assert volume not in volumes(engine)


def test_sigterm_during_initialisation_ends_it_at_once(engine: DockerClient, image: str) -> None:
    environment = {"MYSQL_ROOT_PASSWORD": "a"}
    with running(engine, image, environment=environment) as container:
        while "Initializing database files" not in words(container):
            time.sleep(0.05)
        started = time.monotonic()
        container.stop(timeout=30)
        assert time.monotonic() - started < 10
        assert ended(container)[0] == 143
