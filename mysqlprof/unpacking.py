"""Unpack an archive that somebody else made: nothing outside of the target, no special files."""

import os
import shutil
import tarfile
from pathlib import Path, PurePosixPath


def unpack(tar: tarfile.TarFile, target: Path, limit: int | None = None) -> None:
    """Unpack regular files, directories and links that stay inside; everything else is skipped.

    Owners and special modes are not restored. A member whose name leads outside is refused, and so
    are more than `limit` bytes.
    """
    root = target.resolve()
    total = 0
    for member in tar:
        total += member.size
        if limit is not None and total > limit:
            raise tarfile.TarError(f"it unpacks into more than {limit:,} bytes")
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts:
            raise tarfile.TarError(f"member {member.name!r} leads out of the archive")
        if not name.parts:  # the target itself
            continue
        path = root / name
        if not path.parent.resolve().is_relative_to(root):
            raise tarfile.TarError(f"member {member.name!r} leads out of the archive")
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
        elif member.issym():
            _link(root, path, member.linkname)
        elif member.isfile():
            _copy(tar, member, path)


def _link(root: Path, path: Path, linkname: str) -> None:
    # Some archives carry links to the packager's own absolute paths: of no use anywhere.
    if os.path.isabs(linkname) or not (path.parent / linkname).resolve().is_relative_to(root):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(linkname)


def _copy(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    source = tar.extractfile(member)
    assert source is not None  # isfile() was asked
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # never write through a link made by an earlier member
    with source, path.open("xb") as file:
        shutil.copyfileobj(source, file)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)
