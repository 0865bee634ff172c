"""Which files of npm's packages a site holds, and the licences that go with them.

Only the standard library is imported: the build of a wheel runs this file before there is a
`mysqlprof` to import.
"""

import json
import shutil
from pathlib import Path

SCRIPTS = (
    "d3-selection/dist/d3-selection.min.js",
    "d3-flame-graph/dist/d3-flamegraph.min.js",
)
"""In the order in which pages load them; paths in node_modules."""
FILES = tuple(Path(script).name for script in SCRIPTS)
LICENCES = "licences.json"
NPM_CI = ("ci", "--ignore-scripts", "--no-audit", "--no-fund")
"""What npm is told, beside package.json and package-lock.json: their exact versions and hashes."""


def collect(node_modules: Path, out: Path) -> None:
    """Copy to `out` what a site needs of installed packages. The scripts have parts of all of
    the packages in them, so all of their licences come along."""
    out.mkdir(parents=True)
    for script in SCRIPTS:
        shutil.copyfile(node_modules / script, out / Path(script).name)
    licences = []
    for folder in sorted(node_modules.iterdir()):
        if (folder / "package.json").is_file():
            package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
            licences.append(
                {
                    "name": package["name"],
                    "version": package["version"],
                    "licence": package["license"],
                    "text": (folder / "LICENSE").read_text(encoding="utf-8"),
                }
            )
    (out / LICENCES).write_text(json.dumps(licences, indent=1), encoding="utf-8")
