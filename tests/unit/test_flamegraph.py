"""Real pictures, drawn by the real program where it is installed."""

import re
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mysqlprof import flamegraph, host
from mysqlprof.errors import EnvironmentLacks, PartialData
from mysqlprof.flamegraph import display_name, find_flamegraph, render
from mysqlprof.host import FLAMEGRAPH_VARIABLE
from mysqlprof.stacks import FoldedStacks

SVG = "{http://www.w3.org/2000/svg}"
BUG = "String::replace(unsigned long, char const*)"
STACKS = FoldedStacks(
    {
        ("start_thread", "do_command(THD*)", BUG, "__memmove_avx"): 60,
        ("start_thread", "do_command(THD*)", BUG, "asm_exc_page_fault_[k]"): 30,
        ("start_thread", "[unknown]"): 10,
    }
)


@pytest.fixture
def drawn() -> None:
    try:
        find_flamegraph()
    except EnvironmentLacks as lacking:
        pytest.skip(f"{lacking.message}: {lacking.hint}")


def picture(stacks: FoldedStacks, title: str = "a title", subtitle: str = "a subtitle") -> str:
    svg = render(stacks, title=title, subtitle=subtitle)
    ElementTree.fromstring(svg)
    return svg


def frames(svg: str) -> dict[str, str]:
    """Frame as named in its tooltip -> colour."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        title, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        if title is not None and title.text and rect is not None:
            found[title.text.rpartition(" (")[0]] = rect.get("fill", "")
    return found


def words(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.usefixtures("drawn")
def test_frames_are_coloured_by_what_they_are() -> None:
    colours = frames(picture(STACKS))
    assert colours.keys() == {
        *("all", "start_thread", "do_command", "String::replace", "__memmove_avx"),
        *("asm_exc_page_fault", "[unknown]"),
    }
    assert len(set(colours.values())) >= 5
    assert colours["String::replace"] == "rgb(152,18,56)"


@pytest.mark.usefixtures("drawn")
def test_the_same_stacks_give_the_same_colours_anew() -> None:
    assert frames(picture(STACKS)) == frames(picture(STACKS))


@pytest.mark.usefixtures("drawn")
def test_title_subtitle_and_legend_are_above_the_drawing() -> None:
    svg = picture(STACKS, "MySQL 5.7.22 & <slow>", "cell a/b · 100 samples")
    said = words(svg)
    assert {"MySQL 5.7.22 & <slow>", "cell a/b · 100 samples"} <= set(said)
    assert {"kernel", "C library", "mysqld", "text rebuilding", "no symbol"} <= set(said)
    _, top, _, height = map(int, ElementTree.fromstring(svg).get("viewBox", "").split())
    assert top < 0
    assert ElementTree.fromstring(svg).get("height") == str(height)


@pytest.mark.usefixtures("drawn")
def test_the_legend_names_only_what_is_there() -> None:
    said = words(picture(FoldedStacks({("work",): 1})))
    assert "mysqld" in said
    assert not {"kernel", "C library", "text rebuilding", "no symbol"} & set(said)


@pytest.mark.usefixtures("drawn")
def test_overloads_and_equal_names_of_kernel_and_library_stay_apart() -> None:
    colours = frames(picture(FoldedStacks({("main", "memcpy"): 50, ("main", "memcpy_[k]"): 50})))
    assert len({colours["memcpy"], colours["memcpy [kernel]"]}) == 2


@pytest.mark.usefixtures("drawn")
def test_what_is_too_thin_to_see_is_not_drawn_and_still_counted() -> None:
    thin = {("main", "busy", f"rare_{n}", "deeper"): 1 for n in range(3000)}
    svg = picture(FoldedStacks({**thin, ("main", "busy"): 997_000}))
    assert frames(svg).keys() == {"all", "main", "busy"}
    assert "busy (1,000,000 samples, 100.00%)" in svg


HOSTILE = [
    "<script>alert(1)</script>",
    "');alert(1)//",
    "\\');alert(1)//",
    '"onload="alert(1)',
    "]]><script>",
    "&amp;&#39;);alert(1)//",
    "evil\u202etxt\u2066",
    "line\nbreak\ttab\x00nul\x1b[31m",
    "semi;colon",
    "Ptr::operator->()",
    "a->b->c",
    "thread 12",
    "thread 12 13",
    "-",
    " ",
    "\udcff\ud800",
    "日本語の関数名" * 9,
    "\U0001f600" * 40,
    "x" * 5000,
]


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_harmless_and_counted(name: str) -> None:
    svg = picture(FoldedStacks({("main", name): 60, ("main", name, "leaf"): 40}), name, name)
    assert "all (100 samples, 100%)" in svg
    _no_code_of_others(svg)


def _no_code_of_others(svg: str) -> None:
    root = ElementTree.fromstring(svg)
    assert len(list(root.iter(f"{SVG}script"))) == 1
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if attribute.startswith("on"):
                assert re.fullmatch(r"s\('[^'\\]*'\)|[a-z_]+\((this|evt)?\)", value), value
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", svg)


@pytest.mark.usefixtures("drawn")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=5).map(tuple),
        st.integers(1, 10**6),
        min_size=1,
        max_size=5,
    ).map(FoldedStacks)
)
def test_any_names_give_a_picture_of_all_samples(stacks: FoldedStacks) -> None:
    _no_code_of_others(picture(stacks))


def test_displayed_names_are_short_and_plain() -> None:
    assert display_name(BUG) == "String::replace"
    assert display_name("vector<int>::at(int) const") == "vector‹int›::at"  # noqa: RUF001
    assert display_name("a;b\x1b") == "a:b[U+001B]"
    assert display_name("thread 12") == "thread_12"
    assert display_name(" ") == "[no name]"


def test_nothing_to_draw_is_said_not_drawn() -> None:
    with pytest.raises(PartialData, match="no samples"):
        render(FoldedStacks({}), title="", subtitle="")


def test_a_missing_program_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FLAMEGRAPH_VARIABLE, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(host, "_FLAMEGRAPH_PLACES", ())
    with pytest.raises(EnvironmentLacks) as caught:
        find_flamegraph()
    assert "sudo apt-get install -y libdevel-nytprof-perl" in caught.value.hint


def test_the_variable_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FLAMEGRAPH_VARIABLE, str(tmp_path / "none.pl"))
    with pytest.raises(EnvironmentLacks, match=r"none\.pl"):
        find_flamegraph()
    (tmp_path / "none.pl").touch()
    assert find_flamegraph() == tmp_path / "none.pl"


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\necho cannot draw >&2; exit 2\n", "cannot draw"),
        ("#!/bin/sh\ncat >/dev/null; echo '<svg>all (100 samples, 100%)</svg>'\n", "no SVG"),
        ("#!/bin/sh\ncat >/dev/null; echo '<svg></svg>'\n", "did not draw all 100"),
        ("#!/bin/sh\nexec sleep 30\n", "took longer"),
    ],
)
def test_a_failing_program_is_quoted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, said: str
) -> None:
    program(tmp_path / "flamegraph.pl", text)
    monkeypatch.setenv(FLAMEGRAPH_VARIABLE, str(tmp_path / "flamegraph.pl"))
    monkeypatch.setattr(flamegraph, "TIMEOUT_S", 1.0)
    with pytest.raises(PartialData, match=said):
        render(STACKS, title="", subtitle="")


def test_a_program_that_cannot_run_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path / "flamegraph.pl", "#!/nonexistent/perl\n")
    monkeypatch.setenv(FLAMEGRAPH_VARIABLE, str(tmp_path / "flamegraph.pl"))
    with pytest.raises(EnvironmentLacks, match="cannot run"):
        render(STACKS, title="", subtitle="")
