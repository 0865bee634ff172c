"""Scenarios tls-inserts and connections: what they are made of, without a server."""

from urllib.parse import parse_qs, urlsplit

import pytest
from report_factory import make_run

from mysqlprof import scenario
from mysqlprof.drivers.base import Refused
from mysqlprof.drivers.connect import tls_of
from mysqlprof.drivers.connector_j import jdbc_url
from mysqlprof.drivers.refusals import gap_of
from mysqlprof.errors import EnvironmentLacks, UsageError
from mysqlprof.launches import launches
from mysqlprof.model import Endpoint, LaunchSpec, Limits, Place, PublishedTime
from mysqlprof.report import render_html, render_markdown
from mysqlprof.report.published import published_rows
from mysqlprof.request import backend_of
from mysqlprof.routes import open_hosts
from mysqlprof.store import RunDirectory
from mysqlprof.workload_spec import ConnectionsSpec, RowInsertsSpec
from mysqlprof.workloads import make

ENDPOINT = Endpoint("127.0.0.1", 3306, "u", "p", authority="ca.pem")
LOGINS = make(ConnectionsSpec(kind="connections", connections=10), 1, 2**26)
ROWS = make(RowInsertsSpec(kind="row-inserts", rows=10), 1, 2**26)


# --- plans ------------------------------------------------------------------------------------


def test_only_the_combinations_that_answer_something_are_made():
    cells = [cell.id for cell in scenario.cells(scenario.load("connections"))]
    assert len(cells) == 14
    assert "before_vpn_tls-off_rsa-2048" in cells
    assert "before_vpn_tls-1.2_rsa-2048" not in cells
    assert "before_socket_tls-off_rsa-4096" not in cells
    assert len(scenario.cells(scenario.load("tls-inserts"))) == 20


def test_each_kind_of_key_has_a_server_and_ways_share_it():
    plan = scenario.plan(scenario.load("connections"), seed=1)
    found = launches(plan, Limits(), {})
    kinds = {name: spec.certificate for name, spec in found.specs.items()}
    assert kinds == {
        "before_rsa-2048": "rsa-2048",
        "before_rsa-4096": "rsa-4096",
        "before_ec-p256": "ec-p256",
    }
    assert found.of_cell["before_vpn_tls-off_rsa-2048"] == "before_rsa-2048"


def test_starts_that_no_factor_tells_apart_are_still_servers_of_their_own():
    definition = scenario.load("connections")
    diagonal = [
        {"way": "tcp", "tls": "1.2", "key": "rsa-2048"},
        {"way": "socket", "tls": "off", "key": "ec-p256"},
    ]
    plan = scenario.plan(definition.model_copy(update={"include": diagonal}), seed=1)
    found = launches(plan, Limits(), {})
    assert sorted(spec.certificate for spec in found.specs.values()) == ["ec-p256", "rsa-2048"]
    for cell in plan.cells:
        assert found.specs[found.of_cell[cell.id]].certificate == cell.certificate


def test_a_network_of_its_own_needs_the_local_backend():
    definition = scenario.load("connections")
    assert backend_of(definition, "auto") == "local"
    with pytest.raises(UsageError, match="only the local backend"):
        backend_of(definition, "docker")
    assert backend_of(scenario.load("tls-inserts"), "auto") == "auto"


# --- drivers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "options", "properties"),
    [
        ("8.0.16", {"tls": "off"}, {"sslMode": "DISABLED", "allowPublicKeyRetrieval": "true"}),
        ("8.0.16", {"tls": "default"}, {}),
        ("8.0.16", {"tls": "TLSv1.2"}, {"sslMode": "REQUIRED", "enabledTLSProtocols": "TLSv1.2"}),
        ("5.1.6", {}, {"useSSL": "false"}),
        ("5.1.6", {"tls": "TLSv1.2"}, {"useSSL": "true", "verifyServerCertificate": "false"}),
        (
            "8.0.16",
            {"tls": "default", "cipher": "", "properties": "rewriteBatchedStatements=true"},
            {"rewriteBatchedStatements": "true"},
        ),
    ],
)
def test_a_url_is_what_a_user_would_write(version, options, properties):
    query = parse_qs(urlsplit(jdbc_url(ENDPOINT, version, options)).query)
    found = {name: value for name, (value,) in query.items()}
    assert found == {"useServerPrepStmts": "false", "connectTimeout": "10000", **properties}


def test_the_connecting_client_is_told_what_the_cell_says():
    assert tls_of(ENDPOINT, {"by_socket": True}) is None
    tls = tls_of(ENDPOINT, {"tls": "TLSv1.3", "resume": True})
    assert tls is not None
    assert (tls.version, tls.authority, tls.resume) == ("TLSv1_3", "ca.pem", True)


@pytest.mark.parametrize(
    ("words", "who", "remedy"),
    [
        (
            "java.sql.SQLException: Communications link failure"
            " [javax.net.ssl.SSLHandshakeException: No appropriate protocol (protocol is disabled"
            " or cipher suites are inappropriate)]",
            "the client refused",
            "enabledTLSProtocols=TLSv1.2",
        ),
        (
            "javax.net.ssl.SSLHandshakeException: Received fatal alert: protocol_version",
            "the server refused",
            "tls_version",
        ),
        (
            "java.sql.SQLException: Unknown initial character set index '255' received",
            "the client refused",
            "collation_server",
        ),
        ("something else", "no connection came about", ""),
    ],
)
def test_a_pair_that_cannot_talk_says_which_side_refused_and_what_would_allow_it(
    words, who, remedy
):
    gap = gap_of("one", Refused(words))
    assert gap.cells == ["one"]
    assert gap.why.startswith(who)
    assert words.rpartition("[")[2].removesuffix("]") in gap.why
    assert "link failure" not in gap.why
    assert remedy in gap.remedy


# --- what must agree --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "connections", "handshakes", "resumed", "wrong"),
    [
        ({}, 10, 0, 0, ""),
        ({"tls": "TLSv1.2"}, 10, 10, 0, ""),
        ({"tls": "TLSv1.2", "resume": True}, 10, 10, 9, ""),
        ({"tls": "TLSv1.2", "resume": True}, 10, 10, 0, "0 TLS sessions were resumed, expected 9"),
        ({}, 11, 0, 0, "counted 11 connections"),
        ({"tls": "TLSv1.2"}, 10, 0, 0, "counted 0 TLS handshakes"),
    ],
)
def test_both_ends_count_the_same_connections(options, connections, handshakes, resumed, wrong):
    status = {"Connections": connections, "Ssl_finished_accepts": handshakes}
    found = LOGINS.disagreement(options, status, {"resumed": resumed})
    assert wrong in found
    assert bool(found) == bool(wrong)


def test_behind_a_proxy_the_server_s_own_count_is_a_result():
    status = {"Connections": 1, "Ssl_finished_accepts": 0, "cpu_ms": 20}
    metrics = {"resumed": 0.0, "mysqlrouter_cpu_ms": 30.0, "tls_ms": 50.0}
    assert LOGINS.disagreement({}, status, metrics) == ""
    assert LOGINS.figures(100.0, status, metrics) == {
        "connection_ms": 10.0,
        "server_accepts_per_connection": 0.1,
        "mysqlrouter_cpu_ms": 3.0,
        "server_cpu_ms": 2.0,
        "tls_ms": 5.0,
    }


@pytest.mark.parametrize(
    ("tls", "spoken", "inserts", "wrong"),
    [
        ("off", 0.0, 10, ""),
        ("default", 1.2, 10, ""),
        ("TLSv1.3", 1.3, 10, ""),
        ("off", 1.2, 10, "was to be off"),
        ("TLSv1.3", 1.2, 10, "TLS 1.3 was asked for, and 1.2 was spoken"),
        ("off", 0.0, 9, "counted 9 INSERTs"),
    ],
)
def test_tls_was_what_the_cell_says_and_each_row_was_a_statement(tls, spoken, inserts, wrong):
    found = ROWS.disagreement({"tls": tls}, {"Com_insert": inserts}, {"tls_version": spoken})
    assert wrong in found
    assert bool(found) == bool(wrong)


def test_round_trips_are_the_server_s_own_count_less_our_question():
    figures = ROWS.figures(5.0, {"Questions": 31}, {"client_cpu_ms": 4.0})
    assert figures == {"row_ms": 0.5, "round_trips_per_row": 3.0, "client_cpu_ms": 0.4}


# --- the article's times ----------------------------------------------------------------------


def with_published(tmp_path) -> RunDirectory:
    made = make_run(tmp_path / "run")
    run = made.read_run()
    slow = {
        "server": "before",
        "allocator": "fixed",
        "slow_query_log": "on",
        "server_prepare": "on",
    }
    published = [
        PublishedTime(
            what="<b>normal</b>", cell={**slow, "slow_query_log": "off"}, elapsed_ms=1000
        ),
        PublishedTime(what="slow", cell=slow, elapsed_ms=20000, units=10),
    ]
    definition = run.plan.definition.model_copy(update={"published": published})
    plan = run.plan.model_copy(update={"definition": definition})
    made.write_run(run.model_copy(update={"plan": plan}))
    return made


def test_published_times_stand_beside_measured_ones_by_their_ratios(tmp_path):
    run = with_published(tmp_path).read_run()
    medians = {cell.id: cell.median_ms for cell in run.cells}
    normal, slow = published_rows(run)
    assert (normal.article_ratio, normal.ratio, normal.article_unit_ms) == (1.0, 1.0, None)
    assert (slow.article_ratio, slow.article_unit_ms) == (20.0, 2000.0)
    assert slow.ratio == pytest.approx(medians[slow.cell] / medians[normal.cell])


def test_reports_have_them_and_escape_them(tmp_path):
    made = with_published(tmp_path)
    page, text = render_html(made), render_markdown(made)
    assert "Two machines, years apart" in page
    assert "&lt;b&gt;normal" in page
    assert "<b>normal" not in page
    assert "### Beside the article" in text
    assert "<b>normal" not in text


# --- what this host cannot have ---------------------------------------------------------------


def test_without_root_there_is_one_host_and_the_tunnel_is_a_named_gap(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    spec = LaunchSpec("before", "8.0.31")
    with open_hosts(2, lambda _: None) as hosts:
        assert hosts.lacking is not None
        assert hosts.equipped(spec) == spec
        assert hosts.way("direct", ENDPOINT, spec).endpoint.client == Place()
        with pytest.raises(EnvironmentLacks, match="need root"):
            hosts.way("tunnel", ENDPOINT, spec)


def test_a_server_with_a_certificate_has_its_files_while_it_lives():
    spec = LaunchSpec("before", "8.0.31", certificate="ec-p256")
    with open_hosts(1, lambda _: None) as hosts:
        equipped = hosts.equipped(spec)
        assert set(equipped.files) == {"ssl_ca", "ssl_cert", "ssl_key"}
        assert "EC PRIVATE KEY" in equipped.files["ssl_key"].read_text()
        way = hosts.way("direct", ENDPOINT, spec)
        assert way.endpoint.authority == str(equipped.files["ssl_ca"])
    assert not equipped.files["ssl_key"].exists()


def test_a_kind_of_key_that_there_is_not_is_refused():
    spec = LaunchSpec("before", "8.0.31", certificate="dsa")
    with open_hosts(1, lambda _: None) as hosts, pytest.raises(UsageError, match="dsa"):
        hosts.equipped(spec)
