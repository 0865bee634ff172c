"""The report's stacks against those of `perf script` over the same recordings."""

import dataclasses
import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from mysqlprof.formats.kernel import KernelMarker, is_entry_point, is_kernel_module
from mysqlprof.formats.perf_report import (
    PerfReport,
    choose_event,
    merge_reports,
    parse_perf_report,
)
from mysqlprof.stacks import FoldedStacks, Stack

DATA = Path(__file__).parent.parent / "data"
RECORDINGS = [
    ("mysqld-5.7.22-slow.perf-report.txt", "mysqld-5.7.22-slow.perf-script.txt.gz"),
    ("mysqld-8.0.31-normal.perf-report.txt.gz", "mysqld-8.0.31-normal.perf-script.txt.gz"),
    ("two-events.perf-report.txt", "two-events.perf-script.txt.gz"),
]
_FRAME = re.compile(r"\s+[0-9a-f]+ (.*) \((.*)\)")
_SAMPLE = re.compile(r"\S.* (\S+): ")


def read(name: str) -> Iterator[str]:
    path = DATA / name
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            yield from file
    else:
        with path.open(encoding="utf-8", newline="\n") as file:
            yield from file


def report_of(*lines: str, commands: bool = False) -> PerfReport:
    head = [f"# Samples: {sum(int(x.split('^')[1]) for x in lines if '%' in x)}  of event 'cycles'"]
    (report,) = parse_perf_report(
        (s.replace("^", "\x1f") for s in [*head, *lines]), commands=commands
    )
    return report


def collapsed(lines: Iterable[str]) -> dict[str, Counter[Stack]]:
    """perf script's text, sample by sample: event -> stacks. Its modules say what is kernel."""
    found: dict[str, Counter[Stack]] = {}
    event, frames = "", []
    for line in [*lines, "\n"]:
        if frame := _FRAME.match(line):
            mark = "_[k]" if frame[2].startswith("[kernel") else ""
            frames.append(frame[1] + mark)
        elif sample := _SAMPLE.match(line):
            event = sample[1]
        elif frames:
            found.setdefault(event, Counter())[tuple(reversed(frames))] += 1
            frames = []
    return found


@pytest.mark.parametrize(("report", "script"), RECORDINGS)
def test_stacks_equal_those_of_perf_script_one_by_one(report: str, script: str) -> None:
    expected = collapsed(read(script))
    reports = {r.event: r for r in parse_perf_report(read(report))}
    assert reports.keys() == expected.keys()
    for event, parsed in reports.items():
        assert Counter(dict(parsed.stacks.items())) == expected[event]


@pytest.mark.parametrize("name", [report for report, _ in RECORDINGS])
def test_counts_agree_with_entries_and_header(name: str) -> None:
    for report in parse_perf_report(read(name)):
        assert report.discrepancy() == ""
        assert report.stacks.total == report.samples


def test_unresolved_frames_are_counted() -> None:
    (report,) = parse_perf_report(read("mysqld-8.0.31-normal.perf-report.txt.gz"))
    (expected,) = collapsed(read("mysqld-8.0.31-normal.perf-script.txt.gz")).values()
    unknown = {"[unknown]", "[unknown]_[k]"}
    assert report.unresolved == sum(n for s, n in expected.items() if unknown & set(s))
    assert report.unresolved_leaf == sum(n for s, n in expected.items() if s[-1] in unknown)
    assert 0 < report.unresolved_leaf < report.unresolved < report.samples


def test_leaves_know_their_module() -> None:
    (report,) = parse_perf_report(read("mysqld-5.7.22-slow.perf-report.txt"))
    assert report.modules["exc_page_fault_[k]"] == "[kernel.kallsyms]"
    copies = {m for frame, m in report.modules.items() if frame.startswith("__memmove")}
    assert copies == {"/usr/lib/x86_64-linux-gnu/libc.so.6"}
    assert report.modules.keys() == report.stacks.self_counts().keys()


def test_each_event_has_its_own_report() -> None:
    reports = parse_perf_report(read("two-events.perf-report.txt"))
    assert [r.event for r in reports] == ["cpu-clock", "page-faults"]
    assert choose_event(reports).event == "cpu-clock"
    assert choose_event(reports, "page-faults").samples == 5
    with pytest.raises(LookupError, match="cpu-clock, page-faults"):
        choose_event(reports, "cycles")
    with pytest.raises(LookupError, match="no events"):
        choose_event([])


def test_an_event_is_found_without_its_modifier() -> None:
    report = report_of("100.00%^1^a^m", "1 main^f")
    modified = [PerfReport(**{**vars(report), "event": "cycles:u"})]
    assert choose_event(modified, "cycles").event == "cycles:u"


def test_names_with_semicolons_and_spaces_stay_whole() -> None:
    report = report_of(
        "100.00%^3^my thread^/opt/a b/lib.so",
        "3 main^operator new(unsigned long)^Lfoo;::bar(int, char)",
        commands=True,
    )
    stack = ("my thread", "main", "operator new(unsigned long)", "Lfoo;::bar(int, char)")
    assert dict(report.stacks.items()) == {stack: 3}
    assert report.modules == {"Lfoo;::bar(int, char)": "/opt/a b/lib.so"}


def test_samples_without_stack_are_kept_as_unknown() -> None:
    report = report_of("75.00%^3^swapper^[kernel.kallsyms]", "25.00%^1^a^m", "1 main^f")
    assert dict(report.stacks.items()) == {("[unknown]_[k]",): 3, ("main", "f"): 1}
    assert (report.unresolved, report.unresolved_leaf) == (3, 3)
    assert report.discrepancy() == ""


def test_threads_of_a_process_are_put_together() -> None:
    lines = ("50.00%^1^ 18864:my thd^m", "1 main^f", "50.00%^1^ 18865:my thd^m", "1 main^f")
    assert dict(report_of(*lines, commands=True).stacks.items()) == {("my thd", "main", "f"): 2}


def test_stacks_that_were_cut_off_are_noticed() -> None:
    report = report_of("100.00%^5^a^m", "3 main^f")
    assert report.discrepancy() == "stacks hold 3 samples, entries 5"


def test_entries_that_were_cut_off_are_noticed() -> None:
    head = "# Samples: 3K of event 'cycles'"
    (report,) = parse_perf_report([head, "9%\x1f2999\x1fa\x1fm", "2999 f"])
    assert "header says 3K" in report.discrepancy()
    assert report.discrepancy(filtered=True) == ""


@pytest.mark.parametrize(
    ("count", "announced"),
    [
        (273, "273"),
        (1000, "1000"),
        (1001, "1K"),
        (3277, "3K"),
        (581_276, "581K"),
        (1_001_999, "1M"),
    ],
)
def test_header_counts_are_read_as_perf_rounds_them(count: int, announced: str) -> None:
    lines = [f"# Samples: {announced} of event 'x'", f"9%\x1f{count}\x1fa\x1fm"]
    (report,) = parse_perf_report(lines)
    assert report.discrepancy() == ""


def test_lost_samples_are_reported() -> None:
    head = ["# Total Lost Samples: 42", "# Samples: 1  of event 'cycles'"]
    (report,) = parse_perf_report([*head, "100.00%\x1f1\x1fa\x1fm", "1 f"])
    assert report.lost == 42


@pytest.mark.parametrize("line", ["rubbish", "1%\x1fmany\x1fa\x1fm", "1%\x1f1\x1fa", "x 1"])
def test_other_text_is_refused_by_line(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: not an entry"):
        parse_perf_report(["# Samples: 1  of event 'cycles'", line])


def test_samples_before_any_event_are_refused() -> None:
    with pytest.raises(ValueError, match="line 1: samples before any event"):
        parse_perf_report(["1 main"])


def test_nothing_gives_no_reports() -> None:
    assert parse_perf_report([]) == ()


KERNEL_PARTS = [
    # an interrupt right after user code
    ("main;work|asm_sysvec_apic_timer_interrupt;sysvec_apic_timer_interrupt;__irq_exit_rcu"),
    # an interrupt and a page fault inside a system call: the outermost entry counts
    ("main;write|entry_SYSCALL_64_after_hwframe;do_syscall_64;vfs_write;asm_exc_page_fault;memcpy"),
    ("main;f|entry_SYSCALL_64;do_syscall_64;unmap;asm_sysvec_apic_timer_interrupt;handle_softirqs"),
    # kernel threads, the idle task, older kernels, arm64
    ("|ret_from_fork_asm;ret_from_fork;kthread;kswapd"),
    ("|secondary_startup_64_no_verify;start_secondary;do_idle;asm_sysvec_call_function;f"),
    ("main;memmove|page_fault;do_page_fault;__do_page_fault;handle_mm_fault"),
    ("main;read|system_call_fastpath;sys_read;vfs_read"),
    ("main;read|el0t_64_sync;el0t_64_sync_handler;el0_svc;vfs_read"),
    # a kernel function without symbol, in a module; a broken user address like a kernel's
    ("main;ioctl|entry_SYSCALL_64_after_hwframe;0xffffffffc0a01234;f"),
    ("0xfffffffffffffff0;readlink|entry_SYSCALL_64_after_hwframe;do_syscall_64"),
    # no entry point: the leaf, and addresses that only a kernel has
    ("main;work|exc_page_fault"),
    ("main;work|0xffffffffc0a01234;native_write_msr"),
]


@pytest.mark.parametrize("text", KERNEL_PARTS)
def test_the_kernel_part_begins_at_the_outermost_entry(text: str) -> None:
    user, kernel = (part.split(";") if part else [] for part in text.split("|"))
    marked = KernelMarker().mark((*user, *kernel), kernel_leaf=True)
    assert [frame.endswith("_[k]") for frame in marked] == [False] * len(user) + [True] * len(
        kernel
    )


def test_user_leaves_mark_nothing() -> None:
    stack = ("main", "page_fault", "work")
    assert KernelMarker().mark(stack, kernel_leaf=False) == stack


def test_an_address_of_the_kernel_is_enough() -> None:
    assert (
        KernelMarker().mark(("main", "0xffffffffc0a01234"), kernel_leaf=False)[1].endswith("_[k]")
    )
    vsyscall = ("main", "0xffffffffff600400")
    assert KernelMarker().mark(vsyscall, kernel_leaf=False) == ("main", "[unknown]")


@pytest.mark.parametrize(
    ("module", "kernel"),
    [
        ("[kernel.kallsyms]", True),
        ("[guest.kernel.kallsyms]", True),
        ("[nf_tables]", True),
        ("/lib/modules/6.1.0/kernel/fs/xfs/xfs.ko.xz", True),
        ("/usr/lib/debug/boot/vmlinux-6.1.0", True),
        ("bpf_prog_6deef7357e7b4530", True),
        ("[vdso]", False),
        ("[vsyscall]", False),
        ("[stack:123]", False),
        ("[unknown]", False),
        ("//anon", False),
        ("/usr/sbin/mysqld", False),
        ("/tmp/perf-12.map", False),
    ],
)
def test_the_kernels_binaries_are_known(module: str, kernel: bool) -> None:
    assert is_kernel_module(module) is kernel


def test_known_names_help_where_the_entry_was_cut_off() -> None:
    stack = ("vfs_read", "ext4_read", "memcpy")
    marked = KernelMarker({"vfs_read", "ext4_read"}).mark(stack, kernel_leaf=True)
    assert marked == ("vfs_read_[k]", "ext4_read_[k]", "memcpy_[k]")


def test_the_kernels_inner_functions_are_no_entry_points() -> None:
    assert not any(map(is_entry_point, ["exc_page_fault", "vfs_read", "main", "native_write_msr"]))


def part(event: str, samples: int, lost: int = 0) -> PerfReport:
    return PerfReport(
        event=event,
        stacks=FoldedStacks({("a", "b"): samples}),
        samples=samples,
        announced=str(samples),
        lost=lost,
        modules={"b": "/lib/x"},
        unresolved=1,
        unresolved_leaf=0,
    )


def test_parts_of_a_recording_add_up_by_event() -> None:
    merged = merge_reports(
        [(part("cycles", 3, lost=2),), (part("cycles", 4, lost=2), part("x", 1))]
    )
    cycles, other = merged
    assert (cycles.samples, cycles.stacks.total, cycles.unresolved) == (7, 7, 2)
    assert cycles.lost == 2, "perf counts lost samples over the whole recording in each part"
    assert (other.event, other.samples) == ("x", 1)
    assert cycles.discrepancy() == ""


def test_a_part_that_contradicts_itself_is_refused() -> None:
    wrong = dataclasses.replace(part("cycles", 3), samples=4)
    with pytest.raises(ValueError, match="stacks hold 3 samples, entries 4"):
        merge_reports([(part("cycles", 1),), (wrong,)])
