"""Reports of the driver x server matrix: the answer, the heat map, every gap in its place."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from report_factory import MATRIX_DRIVERS, make_matrix_run, make_run
from test_report_html import Page

from mysqlprof.model import MatrixRow
from mysqlprof.report import numbers, render_html, render_markdown
from mysqlprof.report.matrix import STEPS, Matrix, matrix_of
from mysqlprof.report.matrix_words import extent, sentence
from mysqlprof.store import RunDirectory

MIXED = {("python", "5.7.38"): 1.0, ("node", "5.7.38"): 2.5}
REASON = "go is not installed"


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Slow, normal, cannot tell, not measured: all four."""
    return make_matrix_run(
        tmp_path_factory.mktemp("runs") / "run",
        drivers=["connector-j:8.0.33", "python", "node", "go"],
        ratios=MIXED,
        gaps={"go": REASON},
        run_drivers={"python": {"name": "python", "version": "3.11.2"}},
    )


@pytest.fixture(scope="module")
def page(run_dir: RunDirectory) -> Page:
    return Page(render_html(run_dir))


def heat_map(words: str) -> str:
    return words[
        words.index("client-side prepare connector-j") : words.index("Median, logarithmic")
    ]


def of(run_dir: RunDirectory) -> Matrix:
    matrix = matrix_of(run_dir.read_run())
    assert matrix is not None
    return matrix


def test_the_first_screen_answers_and_has_no_verdict_of_reproduce(page: Page) -> None:
    first = page.words[: page.words.index("Elapsed time of the execute alone")]
    assert (
        "1 of 4 drivers is slow on 5.7.29 with server-side prepare"
        " (1 cannot be told, 1 not measured); none on 8.0.31 (1 not measured)"
    ) in first
    assert "Conditions slow log on, glibc's allocator thresholds held fixed" in first
    assert "MySQL 5.7.29 instead of 5.7.38" in first
    assert "instead of 8.0.32, which was asked for" in first
    assert "5.7.29 stands in for 5.7.38" in first
    assert "Inconclusive" not in page.words
    assert "No claim was judged" not in page.words
    assert "No profile with samples" not in page.words


def test_the_four_verdicts_are_words(page: Page, run_dir: RunDirectory) -> None:
    for text in (heat_map(page.words), render_markdown(run_dir)):
        for word in ("▲", "slow", "✓", "normal", "? ", "cannot tell", "∅ not measured"):
            assert word in text


def test_every_measured_cell_has_its_median_interval_and_ratio(
    page: Page, run_dir: RunDirectory
) -> None:
    table, text = heat_map(page.words), render_markdown(run_dir).replace("\u202f", " ")
    for row in run_dir.read_run().matrix:
        if row.verdict == "not_measured":
            continue
        parts = [numbers.duration(row.median_ms), numbers.durations(row.ci_low_ms, row.ci_high_ms)]
        if row.ratio is not None:
            parts += [numbers.ratio(row.ratio), numbers.interval(row.ratio_low, row.ratio_high)]
        for part in parts:
            assert part.replace("\u202f", " ") in table
            assert part.replace("\u202f", " ") in text


def test_published_figures_stand_in_their_cells(page: Page, run_dir: RunDirectory) -> None:
    line = heat_map(page.words)
    line = line[: line.index(" python ")]
    assert re.search(
        r"▲ slow [\d.]+× [\d.–]+ published 23\.6 s, 15\.1×.* published 1\.56 s"
        r".*✓ normal .* published 1\.71 s, 0\.467×.* published 3\.66 s",
        line,
    )
    assert "(published 23.6 s, 15.1×)" in render_markdown(run_dir).replace("\u202f", " ")


def test_every_gap_is_in_its_place_with_its_reason(page: Page, run_dir: RunDirectory) -> None:
    line = heat_map(page.words)
    line = line[line.index(" go ") :]
    assert line.count(f"∅ not measured {REASON}") == 2
    text = render_markdown(run_dir)
    (row,) = (line for line in text.splitlines() if line.startswith("| go |"))
    assert row.count(f"∅ not measured: {REASON}") == 4


def test_what_the_plan_asked_for_and_has_no_row_is_a_gap(tmp_path: Path) -> None:
    whole = make_matrix_run(tmp_path / "whole").read_run().matrix
    run_dir = make_matrix_run(tmp_path / "cut", matrix=whole[:9], status="interrupted")
    words = Page(render_html(run_dir)).words
    assert "Incomplete. The run was interrupted." in words
    assert words.count("∅ not measured the run ended before it") == 4
    assert "published 1.71 s : 3.66 s" in words
    text = render_markdown(run_dir)
    assert text.count("∅ not measured: the run ended before it") == 7
    assert "**Incomplete.**" in text


def test_a_gap_of_one_of_the_two_ways_to_prepare_leaves_the_other(tmp_path: Path) -> None:
    on, off, *rest = make_matrix_run(tmp_path / "whole").read_run().matrix
    lost = on.model_copy(update={"verdict": "not_measured", "median_ms": None, "gap": "timeout"})
    run_dir = make_matrix_run(tmp_path / "run", matrix=[lost, off, *rest])
    table = heat_map(Page(render_html(run_dir)).words)
    time = numbers.duration(off.median_ms).replace("\u202f", " ")
    assert f"∅ not measured timeout published 27.2 s, 20.9× {time}" in table


def test_servers_go_by_the_version_that_ran(page: Page) -> None:
    evidence = page.words[page.words.index("Elapsed time of the execute alone") :]
    assert "server_prepare on : off, python on 5.7.29" in evidence
    assert "5.7.38 python" not in evidence


def test_the_drivers_are_named_with_what_ran(page: Page, run_dir: RunDirectory) -> None:
    assert "driver python name python; version 3.11.2" in page.words
    assert "- Driver python: name python; version 3.11.2" in render_markdown(run_dir)


def test_trials_are_drawn_and_profiles_not_missed(page: Page) -> None:
    assert [a["aria-label"] for a in page.all("svg") if a.get("role") == "img"] == [
        "Elapsed time of every trial in every cell, in log scale"
    ]
    targets = [a["href"] for a in page.all("a") if (a["href"] or "").startswith("#")]
    assert {"#timings", "#servers", "#method"} <= set(targets)
    assert {t.removeprefix("#") for t in targets if t} <= set(page.ids)
    assert "Flame graphs" not in page.words


def test_colours_follow_the_logarithm_of_the_time(run_dir: RunDirectory) -> None:
    cells = sorted(
        (c for c in of(run_dir).cells if c.row.median_ms), key=lambda c: c.row.median_ms or 0
    )
    steps = [c.step for c in cells]
    assert steps == sorted(steps, key=lambda s: s if s is not None else -1)
    assert (steps[0], steps[-1]) == (0, STEPS - 1)


def test_the_text_of_every_colour_can_be_read() -> None:
    css = (files("mysqlprof.report") / "templates" / "matrix.css").read_text()
    for ramp in re.findall(r":root \{ (--heat-0.*?) \}", css):
        colours = dict(re.findall(r"--([\w-]+): (#\w{6})", ramp))
        assert len(colours) == 2 * STEPS
        lights = [_luminance(colours[f"heat-{i}"]) for i in range(STEPS)]
        assert lights in (sorted(lights), sorted(lights, reverse=True))
        for i, light in enumerate(lights):
            low, high = sorted([light, _luminance(colours[f"on-heat-{i}"])])
            assert (high + 0.05) / (low + 0.05) >= 4.5


def _luminance(colour: str) -> float:
    """As WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_noise_between_equal_cells_is_not_heat(tmp_path: Path) -> None:
    even = {(d, s): 1.0 for d in MATRIX_DRIVERS for s in ("5.7.38", "8.0.32")}
    matrix = of(make_matrix_run(tmp_path / "run", ratios=even))
    assert max(c.step for c in matrix.cells if c.step is not None) < STEPS / 2


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    hostile = "\"'><script>alert(1)</script>|[a](b)\u202e@team"
    run_dir = make_matrix_run(
        tmp_path / "run", drivers=["python", hostile, "go"], gaps={"go": hostile}
    )
    html, text = render_html(run_dir), render_markdown(run_dir)
    assert "<script>alert" not in html
    assert "\u202e" not in html + text
    assert "<script>alert(1)</script>" in Page(html).words
    assert "<script>" not in text
    assert "@team" not in re.sub(r"`[^`]*`", "", text)
    for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        lines = table.strip().splitlines()
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1


def test_the_same_run_gives_the_same_reports(run_dir: RunDirectory) -> None:
    assert render_html(run_dir) == render_html(run_dir)
    assert render_markdown(run_dir) == render_markdown(run_dir)


def test_a_run_without_a_matrix_has_nothing_of_it(tmp_path: Path) -> None:
    assert "heatmap" not in render_html(make_run(tmp_path / "run"))


# --- the sentence --------------------------------------------------------------------------


def _said(tmp_path: Path, verdicts: dict[str, str], version: str = "") -> str:
    """The sentence over one letter a driver: Slow, Normal, Unsure, Gap."""
    words = {"S": "slow", "N": "normal", "U": "cannot_tell", "G": "not_measured"}
    rows = [
        MatrixRow.model_validate(
            {
                "server": server,
                "version": "" if set(letters) == {"G"} else version or server,
                "driver": f"d{index}",
                "server_prepare": prepare,
                "verdict": words[letter] if prepare or letter == "G" else "normal",
            }
        )
        for server, letters in verdicts.items()
        for index, letter in enumerate(letters)
        for prepare in (True, False)
    ]
    run = make_matrix_run(tmp_path / "run", trial_count=1, drivers=["d0"]).read_run()
    plan = run.plan.definition.matrix
    assert plan is not None
    count = len(next(iter(verdicts.values())))
    plan = plan.model_copy(
        update={"servers": list(verdicts), "drivers": [f"d{i}" for i in range(count)]}
    )
    definition = run.plan.definition.model_copy(update={"matrix": plan})
    record = run.plan.model_copy(update={"definition": definition})
    matrix = matrix_of(run.model_copy(update={"plan": record, "matrix": rows}))
    assert matrix is not None
    return sentence(matrix).replace("\u00a0", " ")


_WITH = "with server-side prepare"


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ({"5": "SSSS", "8": "NNNN"}, f"4 of 4 drivers are slow on 5 {_WITH}; none on 8"),
        ({"5": "SNNN", "8": "NNSS"}, f"1 of 4 drivers is slow on 5 {_WITH}; 2 of 4 on 8"),
        ({"5": "S"}, f"1 of 1 driver is slow on 5 {_WITH}"),
        ({"5": "NN", "8": "NN"}, f"No driver is slow on 5 or 8 {_WITH}"),
        (
            {"5": "SSU", "8": "NUU"},
            f"2 of 3 drivers are slow on 5 {_WITH} (1 cannot be told);"
            " none on 8 (2 cannot be told)",
        ),
        (
            {"5": "UU", "8": "UU"},
            f"On 5 and 8 it cannot be told whether drivers are slow {_WITH}",
        ),
        (
            {"5": "GG", "8": "NN"},
            f"No driver is slow on 8 {_WITH}; on 5 nothing was measured",
        ),
        (
            {"5": "NNN", "6": "SSN", "7": "SSS", "8": "NNN", "9": "UUG"},
            f"2 of 3 drivers are slow on 6 {_WITH}; 3 of 3 on 7; none on 5 or 8;"
            " on 9 it cannot be told (1 not measured)",
        ),
        (
            {"5": "SSS", "7": "SSS", "8": "NNG", "9": "NNG"},
            f"3 of 3 drivers are slow on 5 {_WITH}; 3 of 3 on 7;"
            " none on 8 or 9 (1 not measured each)",
        ),
        ({"5": "SG"}, f"1 of 2 drivers is slow on 5 {_WITH} (1 not measured)"),
        (
            {"5": "UG"},
            f"On 5 it cannot be told whether drivers are slow {_WITH} (1 not measured)",
        ),
        ({"5": "GG", "8": "GG"}, "On 5 and 8 nothing was measured"),
    ],
)
def test_the_sentence_says_who_is_hit_where(
    tmp_path: Path, verdicts: dict[str, str], expected: str
) -> None:
    assert _said(tmp_path, verdicts) == expected


def test_two_servers_that_became_one_version_are_told_apart(tmp_path: Path) -> None:
    said = _said(tmp_path, {"5.7.30": "S", "5.7.38": "N"}, version="5.7.29")
    assert said == (
        f"1 of 1 driver is slow on 5.7.29 (for 5.7.30) {_WITH}; none on 5.7.29 (for 5.7.38)"
    )


def test_how_slow_is_said_only_where_something_is(tmp_path: Path, run_dir: RunDirectory) -> None:
    assert re.search(r"takes [\d.]+× as long .* in the article, 15\.1×\.", extent(of(run_dir)))
    even = {(d, s): 1.0 for d in MATRIX_DRIVERS for s in ("5.7.38", "8.0.32")}
    assert extent(of(make_matrix_run(tmp_path / "run", ratios=even))) == ""
