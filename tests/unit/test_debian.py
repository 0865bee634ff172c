"""Debian's packages: all that one needs, checked and unpacked without leaving the tree."""

import hashlib
import io
import tarfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from mysqlprof import debian
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.servers import archives, catalog
from mysqlprof.servers.admin import identified_by

# From `apt-cache depends --recurse` of mysql-server-core 9.7.4-2, shortened.
DEPENDS = """\
mysql-server-core
  Depends: libaio1t64
  Depends: libc6
  Depends: <perl:any>
    perl
libaio1t64
  Depends: libc6
libc6
  Depends: libgcc-s1
 |Depends: <libc-gconv-modules-extra>
<perl:any>
perl
  PreDepends: <dpkg:any>
libgcc-s1
"""
# From `apt-cache show`.
SHOW = "Package: mysql-server-core\nSource: mysql-9.7\nVersion: 9.7.5-1\nArchitecture: amd64\n"


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def plain(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode = 0o755
    return info


def link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


def folder(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o755
    return info


def package(path: Path, data: bytes) -> Path:
    """A .deb: an ar archive of a version, a control archive and the files."""
    parts = {"debian-binary": b"2.0\n", "control.tar": tar_of(), "data.tar": data}
    content = b"!<arch>\n"
    for name, part in parts.items():
        content += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(part):<10}`\n".encode()
        content += part + b"\n" * (len(part) % 2)
    path.write_bytes(content)
    return path


def test_real_packages_are_told_from_virtual_ones(monkeypatch):
    monkeypatch.setattr(debian, "_output", lambda command: DEPENDS)
    names = debian._with_dependencies("mysql-server-core", [])
    assert names == ["libaio1t64", "libc6", "libgcc-s1", "mysql-server-core", "perl"]


def test_a_replaced_package_is_one_sentence_that_names_both_versions(monkeypatch):
    monkeypatch.setattr(debian, "_output", lambda command: SHOW)
    debian._require_version("mysql-server-core", "sid", "9.7.5-1", [])
    with pytest.raises(EnvironmentLacks) as caught:
        debian._require_version("mysql-server-core", "sid", "9.7.4-2", [])
    assert caught.value.message == (
        "mysql-server-core 9.7.4-2 is not in Debian sid any more, which has 9.7.5-1 now"
    )
    assert "choose another version" in caught.value.hint


def test_a_system_without_apt_or_debians_keys_is_told_so(monkeypatch, tmp_path):
    monkeypatch.setattr(debian, "_KEYRINGS", (tmp_path / "keys.gpg",))
    with pytest.raises(EnvironmentLacks, match="keys are not on this system") as caught:
        debian._keyring()
    assert caught.value.hint.endswith("debian-archive-keyring")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match="apt-get is not installed") as caught:
        debian._own_archive()
    assert "Debian" in caught.value.hint


def test_a_package_is_unpacked_without_its_documentation(tmp_path):
    data = tar_of(
        (folder("./"), b""),
        (plain("./usr/sbin/mysqld"), b"elf"),
        (plain("./usr/share/mysql/errmsg"), b"e"),
        (plain("./usr/share/doc/copyright"), b"c"),
        (link("./usr/lib/liba.so.1", "liba.so.1.2"), b""),
        (link("./usr/lib/alternative", "/etc/alternatives/x"), b""),
    )
    tree = tmp_path / "tree"
    debian.unpack_packages([package(tmp_path / "a_1_amd64.deb", data)], tree)
    assert (tree / "usr/sbin/mysqld").read_bytes() == b"elf"
    assert (tree / "usr/sbin/mysqld").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in (tree / "usr/share").iterdir()] == ["mysql"]
    assert (tree / "usr/lib/liba.so.1").is_symlink()
    assert not (tree / "usr/lib/alternative").is_symlink()


@pytest.mark.parametrize(
    "members",
    [
        [(plain("./../outside"), b"x")],
        [(plain("/outside"), b"x")],
        [(link("./out", ".."), b""), (plain("./out/outside"), b"x")],
    ],
)
def test_a_package_writes_nothing_outside_of_the_tree(tmp_path, members):
    one = package(tmp_path / "a_1_amd64.deb", tar_of(*members))
    with suppress(EnvironmentLacks):
        debian.unpack_packages([one], tmp_path / "tree")
    assert not (tmp_path / "outside").exists()
    assert not Path("/outside").exists()


def test_a_broken_package_is_named(tmp_path):
    broken = tmp_path / "broken_1_amd64.deb"
    broken.write_bytes(b"not a package")
    with pytest.raises(EnvironmentLacks, match=r"broken_1_amd64\.deb is broken"):
        debian.unpack_packages([broken], tmp_path / "tree")


# --- the server that comes so ----------------------------------------------------------------


@pytest.fixture
def entry(tmp_path, monkeypatch) -> catalog.CatalogEntry:
    """9.7.4 as the catalog has it, from a package made here."""
    data = tar_of((plain("./usr/sbin/mysqld"), b"elf"), (plain(f"./{debian.LOADER}"), b"elf"))
    content = package(tmp_path / "made.deb", data).read_bytes()

    def download(
        name: str, suite: str, folder: Path, version: str = "", more: Sequence[str] = ()
    ) -> list[Path]:
        folder.mkdir()
        (folder / f"{name}_{version}_amd64.deb").write_bytes(content)
        return list(folder.iterdir())

    monkeypatch.setattr(archives, "download", download)
    row = catalog.find("9.7.4")
    assert row.archive
    pinned = {"sha256": hashlib.sha256(content).hexdigest()}
    return row.model_copy(update={"archive": row.archive.model_copy(update=pinned)})


def test_a_server_with_a_loader_of_its_own_is_started_by_it(private_cache, entry):
    made_of = archives.installation(entry)
    loader, option, libraries, mysqld = made_of.command()
    # A process is listed by the name of the file that it was started by.
    assert Path(loader).name == "mysqld"
    assert Path(loader).resolve() == (private_cache / "servers").resolve() / (
        f"9.7.4-{made_of.sha256[:12]}/{debian.LOADER}"
    )
    assert (option, Path(mysqld)) == ("--library-path", made_of.mysqld)
    assert made_of.library_paths == (Path(libraries),)
    assert made_of.environment == {"LD_PRELOAD": "libc.so.6"}
    listed = (made_of.loader.tree / "packages").read_text()
    assert listed == "mysql-server-core_9.7.4-2_amd64.deb\n"


def test_another_package_than_the_pinned_one_is_not_unpacked(private_cache, entry):
    archive = entry.archive.model_copy(update={"sha256": "0" * 64})
    with pytest.raises(EnvironmentLacks, match=r"MySQL 9\.7\.4 cannot be had: .* SHA-256"):
        archives.installation(entry.model_copy(update={"archive": archive}))
    assert not list((private_cache / "servers").glob("*/usr"))


@pytest.mark.parametrize(
    ("version", "native"),
    [("5.6.51", False), ("5.7.29", True), ("8.0.31", True), ("8.4.3", False), ("9.7.4-2", False)],
)
def test_native_passwords_where_a_server_has_them_and_can_be_told(version, native):
    assert ("mysql_native_password" in identified_by(version)) is native
