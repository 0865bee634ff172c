"""Puts the gallery's JavaScript libraries into a wheel, as the lock file pins them.

Without npm the wheel is built without them, and says so; `mysqlprof gallery` then asks for npm.
"""

import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_GALLERY = Path("mysqlprof", "gallery")


class LibrariesHook(BuildHookInterface):
    """Named `custom` in pyproject.toml."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self.place = Path(tempfile.mkdtemp())
        if version == "editable":
            return
        npm = shutil.which("npm")
        if npm is None:
            self.app.display_warning("npm is not installed: the wheel has no gallery libraries")
            return
        gallery = Path(self.root) / _GALLERY
        for name in ("package.json", "package-lock.json"):
            shutil.copy(gallery / "web" / name, self.place)
        libraries = runpy.run_path(str(gallery / "libraries.py"))
        subprocess.run([npm, *libraries["NPM_CI"]], cwd=self.place, check=True)
        libraries["collect"](self.place / "node_modules", self.place / "vendor")
        build_data["force_include"][str(self.place / "vendor")] = str(_GALLERY / "vendor")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
