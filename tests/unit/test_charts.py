"""Charts: every trial is drawn, colours come from the page, the same data give the same bytes."""

import re
from xml.etree import ElementTree

import pytest
from report_factory import SLOW_STACKS, folded

from mysqlprof.report import numbers
from mysqlprof.report.charts import BarPanel, TimingRow, attribution_chart, timing_chart
from mysqlprof.report.facts import fact_name, fact_value
from mysqlprof.report.safe import visible
from mysqlprof.report.sketch import flame_sketch
from mysqlprof.report.svg import COLOURS

_SVG = "{http://www.w3.org/2000/svg}"
_HEADS = ["server", "log"]
_SLOW = TimingRow(("before", "on"), (880.0, 905.2, 931.0), 905.2, 880.0, 931.0, True)
_FAST = TimingRow(("before", "off"), (17.0, 18.0, 19.5), 18.0, 17.0, 19.5, False)
_EMPTY = TimingRow(("after", "on"), (), None, None, None, False)


def _texts(svg: str) -> list[str]:
    return ["".join(e.itertext()) for e in ElementTree.fromstring(svg).iter(f"{_SVG}text")]


def test_every_trial_is_a_point() -> None:
    svg = timing_chart(_HEADS, [_SLOW, _FAST])
    slow = re.findall(r'<use [^>]*fill="var\(--slow\)"', svg)
    normal = re.findall(r'<use [^>]*fill="var\(--normal\)"', svg)
    assert (len(slow), len(normal)) == (3, 3)


def test_rows_say_their_levels_and_medians_as_text() -> None:
    texts = _texts(timing_chart(_HEADS, [_SLOW, _FAST, _EMPTY]))
    for expected in ("server", "before", "off", "no trials"):
        assert expected in texts
    assert f"905{numbers.THIN}ms [880{numbers.DASH}931]" in texts


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [_EMPTY],
        [TimingRow(("a", "b"), (5.0,), 5.0, None, None, False)],
        [TimingRow(("a", "b"), (0.0, -1.0), 0.0, 0.0, 0.0, True)],
        [TimingRow(("a", "b"), (0.01, 9e6), 3.0, 0.01, 9e6, False)],
    ],
)
def test_odd_data_draw(rows: list[TimingRow]) -> None:
    assert timing_chart(_HEADS, rows).startswith("<svg")


def test_charts_are_the_same_each_time() -> None:
    assert timing_chart(_HEADS, [_SLOW]) == timing_chart(_HEADS, [_SLOW])
    stacks = folded(SLOW_STACKS)
    assert flame_sketch(stacks, ["^main"]) == flame_sketch(stacks, ["^main"])


def test_charts_bring_no_colour_style_or_free_id_of_their_own() -> None:
    panel = BarPanel("before, log on", {"a": 0.4}, {"a": 0.9}, {"a": 0.27}, True)
    sketch = flame_sketch(folded(SLOW_STACKS), ["^dispatch_command"])
    assert sketch is not None
    charts = {
        "timings": timing_chart(_HEADS, [_SLOW, _FAST]),
        "bars": attribution_chart("bars", [("a", "A category")], [panel]),
        "sketch": sketch.drawing,
    }
    for name, svg in charts.items():
        assert not [colour for colour in COLOURS.values() if colour in svg]
        assert "<style" not in svg
        assert "style=" not in svg
        assert "<metadata" not in svg
        ids = re.findall(r'\bid="([^"]+)"', svg)
        assert all(i.startswith(f"{name}-") for i in ids)
        assert set(re.findall(r'href="#([^"]+)"', svg)) <= set(ids)
        assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= set(ids)
        assert 'role="img"' in svg
        assert "aria-label=" in svg


def test_hostile_labels_are_text_and_no_mathematics() -> None:
    row = TimingRow(("<b>&\"'", "$x^2$ \u202e"), (5.0,), 5.0, 5.0, 5.0, False)
    svg = timing_chart(["<i>", "$y$"], [row])
    assert "<b>" not in svg
    texts = _texts(svg)
    assert "<b>&\"'" in texts
    assert r"$x^2$ \u202e" in texts


def test_bars_show_the_article_beside_the_measured_share() -> None:
    panel = BarPanel("before, log on", {"copy": 0.148}, {"copy": 0.895}, {"copy": 0.2761}, True)
    svg = attribution_chart("bars", [("copy", "Memory copy"), ("net", "Network")], [panel])
    texts = _texts(svg)
    assert {"Memory copy", "Network", "14.8", "89.5", numbers.NONE} <= set(texts)
    assert "var(--article)" in svg


def test_the_sketch_stands_on_the_first_step_of_the_path() -> None:
    sketch = flame_sketch(folded(SLOW_STACKS), ["^dispatch_command\\b", "^String::replace\\b"])
    assert sketch is not None
    assert sketch.root == "dispatch_command"
    assert sketch.root_share == 1.0
    texts = _texts(sketch.drawing)
    assert any(text.startswith("String::replace ") and "%" in text for text in texts)
    assert "start_thread" not in texts


def test_the_sketch_is_whole_where_the_path_is_not_taken() -> None:
    sketch = flame_sketch(folded({"main;work": 3, "main;rest": 1}), ["^nowhere"])
    assert sketch is not None
    assert sketch.root == ""
    assert "main" in _texts(sketch.drawing)


def test_there_is_no_sketch_without_samples() -> None:
    assert flame_sketch(folded({}), []) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (0.01234, "0.0123"),
        (18.07, "18.1"),
        (9.996, "10.0"),
        (904.3, "904"),
        (12345.6, "12 346"),
    ],
)
def test_three_significant_digits(value: float, expected: str) -> None:
    assert numbers.significant(value).replace(numbers.THIN, " ") == expected


@pytest.mark.parametrize(
    ("ms", "expected"),
    [
        (None, "—"),
        (0, "0 ms"),
        (0.31, "310 µs"),
        (904.3, "904 ms"),
        (999.7, "1.00 s"),
        (6432, "6.43 s"),
    ],
)
def test_durations_choose_their_unit(ms: float | None, expected: str) -> None:
    assert numbers.duration(ms).replace(numbers.THIN, " ") == expected


def test_shares_and_sizes() -> None:
    assert numbers.share(0.9731).replace(numbers.THIN, " ") == "97.3 %"
    assert numbers.share(0.0001).replace(numbers.THIN, " ") == "< 0.1 %"
    assert numbers.share(0.0).replace(numbers.THIN, " ") == "0.0 %"
    assert numbers.size(1536).replace(numbers.THIN, " ") == "1.50 KiB"


@pytest.mark.parametrize(
    ("key", "value", "name", "shown"),
    [
        ("cpu_model", "X", "CPU model", "X"),
        ("memory_bytes", 25276502016, "memory size", "23.5 GiB"),
        ("min_samples", 200.0, "min samples", "200"),
        ("confidence", 0.95, "confidence", "0.95"),
        ("ready_s", 1.5, "ready", "1.5 s"),
        ("root", True, "root", "yes"),
        ("nothing", None, "nothing", "—"),
        ("programs", {"java": "17", "perl": ""}, "programs", "java 17; perl —"),
        ("list", [1, 2], "list", "1, 2"),
        ("nested", [{"a": 1}], "nested", '[{"a": 1}]'),
    ],
)
def test_facts_are_named_and_valued(key: str, value: object, name: str, shown: str) -> None:
    assert fact_name(key) == name
    assert fact_value(value, key).replace(numbers.THIN, " ") == shown


def test_control_and_bidirectional_characters_become_visible() -> None:
    assert visible("a\u202eb\x00c\u200bd\U000e0001") == r"a\u202eb\u0000c\u200bd\U000e0001"
    assert visible("tab\tnew\nline") == "tab new line"
    assert visible("plain ünïcode × 中文") == "plain ünïcode × 中文"
