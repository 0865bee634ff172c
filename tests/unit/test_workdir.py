"""Leftovers of killed runs: their directories, and the programs that still run in them."""

import json
import subprocess

import psutil
import pytest

from mysqlprof import workdir
from mysqlprof.owner import Owner

GONE = Owner(pid=2**22 + 1, started=1.0, boot="another")


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(workdir, "parents", lambda: [tmp_path])
    return tmp_path


def abandoned(place):
    folder = place / f"{workdir.PREFIX}abandoned"
    folder.mkdir()
    (folder / "owner.json").write_text(json.dumps({"purpose": "network", **GONE.words()}))
    return folder


def test_a_program_that_outlived_its_run_is_found_by_its_pid_file_and_stopped(place):
    folder = abandoned(place)
    with subprocess.Popen(["sleep", "60"], cwd=folder) as left:
        (folder / "server-namespace.pid").write_text(str(left.pid))
        [leftover] = workdir.leftovers()
        assert leftover.describe() == (
            f"directory {folder} (network) and server-namespace {left.pid}"
        )
        workdir.remove(leftover)
        assert not psutil.pid_exists(left.pid)
    assert not folder.exists()


def test_another_program_with_the_same_id_is_left_alone(place):
    folder = abandoned(place)
    (folder / "openvpn.pid").write_text(str(psutil.Process().pid))
    (folder / "broken.pid").write_text("no number")
    [leftover] = workdir.leftovers()
    assert leftover.programs == {}


def test_what_belongs_to_a_living_run_is_spared(place):
    with workdir.work_directory("network") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert workdir.leftovers() == []
        assert [row.path for row in workdir.leftovers(also_living=True)] == [folder]
    assert not folder.exists()
