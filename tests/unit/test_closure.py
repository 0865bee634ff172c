"""The wall time's parts: they sum to the client's time, whatever was measured."""

import pytest

from mysqlprof.closure import (
    OTHER_WAITS,
    WAITING_FOR_A_CPU,
    Share,
    Spans,
    Wait,
    close,
    off_cpu_reasons,
    on_cpu_shares,
)
from mysqlprof.counted_types import Reason
from mysqlprof.rules import load_rules
from mysqlprof.stacks import FoldedStacks

REASONS = [
    Reason(label="disk", frames="^vfs_fsync"),
    Reason(label="lock", frames="^futex_wait"),
]
WAITS = [
    Wait(3.0, False, ("do_command(THD*)", "fsync", "vfs_fsync_[k]", "schedule_[k]")),
    Wait(1.0, True, ("do_command(THD*)", "vfs_fsync_[k]")),
    Wait(2.0, False, ("futex_wait_queue_[k]",)),
    Wait(0.5, False, ()),
]
SHARES = [Share("copy", "libc", 0.75), Share("other functions", "unknown", 0.25)]


def spans(client: float = 100.0, server: float = 90.0, cpu: float = 80.0) -> Spans:
    return Spans(client, server, cpu, {"execute_loop": 88.0}, WAITS)


def test_the_parts_sum_to_the_client_s_time_and_the_rest_is_unexplained():
    closure = close("cell", spans(), SHARES, REASONS, [])
    assert sum(part.ms for part in closure.parts) == pytest.approx(100.0)
    assert [(p.group, p.label, p.ms) for p in closure.parts[:3]] == [
        ("client", "client and network", 10.0),
        ("on_cpu", "copy", 60.0),
        ("on_cpu", "other functions", 20.0),
    ]
    assert closure.unexplained_ms == pytest.approx(90 - 80 - 6.5)


def test_two_clocks_that_overlap_leave_a_negative_rest_which_is_told():
    closure = close("cell", spans(cpu=89.0), SHARES, REASONS, [])
    assert closure.unexplained_ms == pytest.approx(-5.5)
    assert sum(part.ms for part in closure.parts) == pytest.approx(100.0)


def test_without_a_profile_the_time_on_the_cpu_is_one_part():
    parts = [p for p in close("c", spans(), [], [], []).parts if p.group == "on_cpu"]
    assert [(part.label, part.ms) for part in parts] == [("on a CPU, not profiled", 80.0)]


def test_a_thread_that_could_run_waits_for_a_cpu_whatever_its_stack():
    assert off_cpu_reasons(WAITS, REASONS) == {
        "disk": 3.0,
        "lock": 2.0,
        WAITING_FOR_A_CPU: 1.0,
        OTHER_WAITS: 0.5,
    }


def test_shares_are_of_the_command_s_own_samples_and_sum_to_one():
    stacks = FoldedStacks(
        {
            ("clone", "page_cleaner(void*)"): 5000,
            ("dispatch_command(THD*)", "String::replace(unsigned long)", "memcpy"): 60,
            ("dispatch_command(THD*)", "ha_innobase::write_row(unsigned char*)"): 39,
            ("dispatch_command(THD*)", "something"): 1,
        }
    )
    shares = on_cpu_shares(stacks, "dispatch_command", load_rules())
    assert shares[0].share == pytest.approx(0.60)
    assert sum(share.share for share in shares) == pytest.approx(1.0)
    assert on_cpu_shares(stacks, "no_such_function", load_rules()) == []
