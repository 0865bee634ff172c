"""The build context: what goes into an image, and that the same input gives the same tag."""

import io
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.servers import image
from mysqlprof.servers.archives import Installation
from mysqlprof.servers.image import (
    build_context,
    find_busybox,
    find_interpreter,
    fingerprint,
    image_reference,
    parse_ldd,
    write_context,
)

DYNAMIC = Path("/bin/ls")


@pytest.fixture
def made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installation:
    """A server of two share files, whose mysqld is another dynamically linked program."""
    fake_busybox = tmp_path / "tools/busybox"
    fake_busybox.parent.mkdir()
    fake_busybox.write_text("#!/bin/sh\nprintf 'busybox\\nls\\nsh\\n'\n")
    fake_busybox.chmod(0o755)
    monkeypatch.setattr(image, "find_busybox", lambda: fake_busybox)
    share = tmp_path / "server/share"
    (share / "english").mkdir(parents=True)
    (share / "english/errmsg.sys").write_bytes(b"\1\2\3")
    (share / "charsets").mkdir()
    (share / "charsets/Index.xml").write_text("<charsets/>")
    return Installation(
        version="5.7.99",
        basedir=tmp_path / "server",
        mysqld=DYNAMIC,
        share=share,
        library_paths=(),
        source="maven:example:mysql:1",
        sha256="0" * 64,
        flags={"mysqlx": "OFF"},
    )


def written(made_of: Installation) -> bytes:
    out = io.BytesIO()
    write_context(build_context(made_of), out)
    return out.getvalue()


def test_context_holds_all_that_a_scratch_image_needs(made_of: Installation) -> None:
    context = build_context(made_of)
    loader = find_interpreter(DYNAMIC)
    for path in (
        "Dockerfile",
        "rootfs/usr/local/bin/docker-entrypoint.sh",
        "rootfs/usr/local/mysql/bin/mysqld",
        "rootfs/usr/local/mysql/share/english/errmsg.sys",
        "rootfs/usr/local/mysql/share/charsets/Index.xml",
        "rootfs/etc/passwd",
        "rootfs/etc/my.cnf",
        "rootfs/docker-entrypoint-initdb.d",
        "rootfs/bin/busybox",
        f"rootfs{loader}",
    ):
        assert path in context
    assert any(path.endswith("/libc.so.6") for path in context)
    assert context["rootfs/bin/sh"].link == "busybox"
    assert context["rootfs/var/lib/mysql"].mode == 0o1777
    assert context["rootfs/usr/local/bin/docker-entrypoint.sh"].mode == 0o755


def test_configuration_has_the_flags_of_the_version_and_includes_the_users_files(
    made_of: Installation,
) -> None:
    text = (build_context(made_of)["rootfs/etc/my.cnf"].data or b"").decode()
    assert "mysqlx = OFF" in text
    assert text.rstrip().endswith("!includedir /etc/mysql/conf.d/")


def test_same_content_gives_the_same_bytes_and_tag(made_of: Installation) -> None:
    first, tag = written(made_of), image_reference(made_of)
    os.utime(made_of.share / "charsets/Index.xml", (1, 1))
    assert written(made_of) == first
    assert image_reference(made_of) == tag
    assert tag.startswith("mysqlprof/mysql:5.7.99-")


def test_any_change_of_content_gives_another_tag(made_of: Installation) -> None:
    tags = [image_reference(made_of)]
    tags.append(image_reference(replace(made_of, flags={})))
    (made_of.share / "charsets/Index.xml").chmod(0o755)
    tags.append(image_reference(made_of))
    (made_of.share / "charsets/Index.xml").write_text("<charsets></charsets>")
    tags.append(image_reference(made_of))
    assert len(set(tags)) == len(tags)


def test_archive_is_sorted_without_times_or_owners(made_of: Installation) -> None:
    with tarfile.open(fileobj=io.BytesIO(written(made_of))) as tar:
        members = tar.getmembers()
    assert [m.name for m in members] == sorted(m.name for m in members)
    assert {(m.mtime, m.uid, m.gid, m.uname) for m in members} == {(0, 0, 0, "")}


def test_fingerprint_tells_a_link_from_a_file() -> None:
    link = {"a": image.Entry(0o777, link="b")}
    file = {"a": image.Entry(0o777, data=b"b")}
    folder = {"a": image.Entry(0o777)}
    assert len({fingerprint(link), fingerprint(file), fingerprint(folder)}) == 3


def test_ldd_output() -> None:
    text = """\
\tlinux-vdso.so.1 (0x00007ff7db558000)
\tlibaio.so.1 => /lib/x86_64-linux-gnu/libaio.so.1 (0x00007ff7db53c000)
\tlibssl.so.1.1 => not found
\tlibcrypto.so.1.1 => /srv/a/../lib/private/libcrypto.so.1.1 (0x00007ff189400000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007ff7db55a000)
"""
    assert parse_ldd(text) == {
        "libaio.so.1": Path("/lib/x86_64-linux-gnu/libaio.so.1"),
        "libssl.so.1.1": None,
        "libcrypto.so.1.1": Path("/srv/a/../lib/private/libcrypto.so.1.1"),
        "ld-linux-x86-64.so.2": Path("/lib64/ld-linux-x86-64.so.2"),
    }
    assert parse_ldd("\tnot a dynamic executable\n") == {}


def test_a_missing_library_is_named_with_what_to_install(
    made_of: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image, "parse_ldd", lambda _: {"libaio.so.1": None, "libc.so.6": DYNAMIC})
    monkeypatch.setattr(image, "_under_another_name", lambda _: None)
    with pytest.raises(EnvironmentLacks, match=r"needs libaio\.so\.1") as caught:
        build_context(made_of)
    assert "apt-get install" in caught.value.hint


def test_without_a_static_busybox_the_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image.shutil, "which", lambda *_, **__: None)
    with pytest.raises(EnvironmentLacks) as caught:
        find_busybox()
    assert caught.value.hint == "sudo apt-get install -y busybox-static"
    monkeypatch.setattr(image.shutil, "which", lambda *_, **__: str(DYNAMIC))
    with pytest.raises(EnvironmentLacks, match="linked dynamically"):
        find_busybox()
