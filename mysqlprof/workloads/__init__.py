"""The kinds of work that can be driven: a module each, and a line in `make`."""

from typing import assert_never

from mysqlprof.errors import UsageError
from mysqlprof.workload_spec import NoWorkload, PreparedInsertSpec, SysbenchSpec, WorkloadSpec
from mysqlprof.workloads import prepared_insert, sysbench
from mysqlprof.workloads.base import Workload


def make(spec: WorkloadSpec, seed: int, max_allowed_packet: int) -> Workload:
    """The work that a scenario asks for. Raises UsageError where MySQL's limits forbid it."""
    match spec:
        case PreparedInsertSpec():
            return prepared_insert.make(spec, seed, max_allowed_packet)
        case SysbenchSpec():
            return sysbench.Sysbench(spec, seed)
        case NoWorkload():
            raise UsageError("there is nothing to drive in imported profiles")
        case _:
            assert_never(spec)
