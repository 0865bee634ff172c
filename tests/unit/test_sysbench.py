"""sysbench: what it is told, what it answers, and what its server must have counted."""

import shutil

import pytest

from mysqlprof.drivers.sysbench import SysbenchDriver, arguments, login_file
from mysqlprof.errors import EnvironmentLacks, UsageError
from mysqlprof.formats.sysbench_report import fatal_errors, parse
from mysqlprof.model import Endpoint
from mysqlprof.workload_spec import SysbenchSpec
from mysqlprof.workloads import make

SPEC = SysbenchSpec(
    kind="sysbench", test="oltp_read_write", tables=2, table_rows=500, threads=2, events=200
)
ENDPOINT = Endpoint(host="127.0.0.1", port=3306, user="somebody", password="secret")

# sysbench 1.0.20 on MySQL 5.7.22: one transaction met a deadlock, and was begun again.
MIXED = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 2
Initializing random number generator from seed (1).


Initializing worker threads...

Threads started!

SQL statistics:
    queries performed:
        read:                            2814
        write:                           800
        other:                           401
        total:                           4015
    transactions:                        200    (736.95 per sec.)
    queries:                             4015   (14794.34 per sec.)
    ignored errors:                      1      (3.68 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          0.2696s
    total number of events:              200

Latency (ms):
         min:                                    1.23
         avg:                                    2.67
         max:                                    8.07
         95th percentile:                        4.57
         sum:                                  533.15

Threads fairness:
    events (avg/stddev):           100.0000/8.00
    execution time (avg/stddev):   0.2666/0.00

"""
COUNTED = {
    "Com_begin": 201,
    "Com_commit": 200,
    "Com_select": 2814,
    "Com_insert": 200,
    "Com_update": 400,
    "Com_delete": 200,
    "Com_stmt_execute": 3815,
    "Ssl_finished_accepts": 0,
}
NO_SERVER = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Initializing worker threads...

FATAL: unable to connect to MySQL server on host '127.0.0.1', port 1, aborting...
FATAL: error 2002: Can't connect to server on '127.0.0.1' (115)
FATAL: `thread_init' function failed: /usr/share/sysbench/oltp_common.lua:349: connection failed
FATAL: Thread initialization failed!
"""


def test_the_report_is_read_with_its_own_time_and_counts():
    report = parse(MIXED)
    assert report.elapsed_ms == pytest.approx(269.6)
    assert report.metrics == {
        "transactions": 200,
        "queries_read": 2814,
        "queries_write": 800,
        "queries_other": 401,
        "ignored_errors": 1,
        "reconnects": 0,
        "transactions_per_s": pytest.approx(741.8, rel=1e-3),
        "latency_avg_ms": 2.67,
        "latency_p95_ms": 4.57,
    }


@pytest.mark.parametrize(
    "line", ["transactions:", "total time:", "95th percentile:", "reconnects:"]
)
def test_a_report_that_lacks_a_line_is_refused_with_its_name(line):
    with pytest.raises(ValueError, match=line.rstrip(":")):
        parse(MIXED.replace(line, "something:"))


def test_what_sysbench_gave_up_for_is_one_line():
    assert fatal_errors(NO_SERVER) == (
        "unable to connect to MySQL server on host '127.0.0.1', port 1, aborting...;"
        " error 2002: Can't connect to server on '127.0.0.1' (115)"
    )
    assert fatal_errors(MIXED) == ""


def test_the_server_s_counters_agree_but_for_what_was_begun_again():
    work, metrics = make(SPEC, 1, 2**26), parse(MIXED).metrics
    assert set(work.counters) == set(COUNTED)
    assert work.disagreement({}, COUNTED, metrics) == ""
    # The update that met the deadlock was counted by the server, and by sysbench as an error.
    assert work.disagreement({}, COUNTED | {"Com_update": 401}, metrics) == ""


@pytest.mark.parametrize(
    ("options", "counted", "said", "words"),
    [
        ({}, {"Com_update": 402}, {}, "sysbench counted 1201 queries_write"),
        ({}, {"Com_select": 2813}, {}, "the server 2813 Com_select"),
        ({}, {}, {"transactions": 199}, "199 transactions, expected 200"),
        ({}, {}, {"reconnects": 1}, "1 connections were lost"),
        ({}, {"Com_stmt_execute": 0}, {}, "the server was to prepare"),
        ({"server_prepare": False}, {}, {}, "the client was to prepare"),
        ({"tls": True}, {}, {}, "the server counted 0 TLS handshakes"),
        ({}, {"Ssl_finished_accepts": 2}, {}, "the server counted 2 TLS handshakes"),
    ],
)
def test_counters_that_disagree_are_told(options, counted, said, words):
    work, metrics = make(SPEC, 1, 2**26), parse(MIXED).metrics
    assert words in work.disagreement(options, COUNTED | counted, metrics | said)


def test_each_trial_draws_anew_and_a_seed_is_never_the_time_of_day():
    work = make(SPEC, 2**31 - 2, 2**26)
    assert [work.task(number).seed for number in range(3)] == [2**31 - 1, 1, 2]
    assert work.task(1) == make(SPEC, 2**31 - 2, 2**26).task(1)


def test_rows_are_counted_in_each_table():
    arrival = make(SPEC, 1, 2**26).arrival
    assert arrival.failure((500, 500)) == ""
    assert "rows of sbtest2 499" in arrival.failure((500, 499))


def test_the_login_is_no_argument():
    told = arguments(make(SPEC, 1, 2**26).task(0), {"threads": 8, "compression": True})
    assert {"oltp_read_write", "--threads=8", "--events=200", "--time=0"} <= set(told)
    assert "--mysql-compression=on" in told
    assert not [word for word in told if "secret" in word or "somebody" in word]
    assert "mysql-password=secret\n" in login_file(ENDPOINT)


def test_tls_is_off_unless_asked_for_and_needs_a_certificate():
    task = make(SPEC, 1, 2**26).task(0)
    assert "--mysql-ssl=off" in arguments(task, {})
    assert "--mysql-ssl=on" in arguments(task, {"tls": True})
    with (
        pytest.raises(UsageError, match="only with certificates"),
        SysbenchDriver().session(ENDPOINT, task, {"tls": True}),
    ):
        pass


def test_an_option_that_it_does_not_have_is_refused():
    with pytest.raises(UsageError, match="no option colour"):
        arguments(make(SPEC, 1, 2**26).task(0), {"colour": "red"})


def test_where_sysbench_is_missing_it_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentLacks, match="sysbench is not installed") as caught:
        SysbenchDriver().__enter__()
    assert caught.value.hint.endswith("sysbench")


@pytest.mark.skipif(shutil.which("sysbench") is None, reason="needs sysbench")
def test_it_says_which_version_it_is():
    with SysbenchDriver() as driver:
        assert driver.describe()["version"].startswith("1.")
