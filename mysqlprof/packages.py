"""Programs that fetch or build for us: the ordinary clients of package registries, compilers."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from mysqlprof.cache import locked
from mysqlprof.errors import EnvironmentLacks

NPM_INSTALL = "sudo apt-get install -y --no-install-recommends npm"

_TIMEOUT_S = 600
_CHECK_NETWORK = "check the network and the client's own settings (proxy, mirror, certificates)"
_MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_MAVEN_INSTALL = "sudo apt-get install -y --no-install-recommends maven"
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>none</groupId><artifactId>none</artifactId><version>0</version>
  <packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
  </dependency></dependencies>
</project>
"""


def fetch_maven(coordinates: str, folder: Path) -> Path:
    """`group:artifact:version` -> the artifact's file in `folder`."""
    mvn = require("mvn", _MAVEN_INSTALL)
    folder.mkdir(parents=True, exist_ok=True)
    # Maven looks for a project in its working directory: give it an empty one.
    with tempfile.TemporaryDirectory() as nowhere:
        run(
            [
                mvn,
                "--batch-mode",
                "--quiet",
                _MAVEN_COPY,
                f"-Dartifact={coordinates}",
                f"-DoutputDirectory={folder.absolute()}",
            ],
            Path(nowhere),
            f"Maven could not fetch {coordinates}",
        )
    return _only_file(folder, coordinates)


def fetch_maven_tree(coordinates: str, folder: Path) -> list[Path]:
    """`group:artifact:version` and all that it needs at run time -> jars in `folder`, sorted."""
    mvn = require("mvn", _MAVEN_INSTALL)
    group, artifact, version = coordinates.split(":")
    with tempfile.TemporaryDirectory() as project:
        (Path(project) / "pom.xml").write_text(
            _POM.format(group=group, artifact=artifact, version=version), encoding="utf-8"
        )
        run(
            [
                mvn,
                "--batch-mode",
                "--quiet",
                f"{_MAVEN_COPY}-dependencies",
                "-DincludeScope=runtime",
                f"-DoutputDirectory={folder.absolute()}",
            ],
            Path(project),
            f"Maven could not fetch {coordinates} and what it needs",
        )
    return sorted(folder.glob("*.jar"))


def pinned_maven_tree(
    coordinates: str, sha256: str, home: Path, progress: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """The jars of `fetch_maven_tree`, sorted; fetched once into `home`, and checked.

    `sha256` is that of `sha256sum *.jar`'s lines, sorted by name. Raises EnvironmentLacks.
    """
    with locked(home):
        if not home.is_dir():
            progress(f"fetching {coordinates} and what it needs")
            with tempfile.TemporaryDirectory(dir=home.parent, prefix="fetch-") as folder:
                library = Path(folder) / "lib"
                _check_together(fetch_maven_tree(coordinates, library), coordinates, sha256)
                os.replace(library, home)
    return sorted(home.glob("*.jar"))


def _check_together(files: list[Path], package: str, sha256: str) -> None:
    listing = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            line = f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n"
        listing.update(line.encode())
    if listing.hexdigest() != sha256:
        raise EnvironmentLacks(
            f"the {len(files)} files of {package} have SHA-256 {listing.hexdigest()} together,"
            f" expected {sha256}; they were deleted",
            "fetch them again; if it stays so, a package was changed",
        )


def fetch_npm(package: str, folder: Path) -> Path:
    """`name@version` -> its tarball in `folder`. Nothing of the package is executed."""
    npm = require("npm", NPM_INSTALL)
    folder.mkdir(parents=True, exist_ok=True)
    run(
        [npm, "pack", "--ignore-scripts", "--silent", package],
        folder,
        f"npm could not fetch {package}",
    )
    return _only_file(folder, package)


def require(program: str, install: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise EnvironmentLacks(f"{program} is not installed", install)
    return path


def first_line(command: list[str], environment: Mapping[str, str] | None = None) -> str:
    """What a program says of its version."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    return ((done.stdout or done.stderr).strip().splitlines() or ["unknown"])[0].strip()


def run(
    command: list[str],
    cwd: Path,
    failure: str,
    *,
    hint: str = _CHECK_NETWORK,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Raises EnvironmentLacks with the program's own words."""
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
            env={**os.environ, **(environment or {})},
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentLacks(f"{failure} within {_TIMEOUT_S} s", hint) from None
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if "ERR" in line.upper()] or lines[-1:] or ["no output"]
        raise EnvironmentLacks(f"{failure}: {errors[0].strip()[:300]}", hint)


def _only_file(folder: Path, package: str) -> Path:
    files = [path for path in folder.iterdir() if path.is_file()]
    if len(files) != 1:
        raise EnvironmentLacks(f"fetching {package} left {len(files)} files instead of one")
    return files[0]
