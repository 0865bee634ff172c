"""Shapes of links, configurations of proxies, and what is read from other programs' words."""

import json
import re
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from mysqlprof import debian
from mysqlprof.errors import EnvironmentLacks, ServerFailed, UsageError
from mysqlprof.model import Endpoint, Place
from mysqlprof.topologies import proxy, shardingsphere, tunnel
from mysqlprof.topologies.certificates import authority
from mysqlprof.topologies.link import Measured, Shape
from mysqlprof.topologies.programs import own_module, program
from mysqlprof.topologies.transfer import receive, send

SERVER = Endpoint("198.18.0.1", 3306, "somebody", 'pa"ss: #word', "/run/sock", apart=True)


# --- links ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rate"),
    [("100mbit", 10**8), ("1gbit", 10**9), ("2.5gbit", 25 * 10**8), ("unlimited", None)],
)
def test_a_rate_is_written_as_tc_writes_it(text, rate):
    assert Shape.parse(text).rate_bps == rate


@pytest.mark.parametrize("text", ["", "fast", "100", "0mbit", "100mbps", "-1gbit", "1gbit; rm"])
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(UsageError):
        Shape.parse(text)


def test_the_bucket_holds_two_frames_or_a_timers_worth():
    assert Shape(10**8).burst_bytes == 2 * 1514
    assert Shape(10**10).burst_bytes == 250_000


@pytest.mark.parametrize(
    ("goodput", "words"),
    [(0.95e9, ""), (0.5e9, "this machine cannot fill it"), (1.2e9, "the shaping does not hold")],
)
def test_a_link_that_is_not_what_it_is_called_has_a_caveat(goodput, words):
    caveat = Measured("to the client", goodput, 10**9).caveat
    assert words in caveat
    assert bool(caveat) == bool(words)


def test_a_link_without_a_rate_has_no_share_and_no_caveat():
    measured = Measured("to the client", 3e9, None)
    assert (measured.share, measured.caveat) == (None, "")


def test_a_stream_is_timed_where_it_arrives(tmp_path):
    from threading import Thread

    port = tmp_path / "port"
    found = {}
    receiver = Thread(target=lambda: found.update(receive("127.0.0.1", str(port), 0.2)))
    receiver.start()
    while not port.exists():
        pass
    send("127.0.0.1", int(port.read_text()), 0.2)
    receiver.join()
    assert found["bytes"] > 1_000_000
    assert 0.2 <= found["seconds"] < 5


# --- programs ---------------------------------------------------------------------------------


def test_a_program_that_ends_too_early_is_told_with_its_words(tmp_path):
    command = ["sh", "-c", "echo no such option; exit 3"]
    with program("router", command, tmp_path) as running, pytest.raises(ServerFailed) as failed:
        running.await_ready(lambda: False, 5)
    assert failed.value.message == "router ended before it was ready: exited with status 3"
    assert failed.value.hint == "no such option"


def test_a_program_that_is_never_ready_is_stopped(tmp_path):
    late = pytest.raises(ServerFailed, match="not ready after")
    with late, program("router", ["sleep", "60"], tmp_path) as running:
        running.await_ready(lambda: False, 0.1)
    assert running.process.returncode == -15


def test_programs_of_this_package_run_as_this_tree_has_them(tmp_path):
    with program("connect", [*own_module("connect"), "/nowhere"], tmp_path) as running:
        running.process.wait(20)
    assert str(Path(own_module.__code__.co_filename).parent) in running.log.read_text()


# --- certificates -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "key", "bits"),
    [
        ("rsa-2048", rsa.RSAPublicKey, 2048),
        ("ec-p256", ec.EllipticCurvePublicKey, 256),
    ],
)
def test_certificates_are_private_and_go_with_their_run(kind, key, bits):
    with authority() as signer:
        issued = signer.issue("server", kind, ("198.18.0.1",))
        for path in (issued.key, issued.certificate, issued.authority):
            assert path.stat().st_mode & 0o777 == 0o600
        certificate = x509.load_pem_x509_certificate(issued.certificate.read_bytes())
        public = certificate.public_key()
        assert isinstance(public, key)
        assert public.key_size == bits
        certificate.verify_directly_issued_by(
            x509.load_pem_x509_certificate(issued.authority.read_bytes())
        )
        ssl.create_default_context().load_cert_chain(issued.certificate, issued.key)
    assert not issued.key.parent.exists()


def test_a_kind_of_key_that_is_not_known_is_refused():
    with authority() as signer, pytest.raises(UsageError, match="dsa"):
        signer.issue("server", "dsa")


# --- proxies ----------------------------------------------------------------------------------


def sections(text: str) -> dict[str, dict[str, str]]:
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser}


def router(options: proxy.PoolOptions) -> dict[str, str]:
    listen = Endpoint("127.0.0.1", 6446, "somebody", "secret", "/run/proxy.sock", apart=True)
    text = proxy._configuration(
        proxy._Router(["mysqlrouter"], "/plugins"), SERVER, listen, options, Path("/private")
    )
    assert "secret" not in text
    found = sections(text)
    return {**found["routing:mysqlprof"], **found["connection_pool"]}


def test_the_router_stands_between_both_and_knows_no_password():
    found = router(proxy.PoolOptions())
    assert found["destinations"] == "198.18.0.1:3306"
    assert (found["bind_address"], found["bind_port"]) == ("127.0.0.1", "6446")
    assert found["socket"] == "/run/proxy.sock"
    assert found["client_ssl_mode"] == "DISABLED"


def test_pooling_sharing_and_tls_behind_the_router_are_apart():
    options = proxy.PoolOptions(idle_connections=0, sharing=True, server_tls="REQUIRED")
    found = router(options)
    assert found["max_idle_server_connections"] == "0"
    assert (found["connection_sharing"], found["server_ssl_mode"]) == ("1", "REQUIRED")


def test_nothing_breaks_out_of_shardingspheres_files(tmp_path):
    folder = shardingsphere._configure(tmp_path / "conf", SERVER, "bench", {"a&b": "c=d"})
    text = (folder / "config-schema.yaml").read_text()
    (password,) = re.findall(r"password: (.*)", text)
    assert json.loads(password) == SERVER.password
    assert "useSSL=false&a%26b=c%3Dd" in text
    assert (folder / "server.yaml").stat().st_mode & 0o777 == 0o600
    assert json.dumps(f"somebody@%:{SERVER.password}") in (folder / "server.yaml").read_text()


def test_another_driver_replaces_the_one_that_shardingsphere_brings(tmp_path, monkeypatch):
    monkeypatch.setattr(shardingsphere, "cache_dir", lambda part: tmp_path)
    home = tmp_path / f"proxy-{shardingsphere.VERSION}-{shardingsphere._SHA256[:12]}"
    home.mkdir()
    for name in ("a.jar", "mysql-connector-java-5.1.47.jar"):
        (home / name).touch()
    other = tmp_path / "connector-j-8.0.33.jar"
    assert shardingsphere._jars(None, print) == [
        home / "a.jar",
        home / "mysql-connector-java-5.1.47.jar",
    ]
    assert shardingsphere._jars(other, print) == [home / "a.jar", other]


# --- other programs' words --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "cipher"),
    [
        ("2026 Data Channel: cipher 'AES-256-GCM', peer-id: 0\n", "AES-256-GCM"),
        ("Outgoing Data Channel: Cipher 'BF-CBC' initialized with 128 bit key\n", "BF-CBC"),
        ("nothing of it", "unknown"),
    ],
)
def test_the_tunnels_cipher_is_what_openvpn_says(log, cipher):
    assert tunnel._cipher(log) == cipher


DEPENDS = """\
mysql-router
  Depends: libc6
  Depends: <libprotobuf-api>
libc6
  Depends: libgcc-s1
libgcc-s1
"""


def test_a_package_comes_with_all_that_it_needs(monkeypatch):
    monkeypatch.setattr(debian, "_output", lambda command: DEPENDS)
    monkeypatch.setattr(debian, "_apt", lambda name: name)
    assert debian._with_dependencies("mysql-router", []) == ["libc6", "libgcc-s1", "mysql-router"]
    with pytest.raises(EnvironmentLacks, match="no package nginx"):
        debian._with_dependencies("nginx", [])


def test_only_debians_own_packages_are_looked_for_there(monkeypatch):
    lines = "Ubuntu\tUbuntu\thttp://one/\nDebian\tDebian-Security\thttp://two/\n"
    monkeypatch.setattr(debian, "_apt", lambda name: name)
    monkeypatch.setattr(debian, "_output", lambda command: lines)
    with pytest.raises(EnvironmentLacks):
        debian._own_archive()
    monkeypatch.setattr(debian, "_output", lambda command: lines + "Debian\tDebian\thttp://x/\n")
    assert debian._own_archive() == "http://x/"


def test_an_unpacked_program_is_started_by_its_own_loader():
    command = debian.Unpacked(Path("/t"), "1").command("usr/bin/p", "usr/lib/p")
    assert command[0] == "/t/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    assert command[-1] == "/t/usr/bin/p"
    assert "/t/usr/lib/p" in command[2].split(":")


def test_only_a_prefix_leads_apart():
    assert not Place().apart
    assert Place(("nsenter", "--net=/proc/1/ns/net"), "198.18.0.1").apart
