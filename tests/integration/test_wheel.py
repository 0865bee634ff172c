"""A built wheel, installed elsewhere: it has all its data and works from any directory."""

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from mysqlprof.gallery.libraries import FILES, LICENCES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT],
        check=True,
        capture_output=True,
        text=True,
    )
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh virtual environment with the wheel; its dependencies are those of this one."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel],
        check=True,
        capture_output=True,
    )
    (site_packages,) = home.glob("lib/python*/site-packages")
    # As the last entry, so that the wheel's own package is found first.
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home


def files_below(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_it_holds_every_file_of_the_package_and_the_containers(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {f"mysqlprof/{name}" for name in files_below(ROOT / "mysqlprof")}
    expected |= {f"mysqlprof/containers/{name}" for name in files_below(ROOT / "containers")}
    if shutil.which("npm"):
        expected |= {f"mysqlprof/gallery/vendor/{name}" for name in (*FILES, LICENCES)}
    assert held == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "mysqlprof/scenarios/*.toml",
        "mysqlprof/servers/catalog.toml",
        "mysqlprof/attribution.toml",
        "mysqlprof/report/templates/*",
        "mysqlprof/drivers/java/*.java",
        "mysqlprof/gallery/web/package-lock.json",
        "mysqlprof/gallery/templates/*.j2",
        "mysqlprof/drivers/go/go.sum",
        "mysqlprof/drivers/node/package-lock.json",
        "mysqlprof/containers/**/Dockerfile*",
    ],
)
def test_it_holds_its_data(wheel: Path, pattern: str) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [Path(name) for name in archive.namelist()]
    assert any(name.match(pattern) for name in names)


def test_the_package_is_the_wheels(environment: Path) -> None:
    done = subprocess.run(
        [environment / "bin" / "python", "-c", "import mysqlprof; print(mysqlprof.__file__)"],
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(str(environment))


@pytest.mark.skipif(shutil.which("npm") is None, reason="the wheel was built without npm")
def test_it_builds_a_gallery_without_npm(environment: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [environment / "bin" / "mysqlprof", "gallery", ROOT / "reports", "--out", "site"],
        cwd=tmp_path,
        env={"PATH": "/nonexistent", "MYSQLPROF_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "site" / "assets").iterdir()} >= {*FILES}
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--version"], "0."),
        (["scenarios"], "bug-73056"),
        (["servers", "list"], "5.7.22"),
        (["reproduce", "--help"], "--backend"),
    ],
)
def test_it_works_from_another_directory(
    environment: Path, tmp_path: Path, arguments: list[str], expected: str
) -> None:
    done = subprocess.run(
        [environment / "bin" / "mysqlprof", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    assert list(tmp_path.iterdir()) == []
