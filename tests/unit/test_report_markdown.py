"""report.md: all that a bug report needs, and no markup but its own."""

import re
from pathlib import Path

import pytest
from report_factory import NORMAL_STACKS, SLOW, make_run, server

from mysqlprof.model import Caveat
from mysqlprof.report import render_markdown
from mysqlprof.report.safe import code_block, code_span, markdown
from mysqlprof.scenario import load
from mysqlprof.store import RunDirectory


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return make_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def text(run_dir: RunDirectory) -> str:
    return render_markdown(run_dir).replace("\u202f", " ")


def _columns(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line))


def test_verdict_ratios_and_path_come_first(text: str) -> None:
    head = text[: text.index("### Claims")]
    assert "**Reproduced** (6 of 6 essential claims hold)" in head
    assert re.search(r"- \*\*[\d.]+×\*\* slower \(95 % interval [\d.]+–[\d.]+×\)", head)
    assert re.search(r"dispatch_command .*\n  mysqld_stmt_execute ", head)
    assert re.search(r"      String::replace +[\d.]+ %\n```", head)
    assert "5.7.22 stands in for 5.7.38" in head


def test_claims_cells_servers_and_method_are_all_there(run_dir: RunDirectory, text: str) -> None:
    run = run_dir.read_run()
    for claim in run.claims:
        assert markdown(claim.text.replace(" -> ", " → ")) in text
    assert text.count("✓ holds") == sum(c.verdict == "holds" for c in run.claims)
    assert "the cell was not profiled" in text
    for found in run.servers:
        assert f"`{found.sha256}`" in text
        assert f"`{found.version}`" in text
    assert len(re.findall(r"^\| (before|after) \| (default|fixed)", text, re.MULTILINE)) == len(
        run.cells
    )
    assert "interleaved, seed 42" in text
    assert "cpu-clock at 999 Hz" in text
    assert "`mysqlprof reproduce bug-73056 --out 'a run'`" in text


def test_every_row_of_a_table_has_the_columns_of_its_head(text: str) -> None:
    tables = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    assert len(tables) == 4
    for table in tables:
        assert len({_columns(line) for line in table.strip().splitlines()}) == 1


def test_it_is_compact(text: str) -> None:
    assert len(text) < 12_000


def test_the_same_run_gives_the_same_text(run_dir: RunDirectory) -> None:
    assert render_markdown(run_dir) == render_markdown(run_dir)


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    hostile = "a|b `c` <script>x</script> [d](e) *f* @team \u202eg\nh"
    run_dir = make_run(
        tmp_path / "run",
        scenario=load("bug-73056").model_copy(update={"title": hostile, "cause": hostile}),
        profiles={SLOW: {"main;a``` ```b": 500}},
        servers=[server("before", "before", version=hostile, source=hostile)],
        caveats=[Caveat(kind="noise", text=hostile, partial=True)],
        missing=[hostile],
    )
    text = render_markdown(run_dir)
    plain = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.DOTALL)
    assert "<script>" not in plain
    assert "](e)" not in plain.replace(r"\](e)", "")
    assert "@team" not in plain
    assert "\u202e" not in text
    for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        assert len({_columns(line) for line in table.strip().splitlines()}) == 1
    assert "````text" in text
    assert "**data missing**" in text


@pytest.mark.parametrize("name", ["a", "a`b", "``", "`a", "a|b", "", "a\nb"])
def test_no_backtick_or_pipe_ends_a_code_span(name: str) -> None:
    span = code_span(name)
    assert "\n" not in span
    assert not re.search(r"(?<!\\)\|", span)
    if name:
        fence = re.match("`+", span)
        assert fence is not None
        assert span.count(fence.group()) == 2 or len(fence.group()) > name.count("`")


def test_no_line_closes_a_code_block() -> None:
    block = code_block("```\n~~~\n````x")
    assert block.startswith("`````text\n")
    assert block.endswith("\n`````")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("before_fixed: 73.6× [60.5, 77.8]", "before_fixed: 73.6× [60.5, 77.8]"),
        ("_a_ *b*", r"\_a\_ \*b\*"),
        ("# a", r"\# a"),
        ("[a](b)", r"[a\](b)"),
        ("<b>", "&lt;b>"),
    ],
)
def test_words_are_escaped_where_they_would_be_markup_only(text: str, expected: str) -> None:
    assert markdown(text) == expected


def test_an_interrupted_run_without_profiles_says_what_it_lacks(tmp_path: Path) -> None:
    run_dir = make_run(
        tmp_path / "run", trial_count=1, profiles={}, status="interrupted", missing=["cell: 1 of 7"]
    )
    text = render_markdown(run_dir)
    assert "**Inconclusive**" in text
    assert "**Incomplete.** The run was interrupted." in text
    assert "### What was not measured\n\n- cell: 1 of 7" in text
    assert "No cell was profiled in this run." in text


def test_a_run_that_is_not_reproduced_says_why(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", slow=False, profiles={SLOW: NORMAL_STACKS})
    text = render_markdown(run_dir)
    assert "**Not reproduced**" in text
    assert "✗ does not hold" in text
    assert f"Hottest path in `{SLOW}`" in text
    assert "- does not hold: The insert is slow" in text


def test_a_run_with_nothing_in_it_renders(tmp_path: Path) -> None:
    run_dir = make_run(
        tmp_path / "run",
        trial_count=0,
        profiles={},
        status="failed",
        cells=[],
        contrasts=[],
        claims=[],
        servers=[],
        caveats=[],
        environment={},
    )
    assert "No server was started." in render_markdown(run_dir)
