import shutil
import subprocess
from pathlib import Path

import pytest

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.servers import container_files
from mysqlprof.servers.container_files import cnf_fragments, cnf_settings, container_file


def test_base_fragment_is_what_every_server_gets() -> None:
    settings = cnf_settings("base")
    assert settings["max_allowed_packet"] == "64M"
    assert "skip-name-resolve" in settings
    assert cnf_fragments() == cnf_fragments("base")


def test_slow_log_fragments_say_one_thing_each() -> None:
    assert cnf_settings("slow-log-on")["slow_query_log"] == "ON"
    assert cnf_settings("slow-log-off") == {"slow_query_log": "OFF"}


def test_fragments_are_joined_in_the_order_asked_for() -> None:
    text = cnf_fragments("slow-log-on", "slow-log-off")
    assert text.index("slow_query_log = ON") < text.index("slow_query_log = OFF")


def test_files_are_found_inside_an_installed_package_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "mysqlprof"
    for root in (package, tmp_path):
        (root / "containers/mysql").mkdir(parents=True)
    (tmp_path / "containers/mysql/Dockerfile").touch()
    monkeypatch.setattr(container_files, "files", lambda _: package)
    assert container_file("mysql/Dockerfile") == tmp_path / "containers/mysql/Dockerfile"
    (package / "containers/mysql/Dockerfile").touch()
    assert container_file("mysql/Dockerfile") == package / "containers/mysql/Dockerfile"


def test_a_missing_file_is_named() -> None:
    with pytest.raises(EnvironmentLacks, match="containers/mysql/nothing"):
        container_file("mysql/nothing")


def test_entrypoint_is_valid_posix_shell() -> None:
    shell = shutil.which("dash") or shutil.which("sh")
    assert shell
    done = subprocess.run(
        [shell, "-n", container_file("mysql/entrypoint.sh")], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
