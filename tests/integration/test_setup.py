"""scripts/setup makes a real environment, once, and mends one that is broken."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


class Tree:
    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        for folder in ("scripts", "mysqlprof", "containers"):
            shutil.copytree(
                ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__")
            )
        for file in ("README.md", "hatch_build.py"):
            shutil.copy(ROOT / file, root)
        # Without dependencies: what pip fetches is not what these tests are about.
        project = (ROOT / "pyproject.toml").read_text()
        none = re.sub(r"^dependencies = \[.*?^\]", "dependencies = []", project, flags=re.M | re.S)
        assert none != project
        (root / "pyproject.toml").write_text(none)

    @property
    def python(self) -> Path:
        return self.root / ".venv" / "bin" / "python"

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self.root / "scripts" / "setup", "--python-only"],
            env={**os.environ, "TMPDIR": str(self.root.parent)},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def setup(self) -> str:
        """What it said."""
        with self.start() as process:
            out, err = process.communicate()
        assert process.returncode == 0, err
        assert out == ""
        return err

    def works(self) -> bool:
        code = "import mysqlprof; print(mysqlprof.__file__)"
        done = subprocess.run(
            [self.python, "-c", code], capture_output=True, text=True, check=False, cwd="/"
        )
        return done.stdout.strip() == str(self.root / "mysqlprof" / "__init__.py")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy of this tree in a place with a blank, set up once."""
    made = Tree(tmp_path_factory.mktemp("trees") / "a tree")
    assert "making .venv" in made.setup()
    assert made.works()
    return made


def test_again_it_says_nothing_and_takes_no_time(tree: Tree) -> None:
    started = time.monotonic()
    assert tree.setup() == ""
    assert time.monotonic() - started < 1.0


def test_a_changed_pyproject_is_installed_anew(tree: Tree) -> None:
    with (tree.root / "pyproject.toml").open("a") as file:
        file.write("\n# changed\n")
    said = tree.setup()
    assert "installing mysqlprof" in said
    assert "making .venv" not in said
    assert tree.setup() == ""


def test_an_environment_without_a_python_is_remade(tree: Tree) -> None:
    tree.python.unlink()
    tree.python.symlink_to("/nonexistent/python3")
    assert "making .venv" in tree.setup()
    assert tree.works()


def test_an_environment_that_came_with_a_copied_tree_is_remade(tree: Tree) -> None:
    copied = Tree(tree.root.parent / "copied")
    shutil.copytree(tree.root / ".venv", copied.root / ".venv", symlinks=True)
    assert "making .venv" in copied.setup()
    assert copied.works()


def test_two_at_once_take_turns(tree: Tree) -> None:
    shutil.rmtree(tree.root / ".venv")
    with tree.start() as one, tree.start() as other:
        said = [one.communicate()[1], other.communicate()[1]]
    assert (one.returncode, other.returncode) == (0, 0), said
    assert "".join(said).count("making .venv") == 1
    assert tree.works()


def test_a_python_of_the_system_is_preferred(tree: Tree) -> None:
    version = subprocess.run(
        ["/usr/bin/python3", "-c", "import sys; print(sys.version_info >= (3, 11))"],
        capture_output=True,
        text=True,
        check=False,
    )
    if version.stdout.strip() != "True":
        pytest.skip(f"/usr/bin/python3 is too old here; this is {sys.version.split()[0]}")
    assert Path("/usr/bin/python3").samefile(tree.python.resolve())
