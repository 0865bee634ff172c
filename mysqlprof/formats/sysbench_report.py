"""The report that sysbench 1.0 prints at the end of a run.

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

`other` are BEGIN and COMMIT. Ignored errors are those that sysbench answers with a new transaction
(deadlock, lock wait timeout). The total time begins when all threads are connected and prepared.
"""

import re
from dataclasses import dataclass

_COUNTS = {
    "transactions": "transactions",
    "queries_read": "read",
    "queries_write": "write",
    "queries_other": "other",
    "ignored_errors": "ignored errors",
    "reconnects": "reconnects",
}
_LATENCIES = {"latency_avg_ms": "avg", "latency_p95_ms": "95th percentile"}


@dataclass(frozen=True)
class SysbenchReport:
    elapsed_ms: float
    metrics: dict[str, float]
    """transactions, queries_read, queries_write, queries_other, ignored_errors, reconnects;
    transactions_per_s, latency_avg_ms, latency_p95_ms."""


def parse(text: str) -> SysbenchReport:
    """Raises ValueError, which names the first line that is missing."""
    elapsed_s = _number(text, "total time", r"([0-9.]+)s$")
    counts = {name: _number(text, label, r"([0-9]+)\b") for name, label in _COUNTS.items()}
    latencies = {name: _number(text, label, r"([0-9.]+)$") for name, label in _LATENCIES.items()}
    rate = {"transactions_per_s": counts["transactions"] / elapsed_s}
    return SysbenchReport(elapsed_s * 1e3, counts | rate | latencies)


def fatal_errors(text: str) -> str:
    """What sysbench said before it gave up, on one line; empty where it said nothing.

    FATAL: unable to connect to MySQL server on host '127.0.0.1', port 1, aborting...
    FATAL: error 2002: Can't connect to server on '127.0.0.1' (115)
    FATAL: `thread_init' function failed: /usr/share/sysbench/oltp_common.lua:349: ...
    """
    found = re.findall(r"^FATAL: (.*)$", text, re.MULTILINE)
    told = [line for line in found if "function failed" not in line]
    return "; ".join(dict.fromkeys(told[:2] or found[:1]))


def _number(text: str, label: str, pattern: str) -> float:
    found = re.findall(rf"^\s+{re.escape(label)}:\s+{pattern}", text, re.MULTILINE)
    if len(found) != 1:
        raise ValueError(f"sysbench's report has {len(found)} lines {label!r}, expected one")
    return float(found[0])
