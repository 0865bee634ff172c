import pytest
from hypothesis import given
from hypothesis import strategies as st

from mysqlprof.stacks import FoldedStacks, plain_name, short_name

# Names as they come: spaces, digits at the end, C++ signatures, other alphabets.
plain_names = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"), exclude_characters=";"), min_size=1
).filter(str.strip)
any_names = st.text(min_size=1)


def folded(names: st.SearchStrategy[str]) -> st.SearchStrategy[FoldedStacks]:
    stacks = st.lists(names, min_size=1, max_size=6).map(tuple)
    counts = st.dictionaries(stacks, st.integers(min_value=0, max_value=10**12), max_size=12)
    return counts.map(FoldedStacks)


@given(folded(plain_names))
def test_what_is_written_is_read_back(stacks: FoldedStacks) -> None:
    assert FoldedStacks.parse(stacks.to_folded().splitlines()) == stacks


@given(folded(any_names))
def test_writing_hostile_names_loses_no_sample_and_breaks_no_line(stacks: FoldedStacks) -> None:
    text = stacks.to_folded()
    text.encode("utf-8")
    lines = text.splitlines()
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == stacks.total
    assert len(lines) <= len(stacks)


@given(folded(plain_names))
def test_self_counts_sum_to_the_total_and_never_exceed_inclusive_counts(
    stacks: FoldedStacks,
) -> None:
    own, inclusive = stacks.self_counts(), stacks.inclusive_counts()
    assert sum(own.values()) == stacks.total
    assert all(own[frame] <= inclusive[frame] <= stacks.total for frame in own)


@given(folded(plain_names), folded(plain_names))
def test_merging_adds(one: FoldedStacks, other: FoldedStacks) -> None:
    merged = one.merge(other)
    assert merged.total == one.total + other.total
    assert merged == other.merge(one)
    assert dict(merged.items()).keys() == dict(one.items()).keys() | dict(other.items()).keys()


@given(folded(plain_names))
def test_a_selection_and_its_complement_make_the_whole(stacks: FoldedStacks) -> None:
    deep = stacks.select(lambda stack: len(stack) > 2)
    shallow = stacks.select(lambda stack: len(stack) <= 2)
    assert deep.merge(shallow) == stacks


def test_equal_stacks_add_up_and_blank_lines_are_skipped() -> None:
    stacks = FoldedStacks.parse(["a;b 1\n", "\n", "a;b 2\r\n", "a 4"])
    assert dict(stacks.items()) == {("a", "b"): 3, ("a",): 4}
    assert (len(stacks), stacks.total) == (2, 7)


def test_names_may_hold_spaces_and_numbers() -> None:
    stacks = FoldedStacks.parse(["main;operator new(unsigned long);thread 12 5"])
    assert dict(stacks.items()) == {("main", "operator new(unsigned long)", "thread 12"): 5}


@pytest.mark.parametrize(
    "line", ["main;work", "12", " 12", "main 1.5", "main -3", "main \uff13", "main 0x10", "main +1"]
)
def test_a_broken_line_is_named_by_its_number(line: str) -> None:
    with pytest.raises(ValueError, match=r"^line 3 is not"):
        FoldedStacks.parse(["a 1", "", line])


def test_output_is_sorted_and_ends_with_a_newline() -> None:
    assert FoldedStacks({("b",): 1, ("a", "c"): 2, ("a",): 3}).to_folded() == "a 3\na;c 2\nb 1\n"
    assert FoldedStacks({}).to_folded() == ""


def test_separators_and_control_characters_are_replaced_when_written() -> None:
    stacks = FoldedStacks({("Lfoo;::bar", "a\nb\x1b[31m", "\udcff"): 1})
    assert stacks.to_folded() == "Lfoo:::bar;a\ufffdb\ufffd[31m;\ufffd 1\n"


def test_stacks_that_look_equal_when_written_become_one_line() -> None:
    assert FoldedStacks({("a;b",): 1, ("a:b",): 2}).to_folded() == "a:b 3\n"


def test_a_recursive_frame_counts_once_a_stack() -> None:
    stacks = FoldedStacks({("f", "f", "f"): 5, ("f", "g"): 2})
    assert stacks.inclusive_counts() == {"f": 7, "g": 2}
    assert stacks.self_counts() == {"f": 5, "g": 2}


def test_stacks_are_found_by_frame_and_by_leaf() -> None:
    stacks = FoldedStacks({("a", "b"): 1, ("b", "c"): 2, ("c",): 4})
    assert stacks.with_frame(lambda frame: frame == "b").total == 3
    assert stacks.with_leaf(lambda frame: frame == "c").total == 6


def test_renaming_adds_what_becomes_equal() -> None:
    stacks = FoldedStacks({("f(int)",): 1, ("f(long)",): 2})
    assert dict(stacks.map_frames(short_name).items()) == {("f",): 3}


@pytest.mark.parametrize("counts", [{(): 1}, {("a",): -1}])
def test_impossible_stacks_are_refused(counts: dict[tuple[str, ...], int]) -> None:
    with pytest.raises(ValueError, match=r"."):
        FoldedStacks(counts)


def test_stacks_without_samples_do_not_exist() -> None:
    assert len(FoldedStacks({("a",): 0})) == 0


@pytest.mark.parametrize(
    ("frame", "short"),
    [
        ("String::replace(unsigned long, char const*)", "String::replace"),
        ("do_syscall_64_[k]", "do_syscall_64"),
        ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
        ("f<void (*)(int)>::g(int) const", "f<void (*)(int)>::g"),
        ("Functor::operator()(int)", "Functor::operator()"),
        ("Ptr::operator->()", "Ptr::operator->"),
        ("operator<<(std::ostream&, T)", "operator<<"),
        ("(odd)", "(odd)"),
        ("[unknown]", "[unknown]"),
    ],
)
def test_short_names(frame: str, short: str) -> None:
    assert short_name(frame) == short


def test_the_kernel_mark_is_no_part_of_a_name() -> None:
    assert plain_name("clear_page_erms_[k]") == "clear_page_erms"
