"""Private directories of what a run starts, and how leftovers of killed runs are found.

A work directory is named mysqlprof-*, has mode 0700 and holds owner.json: the orchestrator that
made it, and a NAME.pid for each program that runs in it. Where the orchestrator is gone, the
directory and its programs are leftovers.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from mysqlprof.owner import Owner

PREFIX = "mysqlprof-"
_OWNER = "owner.json"
_SHM = Path("/dev/shm")
_SHM_NEEDED_BYTES = 1536 * 2**20


@dataclass(frozen=True)
class Leftover:
    """A work directory without a living owner, and the programs that may still run in it."""

    path: Path
    purpose: str
    programs: Mapping[str, psutil.Process]
    """By the name of its pid file: mysqld, mysqlrouter, openvpn..."""

    def describe(self) -> str:
        parts = [f"directory {self.path} ({self.purpose})"]
        return " and ".join(parts + [f"{name} {p.pid}" for name, p in self.programs.items()])


def parents() -> list[Path]:
    """Where work directories are made, the preferred place first.

    Memory comes first: on a disk, its noise swallows what is to be measured.
    """
    places = [Path(tempfile.gettempdir())]
    if _SHM.is_dir() and os.access(_SHM, os.W_OK):
        roomy = shutil.disk_usage(_SHM).free >= _SHM_NEEDED_BYTES
        places.insert(0 if roomy else 1, _SHM)
    return places


@contextmanager
def work_directory(purpose: str) -> Iterator[Path]:
    """A private directory (mode 0700), removed on the way out; `purpose` is told by `clean`."""
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parents()[0]))
    try:
        owner = {"purpose": purpose, **Owner.myself().words()}
        (path / _OWNER).write_text(json.dumps(owner), encoding="utf-8")
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def write_private(path: Path, text: str) -> None:
    """A file that only its owner can read, from the first byte on."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


def leftovers(*, also_living: bool = False) -> list[Leftover]:
    """Work directories of this user whose owner is gone (or all, with `also_living`)."""
    found = []
    for parent in parents():
        for path in sorted(parent.glob(PREFIX + "*")):
            read = _read_owner(path)
            if read is None or path.stat().st_uid != os.geteuid():
                continue
            purpose, owner = read
            if also_living or not owner.lives():
                found.append(Leftover(path, purpose, _programs_of(path)))
    return found


def remove(leftover: Leftover) -> None:
    """Stop its programs, by their process ids, and delete the directory."""
    for process in leftover.programs.values():
        _stop(process)
    shutil.rmtree(leftover.path, ignore_errors=True)


def _stop(process: psutil.Process) -> None:
    try:
        process.terminate()
        process.wait(timeout=20)
    except psutil.TimeoutExpired:
        process.kill()
    except psutil.NoSuchProcess:
        pass


def _read_owner(path: Path) -> tuple[str, Owner] | None:
    try:
        words = json.loads((path / _OWNER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    owner = Owner.from_words(words) if isinstance(words, dict) else None
    return (str(words.get("purpose", "")), owner) if owner else None


def _programs_of(path: Path) -> dict[str, psutil.Process]:
    found = {}
    for file in sorted(path.glob("*.pid")):
        try:
            process = psutil.Process(int(file.read_text(encoding="ascii")))
            # A process id is used again: only one that lives in the directory is meant.
            if str(path) in " ".join([*process.cmdline(), process.cwd()]):
                found[file.stem] = process
        except (OSError, ValueError, psutil.Error):
            continue
    return found
