"""The kinds of work that can be driven: a module each, and a line in `make`."""

from typing import assert_never

from mysqlprof.errors import UsageError
from mysqlprof.workload_spec import (
    ConnectionsSpec,
    InListSpec,
    NoWorkload,
    PreparedInsertSpec,
    RowInsertsSpec,
    SysbenchSpec,
    WorkloadSpec,
)
from mysqlprof.workloads import connections, in_list, prepared_insert, row_inserts, sysbench
from mysqlprof.workloads.base import Workload


def make(spec: WorkloadSpec, seed: int, max_allowed_packet: int) -> Workload:
    """The work that a scenario asks for. Raises UsageError where MySQL's limits forbid it."""
    match spec:
        case PreparedInsertSpec():
            return prepared_insert.make(spec, seed, max_allowed_packet)
        case InListSpec():
            return in_list.make(spec, seed, max_allowed_packet)
        case SysbenchSpec():
            return sysbench.Sysbench(spec, seed)
        case RowInsertsSpec():
            return row_inserts.RowInserts(spec)
        case ConnectionsSpec():
            return connections.Connections(spec)
        case NoWorkload():
            raise UsageError("there is nothing to drive in imported profiles")
        case _:
            assert_never(spec)
