"""Fetch one file by the ordinary client of a package registry."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from mysqlprof.errors import EnvironmentLacks

_TIMEOUT_S = 600
_MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def fetch_maven(coordinates: str, folder: Path) -> Path:
    """`group:artifact:version` -> the artifact's file in `folder`."""
    mvn = _require("mvn", "sudo apt-get install -y --no-install-recommends maven")
    folder.mkdir(parents=True, exist_ok=True)
    # Maven looks for a project in its working directory: give it an empty one.
    with tempfile.TemporaryDirectory() as nowhere:
        _run(
            [
                mvn,
                "--batch-mode",
                "--quiet",
                _MAVEN_COPY,
                f"-Dartifact={coordinates}",
                f"-DoutputDirectory={folder.absolute()}",
            ],
            nowhere,
            f"Maven could not fetch {coordinates}",
        )
    return _only_file(folder, coordinates)


def fetch_npm(package: str, folder: Path) -> Path:
    """`name@version` -> its tarball in `folder`. Nothing of the package is executed."""
    npm = _require("npm", "sudo apt-get install -y --no-install-recommends npm")
    folder.mkdir(parents=True, exist_ok=True)
    _run(
        [npm, "pack", "--ignore-scripts", "--silent", package],
        str(folder),
        f"npm could not fetch {package}",
    )
    return _only_file(folder, package)


def _require(program: str, install: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise EnvironmentLacks(f"{program} is not installed", install)
    return path


def _run(command: list[str], cwd: str, failure: str) -> None:
    hint = "check the network and the client's own settings (proxy, mirror, certificates)"
    try:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentLacks(f"{failure} within {_TIMEOUT_S} s", hint) from None
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if "ERR" in line] or lines or ["no output"]
        raise EnvironmentLacks(f"{failure}: {errors[0].strip()[:300]}", hint)


def _only_file(folder: Path, package: str) -> Path:
    files = [path for path in folder.iterdir() if path.is_file()]
    if len(files) != 1:
        raise EnvironmentLacks(f"fetching {package} left {len(files)} files instead of one")
    return files[0]
