"""Drivers by name, the addresses they are given, and what they say when they cannot be had."""

import json

import pytest

from mysqlprof.drivers.connector_j import DEFAULT_VERSION, ConnectorJ, jdbc_url
from mysqlprof.drivers.go import GoSqlDriver
from mysqlprof.drivers.hosted import host_sources
from mysqlprof.drivers.node import Mysql2
from mysqlprof.drivers.python import ConnectorPython
from mysqlprof.drivers.registry import open_driver
from mysqlprof.errors import EnvironmentLacks, UsageError
from mysqlprof.model import Endpoint

ENDPOINT = Endpoint(host="127.0.0.1", port=3306, user="somebody", password="secret")


@pytest.mark.parametrize(
    ("text", "kind", "version"),
    [
        ("connector-j", ConnectorJ, DEFAULT_VERSION),
        ("connector-j:8.0.22", ConnectorJ, "8.0.22"),
        ("go", GoSqlDriver, "1.7.1"),
        ("node", Mysql2, "3.15.3"),
    ],
)
def test_a_driver_is_opened_by_its_name(text, kind, version):
    driver = open_driver(text)
    assert isinstance(driver, kind)
    assert driver.version == version


def test_python_is_the_driver_of_this_process():
    assert isinstance(open_driver("python"), ConnectorPython)


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("perl", "connector-j, connector-j:VERSION, python, go, node"),
        ("", "connector-j"),
        ("connector-j:1.0", "5.1.6, 5.1.49, 8.0.16, 8.0.22, 8.0.33, 8.3.0"),
        ("go:1.0", "write go"),
    ],
)
def test_one_that_there_is_not_is_refused_with_those_that_there_are(text, listed):
    with pytest.raises(UsageError) as caught:
        open_driver(text)
    assert listed in caught.value.hint


@pytest.mark.parametrize(("text", "package"), [("go", "golang-go"), ("node", "nodejs")])
def test_a_program_that_is_missing_is_named_when_the_driver_is_entered(monkeypatch, text, package):
    monkeypatch.setenv("PATH", "")
    driver = open_driver(text)
    with pytest.raises(EnvironmentLacks, match=f"^{text} is not installed$") as caught, driver:
        pass
    assert f"apt-get install -y --no-install-recommends {package}" in caught.value.hint


@pytest.mark.parametrize("on_server", [True, False])
def test_urls_choose_who_prepares_and_carry_no_login(on_server):
    options = {"server_prepare": on_server}
    urls = {
        "j": jdbc_url(ENDPOINT, "8.0.33", options),
        "go": GoSqlDriver().url(ENDPOINT, options),
        "node": Mysql2().url(ENDPOINT, options),
    }
    assert f"useServerPrepStmts={str(on_server).lower()}" in urls["j"]
    assert f"interpolateParams={str(not on_server).lower()}" in urls["go"]
    assert not [url for url in urls.values() if "secret" in url or "somebody" in url]


def test_what_npm_installs_is_pinned_by_its_content_and_not_by_its_place():
    sources = host_sources("node")
    lock = json.loads(sources["package-lock.json"])
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert packages["node_modules/mysql2"]["version"] == Mysql2().version
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())
    assert not [name for name, entry in packages.items() if "resolved" in entry]
