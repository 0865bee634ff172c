"""The gallery's JavaScript libraries: a built package carries them, a source tree asks npm once."""

import shutil
import tempfile
from importlib import resources
from pathlib import Path

from mysqlprof.cache import built
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.gallery.libraries import LICENCES, NPM_CI, collect
from mysqlprof.packages import NPM_INSTALL, run

_PINNED = ("package.json", "package-lock.json")


def libraries() -> Path:
    """A directory with `libraries.FILES` and the licences.

    Raises EnvironmentLacks where they are not there and npm cannot bring them.
    """
    carried = Path(str(resources.files("mysqlprof.gallery"))) / "vendor"
    if (carried / LICENCES).is_file():
        return carried
    web = resources.files("mysqlprof.gallery") / "web"
    pinned = {name: (web / name).read_bytes() for name in _PINNED}
    return built("gallery/libraries", pinned, "npm", _install) / "vendor"


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise EnvironmentLacks(
            "the gallery's JavaScript libraries are not here, and npm, which brings them, is not"
            " installed",
            NPM_INSTALL,
        )
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for name in _PINNED:
            shutil.copy(folder / name, place)
        run([npm, *NPM_CI], Path(place), "npm could not fetch the gallery's libraries")
        collect(Path(place) / "node_modules", folder / "vendor")
