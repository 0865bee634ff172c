"""MySQL 9.7 as a real server: a package of another Debian, run beside this one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mysqlprof.debian import symbols_of
from mysqlprof.elf import build_id
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.model import LaunchSpec
from mysqlprof.servers import catalog
from mysqlprof.servers.admin import Admin
from mysqlprof.servers.archives import Installation, installation
from mysqlprof.servers.local import LocalBackend

pytestmark = pytest.mark.server
VERSION = "9.7.4"


@pytest.fixture(scope="module")
def made_of() -> Installation:
    try:
        return installation(catalog.find(VERSION))
    except EnvironmentLacks as error:
        pytest.skip(f"{error.message}: {error.hint}")


def test_it_runs_on_its_own_libraries(made_of):
    with LocalBackend("test").launch(LaunchSpec("it", VERSION), "it") as server:
        process = Path(f"/proc/{server.pid}")
        assert (process / "comm").read_text() == "mysqld\n"
        mapped = (process / "maps").read_text()
        (tree,) = made_of.library_paths
        assert f"{tree}/libc.so.6" in mapped
        assert str(made_of.mysqld) in mapped
        assert b"LD_PRELOAD=libc.so.6" in (process / "environ").read_bytes().split(b"\0")
        info = server.info()
        assert (info.version, info.substitution) == (VERSION, "")
        assert info.build_id == build_id(made_of.mysqld) != ""
        assert info.environment == {"LD_PRELOAD": "libc.so.6"}
        assert str(Path.home()) not in json.dumps(info.settings)
        assert server.why_dead() == ""
        admin = Admin(server.endpoint)
        try:
            admin.set_global("slow_query_log", "ON")
            assert admin.query("SELECT @@plugin_dir")[0][0].endswith("/usr/lib/mysql/plugin/")
        finally:
            admin.close()
    assert symbols_of(tree / "libc.so.6").is_file()


@pytest.mark.parametrize(("preloaded", "library"), [(True, "libc.so.6"), (False, "libtcmalloc")])
def test_the_c_librarys_malloc_takes_the_place_of_the_one_that_is_linked(
    made_of, preloaded, library, tmp_path
):
    """The loader says which library's malloc mysqld is bound to."""
    debug = {"LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": str(tmp_path / "log"), "LD_BIND_NOW": "1"}
    environment = {**debug, **(made_of.environment if preloaded else {})}
    subprocess.run([*made_of.command(), "--version"], env=environment, check=True, timeout=60)
    (log,) = tmp_path.glob("log.*")
    wanted = f"binding file {made_of.mysqld} [0] to "
    with log.open(encoding="utf-8") as lines:
        bound = [x for x in lines if wanted in x and "symbol `malloc'" in x]
    assert bound
    assert all(library in line.partition(wanted)[2] for line in bound)


def test_a_driver_that_it_refuses_is_a_gap_and_the_others_are_measured(made_of, tmp_path):
    """Connector/J 5.1 logs in, and its server-side statements are refused."""
    out = tmp_path / "run"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mysqlprof", "matrix", "bug-73056", "--backend", "local"),
            *("--server", VERSION, "--driver", "connector-j:5.1.49", "--driver", "python"),
            *("--rows", "20", "--value-bytes", "60", "--trials", "3", "--out", str(out)),
        ],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env=os.environ,
    )
    if "is left out: " in done.stderr and "connector-j:5.1.49 is left out" in done.stderr:
        pytest.skip("Connector/J cannot be had here")
    assert done.returncode == 0, done.stderr
    rows = json.loads((out / "run.json").read_text())["matrix"]
    found = {(r["driver"], r["server_prepare"]): (r["trials"], r["gap"]) for r in rows}
    assert found.pop(("connector-j:5.1.49", True)) == (
        0,
        "java.sql.SQLException: Malformed communication packet.",
    )
    assert set(found.values()) == {(3, "")}
