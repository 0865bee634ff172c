"""Differential flame graphs, drawn by the real program where it is installed."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mysqlprof.differential import Change, side
from mysqlprof.errors import EnvironmentLacks, PartialData
from mysqlprof.flamediff import SIDES, render_difference, short, spoken
from mysqlprof.flamegraph import find_flamegraph, rgb
from mysqlprof.palette import CHANGES
from mysqlprof.stacks import FoldedStacks

SVG = "{http://www.w3.org/2000/svg}"
BEFORE = {
    "do_command(THD*);same": 500,
    "do_command(THD*);up": 400,
    "do_command(THD*);down": 600,
    "do_command(THD*);gone": 300,
    "do_command(THD*);mysql_parse(THD*);moved": 300,
}
AFTER = {
    "do_command(THD*);same": 500,
    "do_command(THD*);up": 1200,
    "do_command(THD*);down": 200,
    "do_command(THD*);new": 300,
    "do_command(THD*);dispatch_sql_command(THD*);elsewhere;moved": 300,
}


@pytest.fixture(autouse=True)
def _drawn() -> None:
    try:
        find_flamegraph()
    except EnvironmentLacks as lacking:
        pytest.skip(f"{lacking.message}: {lacking.hint}")


def profile(counts):
    return side(FoldedStacks({tuple(stack.split(";")): n for stack, n in counts.items()}), 1000, 10)


def drawn(which, before=BEFORE, after=AFTER, title="a title"):
    svg = render_difference(
        profile(before), profile(after), which, title=title, subtitle="below", unit="execute"
    )
    ElementTree.fromstring(svg)
    return svg


def frames(svg):
    """Name -> (what the tooltip says, colour)."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        title, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        if title is not None and rect is not None:
            name, _, said = title.text.partition(" (")
            found[name] = (said.removesuffix(")"), rect.get("fill"))
    return found


def colour(verdict):
    return rgb(CHANGES[verdict].fill)


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (
            "before",
            {"same": "noise", "up": "grew", "down": "shrank", "gone": "vanished", "moved": "noise",
             "mysql_parse": "noise"},
        ),
        (
            "after",
            {"same": "noise", "up": "grew", "down": "shrank", "new": "appeared", "moved": "noise",
             "dispatch_sql_command": "noise"},
        ),
    ],
)  # fmt: skip
def test_each_side_has_its_own_shape_and_names_in_the_colours_of_the_change(which, expected):
    found = frames(drawn(which))
    assert {name: found[name][1] for name in expected} == {
        name: colour(verdict) for name, verdict in expected.items()
    }
    other = {"before": {"new", "elsewhere", "dispatch_sql_command"}, "after": {"gone"}}[which]
    assert not other & found.keys()


def test_the_whole_and_the_places_say_what_they_cost_and_what_they_did():
    before, after = frames(drawn("before")), frames(drawn("after"))
    assert before["all"][0].startswith("210 ms of CPU per execute, 100%; is now 250 ms")
    assert after["up"][0] == "120 ms of CPU per execute, 48.00%; was 40 ms: grew 3x"
    assert before["up"][0] == "40 ms of CPU per execute, 19.05%; is now 120 ms: grew 3x"
    assert after["down"][0].endswith("was 60 ms: shrank 3x")
    assert after["same"][0].endswith("was 50 ms: within noise")
    assert before["gone"][0].endswith("; gone")
    assert after["new"][0].endswith("; new")


def test_a_function_called_from_elsewhere_is_judged_as_a_function_and_says_so():
    said = frames(drawn("after"))["moved"][0]
    assert said.endswith("; the function as a whole was 30 ms: within noise")


def test_the_whole_is_judged_too():
    third = {stack: count // 3 for stack, count in BEFORE.items()}
    said, fill = frames(drawn("before", BEFORE, third))["all"]
    assert said == "210 ms of CPU per execute, 100%; is now 69.9 ms: shrank 3x"
    assert fill == colour("shrank")


@pytest.mark.parametrize("which", SIDES)
def test_the_marks_that_tell_places_apart_are_gone(which):
    svg = drawn(which)
    assert not re.search("[\U000f0000-\U0010ffff]", svg)
    assert " ns" not in "".join(said for said, _ in frames(svg).values())


def test_one_name_in_two_places_has_two_colours():
    before = {"do_command;a;copy": 500, "do_command;b;copy": 500}
    svg = drawn("after", before, {"do_command;a;copy": 1500, "do_command;b;copy": 500})
    groups = re.findall(r"<title>copy \((.*?)\)</title><rect[^>]*fill=\"(.*?)\"", svg)
    assert {found[1] for found in groups} == {colour("grew"), colour("noise")}


HOSTILE = [
    "<script>alert(1)</script>", "a\"b'c&amp;d", "]]>", "x->y", "all (5 ns, 3%)", "n 12",
    "\U000f0000\U000f0001", "</title>", "", "--", "\x01\x1b[31m", "\u202eevil", "${x}", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("which", SIDES)
def test_hostile_function_names_are_harmless_and_keep_their_colours(which):
    before = {f"do_command;{name};leaf{n}": 100 for n, name in enumerate(HOSTILE)}
    after = {f"do_command;{name};leaf{n}": 300 for n, name in enumerate(HOSTILE)}
    svg = drawn(which, before, after, title="<b>&\x01\u202e")
    assert "<script>alert" not in svg
    assert not re.search("[\U000f0000-\U0010ffff\x01\x1b\u202e\ud800]", svg)
    found = frames(svg)
    for number in range(len(HOSTILE)):
        assert found[f"leaf{number}"][1] == colour("grew")
    assert ": grew 3x)</title>" in svg


def test_a_side_without_samples_cannot_be_drawn():
    with pytest.raises(PartialData, match="no samples"):
        drawn("after", BEFORE, {})
    assert "gone" in frames(drawn("before", BEFORE, {}))


def test_without_the_program_the_hint_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("MYSQLPROF_FLAMEGRAPH", str(tmp_path / "none"))
    with pytest.raises(EnvironmentLacks):
        drawn("before")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Change(0, 2, 0.0, 0.2, "noise"), "was 0 ms: too few samples to tell"),
        (Change(1, 9000, 0.1, 900.0, "grew"), "was 0.1 ms: grew 9000x"),
        (Change(9, 9, 1.0, 1.0, "noise"), "was 1 ms: within noise"),
    ],
)
def test_what_is_said_of_a_change(change, words):
    assert spoken(change, "after") == words


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.6, "12346"), (999.6, "1000"), (23.24, "23.2"), (0.0418, "0.0418"), (1e-9, "0")],
)
def test_costs_are_short_numbers_without_exponent(value, text):
    assert short(value) == text


def test_real_profiles_are_drawn_both_ways():
    folder = Path(__file__).parents[2] / "reports" / "bug-73056" / "profiles"
    slow, normal = (
        side(FoldedStacks.parse((folder / f"{name}.folded").read_text().splitlines()), 999, 3)
        for name in ("before_default_log-on_prepare-on", "after_default_log-on_prepare-on")
    )
    found = {
        which: frames(
            render_difference(slow, normal, which, title="t", subtitle="s", unit="execute")
        )
        for which in SIDES
    }
    assert found["before"]["String::replace"][1] == colour("vanished")
    assert "String::replace" not in found["after"]
    assert "Prepared_statement::insert_params" in found["before"]
    assert "Prepared_statement::insert_parameters" in found["after"]
