"""Which file a process runs."""

import os
import re
from pathlib import Path

_LOADER = re.compile(r"ld(-linux.*|-\d.*|64)?\.so(\.\d+)?")
"""ld-linux-x86-64.so.2, ld-2.31.so."""


def program_of(pid: int) -> Path:
    """The program's file, by a path that leads there from this host, also out of a container.

    Where a dynamic loader was started and told what to run, that and not the loader. Raises
    OSError.
    """
    exe = os.readlink(f"/proc/{pid}/exe")
    if _LOADER.fullmatch(Path(exe).name):
        exe = _told_to_run(pid) or exe
    return Path(f"/proc/{pid}/root{exe}")


def _told_to_run(pid: int) -> str:
    """The first argument that is a mapped file; empty where none is."""
    #   7f5ee8000000-7f5ee8021000 r--p 00000000 fe:00 1321                       /usr/sbin/mysqld
    lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    mapped = {fields[5] for line in lines if len(fields := line.split(maxsplit=5)) == 6}
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1:]
    paths = (os.path.realpath(os.fsdecode(word)) for word in words if word.startswith(b"/"))
    return next((path for path in paths if path in mapped), "")
