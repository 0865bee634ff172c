"""The server of a site: this machine alone, files alone."""

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mysqlprof.errors import EnvironmentLacks
from mysqlprof.serve import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "index.html").write_text("<p>hello")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.js").write_text("1")
    with Server(tmp_path, 0, "default-src 'none'") as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server: Server, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    connection.request("GET", path, headers=headers)
    return connection.getresponse()


def test_it_listens_on_loopback_alone(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.server_port}/"


def test_a_page_comes_with_its_policy(server: Server) -> None:
    answer = ask(server, "/")
    assert answer.status == 200
    assert answer.read() == b"<p>hello"
    assert answer.headers["Content-Security-Policy"] == (
        "default-src 'none'; frame-ancestors 'none'"
    )
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_scripts_have_their_type(server: Server) -> None:
    assert ask(server, "/data/x.js").headers["Content-Type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("path", ["/data/", "/no", "/../secret", "/%2e%2e/secret"])
def test_it_lists_nothing_and_leaves_nothing(server: Server, path: str) -> None:
    (Path(server.folder).parent / "secret").write_text("x")
    assert ask(server, path).status == 404


def test_another_hosts_name_is_refused(server: Server) -> None:
    """A page elsewhere may point its own name here, and read what comes back."""
    assert ask(server, "/", Host="evil.example").status == 403


def test_a_taken_port_is_said_in_words(server: Server, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacks, match="cannot listen") as caught:
        Server(tmp_path, server.server_port, "")
    assert "--port" in caught.value.hint
