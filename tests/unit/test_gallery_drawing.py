"""The gallery's still pictures."""

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from mysqlprof.attribution import load_rules
from mysqlprof.gallery.drawing import Box, boxes, picture, thumbnail
from mysqlprof.stacks import FoldedStacks

STACKS = FoldedStacks.parse(["main;a;x 2", "main;a;y 3", "main;b 4", "other 1"])


def test_every_frame_is_as_wide_as_its_samples() -> None:
    assert set(boxes(STACKS, levels=9)) == {
        Box("main", 0, 9, 0),
        Box("a", 0, 5, 1),
        Box("x", 0, 2, 2),
        Box("y", 2, 3, 2),
        Box("b", 5, 4, 1),
        Box("other", 9, 1, 0),
    }


def test_narrow_frames_and_high_levels_are_left_out() -> None:
    assert {box.frame for box in boxes(STACKS, levels=2, least=1)} == {"main", "a", "b"}


@given(st.dictionaries(st.lists(st.sampled_from("abc"), min_size=1, max_size=5).map(tuple),
                       st.integers(1, 50), min_size=1))  # fmt: skip
def test_the_lowest_level_holds_all_samples(counts: dict[tuple[str, ...], int]) -> None:
    stacks = FoldedStacks(counts)
    drawn = list(boxes(stacks, levels=5))
    assert sum(box.count for box in drawn if box.level == 0) == stacks.total
    inclusive = sum(len(stack) * count for stack, count in stacks.items())
    assert sum(box.count for box in drawn) == inclusive


def test_hostile_names_are_text() -> None:
    stacks = FoldedStacks({("<script>alert(1)</script>", '"]]>&\u202e'): 5})
    drawn = picture(stacks, load_rules(), "</title><script>")
    root = ElementTree.fromstring(drawn)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} == {
        "svg", "g", "rect", "text", "title",
    }  # fmt: skip
    assert "\u202e" not in drawn


def test_a_thumbnail_is_small_whatever_the_depth() -> None:
    deep = FoldedStacks({tuple(f"f{i}" for i in range(10_000)): 3})
    assert len(thumbnail(deep, load_rules())) < 3000
