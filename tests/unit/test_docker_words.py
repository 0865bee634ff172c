"""What the engine says, in our words: states, refusals, references, leftovers."""

from pathlib import Path
from typing import Any

import pytest
import requests
from docker.errors import APIError, DockerException

from mysqlprof.errors import EnvironmentLacks, ServerFailed, UsageError
from mysqlprof.model import Limits
from mysqlprof.owner import Owner
from mysqlprof.servers import engine
from mysqlprof.servers.docker import _Secrets, describe_state
from mysqlprof.servers.engine import connect, engine_error, find_leftovers
from mysqlprof.servers.resolve import Reference, _why, substitution

EXITED = {"Running": False, "OOMKilled": False, "ExitCode": 0, "Error": ""}


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"Running": True}, ""),
        ({}, "its container was removed by somebody else"),
        ({**EXITED, "ExitCode": 1}, "exited with status 1"),
        ({**EXITED, "ExitCode": 137}, "killed by signal 9"),
        ({**EXITED, "ExitCode": 139}, "killed by signal 11"),
        (
            {**EXITED, "ExitCode": 137, "OOMKilled": True},
            "OOM-killed at its memory limit of 64 MiB",
        ),
        ({**EXITED, "ExitCode": 127, "Error": "exec: no such file"}, "exec: no such file"),
    ],
)
def test_why_a_container_is_dead(state: dict[str, Any], words: str) -> None:
    assert describe_state(state, Limits(memory_bytes=64 * 2**20)) == words


def test_oom_without_a_limit_of_ours() -> None:
    assert describe_state({**EXITED, "OOMKilled": True}) == "OOM-killed"


def test_passwords_are_struck_out() -> None:
    assert _Secrets("r00t", "us3r").redact("r00t, us3r and r00t") == "***, *** and ***"
    assert "r00t" not in repr(_Secrets("r00t", "us3r"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql", Reference("mysql", "latest")),
        ("mysql:5.7.38", Reference("mysql", "5.7.38")),
        ("localhost:5000/mysql", Reference("localhost:5000/mysql", "latest")),
        ("localhost:5000/mysql:8", Reference("localhost:5000/mysql", "8")),
        ("mysql@sha256:ab", Reference("mysql", "latest", "sha256:ab")),
        ("mysql:8@sha256:ab", Reference("mysql", "8", "sha256:ab")),
    ],
)
def test_references(text: str, expected: Reference) -> None:
    assert Reference.parse(text) == expected


def test_a_pin_asks_for_the_digest_not_for_the_tag() -> None:
    pinned = Reference.parse("mysql:5.7.38", "sha256:ab")
    assert pinned.exact == "mysql@sha256:ab"
    assert Reference.parse("mysql:5.7.38").exact == "mysql:5.7.38"
    with pytest.raises(UsageError):
        Reference.parse("mysql@sha256:ab", "sha256:cd")


def test_substitution_names_both_versions_and_the_reason() -> None:
    words = substitution("5.7.38", "mysql:5.7.38", "no network", "5.7.29")
    assert words == (
        "MySQL 5.7.38 was asked for, but the image mysql:5.7.38 could not be pulled (no network); "
        "an image built from the package archive of 5.7.29 is used instead"
    )
    assert substitution("5.7.22", "mysql:5.7.22", "no network", "5.7.22") == ""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            DockerException(
                'Get "https://registry.example/v2/": dial tcp: lookup registry.example on '
                "10.0.0.53:53: no such host"
            ),
            "the name of its registry does not resolve on this host",
        ),
        (
            DockerException("dial tcp [::1]:5001: connect: connection refused"),
            "its registry refuses connections",
        ),
        (requests.ReadTimeout("slow"), "its registry did not answer within 20 s"),
        (DockerException("pull access denied"), "pull access denied"),
    ],
)
def test_reasons_for_a_failed_pull_carry_no_addresses(error: Exception, words: str) -> None:
    assert _why(error) == words


class Door:
    """Stands for a socket that refuses in this way."""

    def __init__(self, refusal: OSError) -> None:
        self._refusal = refusal

    def __enter__(self) -> "Door":
        return self

    def __exit__(self, *_: object) -> None: ...

    def connect(self, _: str) -> None:
        raise self._refusal


@pytest.mark.parametrize(
    ("refusal", "sentence", "action"),
    [
        (PermissionError(13, "denied"), "may not be used by this user", "usermod -aG docker"),
        (FileNotFoundError(2, "none"), "no Docker engine runs", "apt-get install"),
        (ConnectionRefusedError(111, "refused"), "does not answer", "systemctl start docker"),
    ],
)
def test_no_engine_says_what_to_run(
    refusal: OSError, sentence: str, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.socket, "socket", lambda _: Door(refusal))
    with pytest.raises(EnvironmentLacks, match=sentence) as caught:
        connect()
    assert action in caught.value.hint


def test_an_absent_socket_is_told_for_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EnvironmentLacks, match="no Docker engine runs"):
        connect()


def test_an_engine_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(EnvironmentLacks, match="an engine on this host") as caught:
        connect()
    assert "unset DOCKER_HOST" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "Range of CPUs is from 0.01 to 2.00", UsageError),
        (500, "write /var/x: no space left on device", EnvironmentLacks),
        (500, "something else", ServerFailed),
    ],
)
def test_refusals_of_the_engine(status: int, words: str, kind: type[Exception]) -> None:
    response = requests.Response()
    response.status_code = status
    error = engine_error(APIError("refused", response, words), "it cannot start")
    assert type(error) is kind
    assert error.message.startswith("it cannot start: ")


# --- leftovers --------------------------------------------------------------------------------


class EngineWith:
    """Stands for a client whose engine lists these containers."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.api = self
        self._rows = list(rows)

    def containers(self, **_: object) -> list[dict[str, Any]]:
        return self._rows


def container(owner: Owner | None, state: str = "running") -> dict[str, Any]:
    words = {"run": "r1", **(owner.words() if owner else {})}
    return {
        "Id": "c1",
        "Names": ["/mysqlprof-r1"],
        "State": state,
        "Labels": {f"io.mysqlprof.{key}": value for key, value in words.items()},
    }


def test_containers_of_a_living_run_are_not_leftovers() -> None:
    client: Any = EngineWith(container(Owner.myself()))
    assert find_leftovers(client) == []
    assert [row.lives for row in find_leftovers(client, also_living=True)] == [True]


def test_a_process_id_used_again_is_not_the_owner() -> None:
    me = Owner.myself()
    client: Any = EngineWith(container(Owner(me.pid, me.started - 100, me.boot)))
    [leftover] = find_leftovers(client)
    assert leftover.describe() == "container mysqlprof-r1 (running) of run r1"


@pytest.mark.parametrize(("state", "count"), [("running", 0), ("exited", 1)])
def test_a_running_container_of_another_host_is_left_alone(state: str, count: int) -> None:
    client: Any = EngineWith(container(Owner(1, 1.0, "another boot"), state))
    assert len(find_leftovers(client)) == count


def test_a_container_without_an_owner_is_a_leftover() -> None:
    client: Any = EngineWith(container(None))
    assert len(find_leftovers(client)) == 1
