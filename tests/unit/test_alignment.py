"""Stacks of two versions under comparable names, from comparable roots, with every sample kept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mysqlprof.alignment import align, knowledge
from mysqlprof.stacks import UNKNOWN, FoldedStacks


def aligned(*lines):
    return dict(align(FoldedStacks.parse(lines)).stacks.items())


def test_a_connections_work_begins_at_its_root_whatever_started_the_thread():
    assert aligned(
        "clone3;start_thread;pfs_spawn_thread;do_command(THD*);work(int) 3",
        "clone3;[unknown];do_command;work 4",
        "do_command(THD*);work(long) 5",
    ) == {("do_command", "work"): 12}


def test_other_threads_keep_their_start():
    assert aligned("clone3;start_thread;io_handler_thread 2") == {
        ("clone3", "start_thread", "io_handler_thread"): 2
    }


def test_frames_without_a_symbol_are_left_out_except_where_the_cpu_was():
    assert aligned(
        f"do_command;{UNKNOWN};{UNKNOWN};work 3",
        "do_command;work 4",
        f"do_command;{UNKNOWN};{UNKNOWN} 5",
        f"{UNKNOWN} 6",
    ) == {("do_command", "work"): 7, ("do_command", UNKNOWN): 5, (UNKNOWN,): 6}


def test_kernel_frames_keep_their_mark():
    assert aligned("do_command;read_[k] 1", "do_command;read 2") == {
        ("do_command", "read_[k]"): 1,
        ("do_command", "read"): 2,
    }


@pytest.mark.parametrize("rename", knowledge().rename, ids=lambda rename: rename.before)
def test_both_names_of_a_renamed_function_are_one_and_the_old_one_is_remembered(rename):
    old = align(FoldedStacks.parse([f"do_command;{rename.before}(THD*);work 3"]))
    new = align(FoldedStacks.parse([f"do_command;{rename.after}(THD*, bool);work 4"]))
    assert old.stacks.frames() == new.stacks.frames()
    assert old.original == {rename.after: rename.before}
    assert new.original == {}


def test_renames_do_not_chain_and_say_where_they_are_from():
    known = knowledge().rename
    assert not {r.before for r in known} & {r.after for r in known}
    assert len({r.before for r in known}) == len(known)
    assert all(r.inferred_from for r in known)


def test_a_stack_that_was_cut_off_gets_its_callers_back_where_they_agree():
    stacks = FoldedStacks.parse(["do_command;parse;lex;copy 95", "lex;copy 7", "lex;skip 1"])
    found = align(stacks)
    assert dict(found.stacks.items()) == {
        ("do_command", "parse", "lex", "copy"): 102,
        ("do_command", "parse", "lex", "skip"): 1,
    }
    assert found.completed == 8


def test_callers_that_do_not_agree_are_not_guessed():
    found = align(FoldedStacks.parse(["do_command;a;lex;x 89", "do_command;b;lex;x 11", "lex;x 7"]))
    assert found.completed == 0
    assert dict(found.stacks.items())[("lex", "x")] == 7


def test_nearly_all_is_agreement_enough():
    found = align(FoldedStacks.parse(["do_command;a;lex;x 90", "do_command;b;lex;x 10", "lex;x 7"]))
    assert found.completed == 7
    assert dict(found.stacks.items())[("do_command", "a", "lex", "x")] == 97


FRAMES = st.sampled_from(
    ["do_command(THD*)", "a", "b(int)", "c", UNKNOWN, "k_[k]", "mysql_parse(THD*)",
     "dispatch_sql_command", "operator()(int)", "(anonymous namespace)::f(int)", "", "x y"]
)  # fmt: skip
STACKS = st.dictionaries(
    st.lists(FRAMES, min_size=1, max_size=7).map(tuple), st.integers(0, 50), max_size=25
)


@settings(max_examples=80, deadline=None)
@given(STACKS)
def test_no_sample_is_lost_or_made_up(counts):
    stacks = FoldedStacks(counts)
    found = align(stacks)
    assert found.stacks.total == stacks.total
    assert 0 <= found.completed <= stacks.total


@settings(max_examples=40, deadline=None)
@given(STACKS)
def test_leaves_stay_leaves(counts):
    stacks = FoldedStacks(counts)
    was = {align(FoldedStacks({(leaf,): 1})).stacks.frames().pop(): 0 for leaf in stacks.frames()}
    for leaf, count in stacks.self_counts().items():
        was[align(FoldedStacks({(leaf,): 1})).stacks.frames().pop()] += count
    own = align(stacks).stacks.self_counts()
    assert own == {name: count for name, count in was.items() if count}
