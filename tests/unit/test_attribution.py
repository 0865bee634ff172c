import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_perf_report import read

from mysqlprof.attribution import (
    UNATTRIBUTED,
    Attribution,
    attribute,
    hottest_path,
    load_rules,
    path_share,
)
from mysqlprof.errors import UsageError
from mysqlprof.formats.perf_report import parse_perf_report
from mysqlprof.rules import Category, Rule, Rules
from mysqlprof.stacks import FoldedStacks

INSERT = "do_command(THD*);dispatch_command(THD*, int);Prepared_statement::insert_params(char*)"
PATH = [
    r"^dispatch_command\b",
    r"^mysqld_stmt_execute\b",
    r"^Prepared_statement::set_parameters\b",
    r"^String::replace\b",
]


def recorded(name: str) -> FoldedStacks:
    (report,) = parse_perf_report(read(name))
    return report.stacks


SLOW = recorded("mysqld-5.7.22-slow.perf-report.txt")
NORMAL = recorded("mysqld-8.0.31-normal.perf-report.txt.gz")


def share(attribution: Attribution, category: str) -> float:
    return attribution.samples(category) / attribution.total


@pytest.mark.parametrize("stacks", [SLOW, NORMAL], ids=["slow", "normal"])
def test_categories_sum_to_the_total_of_a_real_profile(stacks: FoldedStacks) -> None:
    attribution = attribute(stacks, load_rules())
    assert sum(c.samples for c in attribution.categories) == stacks.total
    assert sum(f.samples for f in attribution.functions) == stacks.total
    assert attribution.unattributed / stacks.total < 0.05
    for category in attribution.categories:
        assert category.inclusive <= stacks.total


def test_the_slow_profile_is_text_rebuilding() -> None:
    attribution = attribute(SLOW, load_rules())
    assert attribution.inclusive("text_rebuilding") / SLOW.total > 0.5
    kernel = sum(share(attribution, c) for c in ("kernel_pages", "page_faults"))
    assert kernel + share(attribution, "memory_copy") > 0.8
    on_path, total = path_share(SLOW, PATH)
    assert on_path / total > 0.5
    assert any(frame.startswith("String::replace(") for frame in hottest_path(SLOW))


def test_a_normal_profile_is_not() -> None:
    attribution = attribute(NORMAL, load_rules())
    assert attribution.inclusive("text_rebuilding") == 0
    assert attribution.samples("memory_copy") == 0
    assert share(attribution, "innodb") > 0.1
    assert path_share(NORMAL, PATH) == (0, NORMAL.total)


frames = st.sampled_from(sorted(SLOW.frames() | NORMAL.frames() | {"nobody's", "[unknown]"}))
profiles = st.dictionaries(
    st.lists(frames, min_size=1, max_size=8).map(tuple), st.integers(1, 1000), max_size=10
).map(FoldedStacks)


@given(profiles)
def test_any_profile_is_divided_without_remainder(stacks: FoldedStacks) -> None:
    attribution = attribute(stacks, load_rules())
    rows = attribution.to_rows("cell")
    assert sum(row.samples for row in rows if not row.function) == stacks.total
    assert sum(row.samples for row in rows if row.function) == stacks.total
    own = stacks.self_counts()
    for function, samples in own.items():
        assert sum(row.samples for row in rows if row.function == function) == samples
    assert {row.function for row in rows} - {""} == stacks.frames()


# What a stack is given to, and why it is not the obvious other one.
CASES = [
    (f"{INSERT};String::replace(int)", "text_rebuilding"),
    (f"{INSERT};String::replace(int);String::mem_realloc(int)", "buffer_growth"),
    (f"{INSERT};String::replace(int);String::mem_realloc(int);my_realloc", "buffer_growth"),
    (f"{INSERT};String::mem_realloc(int);my_realloc;my_malloc;malloc;_int_malloc", "buffer_growth"),
    (f"{INSERT};String::mem_realloc(int);my_realloc;cfree@GLIBC_2.2.5", "buffer_growth"),
    (f"{INSERT};String::mem_realloc(int);__memmove_avx_unaligned_erms", "memory_copy"),
    (f"{INSERT};String::replace(int);__memmove_avx_unaligned_erms", "memory_copy"),
    (f"{INSERT};__memmove_avx_unaligned_erms", "memory_copy"),  # frameless: its caller is lost
    (f"{INSERT};__memcpy_sse2;asm_exc_page_fault_[k];exc_page_fault_[k]", "page_faults"),
    ("do_command(THD*);dispatch_command(THD*, int);__memmove_avx_unaligned_erms", "other_copy"),
    ("row_ins_step(que_thr_t*);malloc", "allocation"),
    ("__munmap;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k]", "kernel_pages"),
    ("f;exc_page_fault_[k];lock_vma_under_rcu_[k];mas_walk_[k]", "page_faults"),
    ("f;page_fault_[k];do_page_fault_[k];__do_page_fault_[k]", "page_faults"),
    ("f;exc_page_fault_[k];handle_mm_fault_[k];__handle_mm_fault_[k]", "kernel_pages"),
    ("f;handle_mm_fault_[k];__handle_mm_fault_[k];handle_pte_fault_[k]", "page_faults"),
    ("f;do_anonymous_page_[k];clear_page_erms_[k]", "kernel_pages"),
    ("f;do_anonymous_page_[k];get_page_from_freelist_[k];rmqueue_[k]", "kernel_pages"),
    ("f;do_anonymous_page_[k];_raw_spin_lock_[k]", "kernel_pages"),
    ("f;do_anonymous_page_[k];__mod_memcg_lruvec_state_[k]", "cgroup_accounting"),
    ("f;__mem_cgroup_charge_[k];charge_memcg_[k];__rcu_read_unlock_[k]", "cgroup_accounting"),
    ("mysqld_stmt_execute;Query_logger::slow_log_write(THD*);my_write;vfs_write_[k]", "logging"),
    ("trans_commit_stmt(THD*);MYSQL_BIN_LOG::commit(THD*, bool);my_b_flush", "binlog"),
    ("mysqld_stmt_execute;Item_param::set_str(char*);String::copy(char*)", "parameters"),
    ("mysqld_stmt_prepare;parse_sql(THD*);MYSQLparse(THD*)", "parsing"),
    ("ha_innobase::write_row(unsigned char*);row_ins_step(que_thr_t*);[unknown]", "innodb"),
    ("do_command(THD*);vio_read;__libc_recv;do_syscall_64_[k];tcp_recvmsg_[k]", "network"),
    ("do_command(THD*);dispatch_command(THD*, int);[unknown]", "statement"),
    ("f;asm_sysvec_apic_timer_interrupt_[k];sysvec_apic_timer_interrupt_[k];x_[k]", "scheduling"),
    ("secondary_startup_64_[k];do_idle_[k];pv_native_safe_halt_[k]", "scheduling"),
    ("start_thread;[unknown]", UNATTRIBUTED),
    ("start_thread;row_ins_step_[k]", UNATTRIBUTED),  # a kernel's function is not InnoDB's
]  # fmt: skip


@pytest.mark.parametrize(("stack", "category"), CASES)
def test_each_sample_belongs_where_a_reader_expects_it(stack: str, category: str) -> None:
    assert load_rules().category_of(tuple(stack.split(";"))) == category


def test_a_tail_move_without_its_caller_counts_as_text_rebuilding() -> None:
    lost, elsewhere = (
        f"{INSERT};__memmove_avx",
        f"{INSERT};Item_param::set_str(char*);__memmove_avx",
    )
    attribution = attribute(FoldedStacks.parse([f"{lost} 6", f"{elsewhere} 4"]), load_rules())
    assert attribution.inclusive("text_rebuilding") == 6
    assert attribution.inclusive("other_copy") == 0


def test_folding_without_kernel_marks_is_attributed_too() -> None:
    unmarked = SLOW.map_frames(lambda frame: frame.removesuffix("_[k]"))
    one, other = attribute(SLOW, load_rules()), attribute(unmarked, load_rules())
    assert [c.samples for c in one.categories] == [c.samples for c in other.categories]


def test_an_unknown_category_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        attribute(SLOW, load_rules()).inclusive("text_rebuildin")
    assert "text_rebuilding" in caught.value.hint


def test_an_empty_profile_has_empty_categories() -> None:
    attribution = attribute(FoldedStacks({}), load_rules())
    assert attribution.total == 0
    assert {row.self_share for row in attribution.to_rows("c")} == {0.0}


def test_one_function_may_stand_in_several_categories() -> None:
    stacks = FoldedStacks({("String::replace(int)", "memcpy"): 3, ("main", "memcpy"): 2})
    rows = [f for f in attribute(stacks, load_rules()).functions if f.function == "memcpy"]
    assert [(f.category, f.samples, f.inclusive) for f in rows] == [
        ("memory_copy", 3, 5),
        ("other_copy", 2, 5),
    ]


def test_the_path_must_appear_in_order_and_may_have_gaps() -> None:
    stacks = FoldedStacks({("a", "x", "b", "c"): 1, ("b", "a", "c"): 2, ("a", "b"): 4})
    assert path_share(stacks, ["^a$", "^b$"]) == (5, 7)
    assert path_share(stacks, ["^a$", "^c$"]) == (3, 7)
    assert path_share(stacks, []) == (7, 7)


def test_the_hottest_path_follows_the_heaviest_frame_down() -> None:
    stacks = FoldedStacks({("a", "b", "c"): 4, ("a", "b", "d"): 3, ("a", "e"): 6, ("a", "b"): 1})
    assert hottest_path(stacks) == ("a", "b", "c")


def test_the_hottest_path_ends_where_most_samples_end() -> None:
    assert hottest_path(FoldedStacks({("a", "b"): 9, ("a", "b", "c"): 2})) == ("a", "b")
    assert hottest_path(FoldedStacks({})) == ()


def test_frames_have_a_kind_for_their_colour() -> None:
    kind = load_rules().kind
    assert kind("String::replace(unsigned long)") == "bug"
    assert kind("clear_page_erms_[k]") == kind("memcpy_[k]") == "kernel"
    assert (
        kind("__memmove_avx512_unaligned_erms")
        == kind("start_thread")
        == kind("__munmap")
        == "libc"
    )
    assert kind("dispatch_command(THD*)") == kind("my_malloc") == kind("memo(int)") == "server"
    assert kind("[unknown]") == "unknown"


def test_every_rule_of_the_file_is_named_and_reachable() -> None:
    rules = load_rules()
    ids = [category.id for category in rules.categories]
    assert len(ids) == len(set(ids))
    assert UNATTRIBUTED not in ids


def test_rules_look_at_caller_and_surroundings() -> None:
    rules = Rules(
        ["^libc_"],
        [
            Category(
                id="near", label="", colour="server", match=(Rule(frame="^x$", caller="^a$"),)
            ),
            Category(
                id="under", label="", colour="server", match=(Rule(frame="^x$", below="^a$"),)
            ),
            Category(
                id="free", label="", colour="server", match=(Rule(frame="^x$", outside="^b$"),)
            ),
        ],
    )
    assert rules.category_of(("a", "x")) == "near"
    assert rules.category_of(("a", "b", "x")) == "under"
    assert rules.category_of(("x",)) == "free"
    assert rules.category_of(("b", "x")) == UNATTRIBUTED


def test_what_a_category_has_by_itself_is_also_within_it() -> None:
    stacks = FoldedStacks(
        {
            ("do_command(THD*)", "fault_in_iov_iter_readable_[k]"): 3,
            ("do_command(THD*)", "asm_exc_page_fault_[k]", "clear_page_erms_[k]"): 2,
            ("nothing_known",): 1,
        }
    )
    for category in attribute(stacks, load_rules()).categories:
        assert category.samples <= category.inclusive
