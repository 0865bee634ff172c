"""The report of an upgrade: its first sentence, its evidence, hostile names, and older runs."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from upgrade_factory import (
    AFTER_STACKS,
    BEFORE_STACKS,
    CELL,
    SETTINGS,
    make_upgrade_run,
    rows_of,
)

from mysqlprof.report import render_html, render_markdown
from mysqlprof.report.upgrade import upgrade_of
from mysqlprof.report.upgrade_words import answer, most_changed, path, strongest
from mysqlprof.store import RunDirectory
from mysqlprof.terminal_upgrade import print_upgrade

REPORTS = Path(__file__).parents[2] / "reports"
FASTER = {CELL: 0.025}
LEAD = "MySQL 5.7.22 to 8.0.31: "
ALL = {
    f"{allocator}_log-{log}_prepare-{prepare}"
    for allocator in ("default", "fixed")
    for log in ("off", "on")
    for prepare in ("off", "on")
}


def said(tmp_path, **facts):
    return answer(make_upgrade_run(tmp_path / "run", **facts).read_run())


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"ratios": 0.025}, LEAD + "8 of 8 cells are faster (up to "),
        ({"ratios": 2.0}, LEAD + "8 of 8 cells are slower (up to 2"),
        ({}, LEAD + "8 of 8 cells are the same within 10 %."),
        ({"ratios": {CELL: 0.0005}}, LEAD + "1 of 8 cells is faster (20"),
        (
            {"ratios": {CELL: 0.1, "default_log-on_prepare-on": 1.5}},
            "; 1 of 8 cells is slower (1.5",
        ),
        ({"spread": 0.6, "trial_count": 4}, "cannot be told."),
        ({"trial_count": 0}, LEAD + "nothing was measured that could be compared."),
        ({"trial_count": 2}, LEAD + "nothing was measured that could be compared."),
        ({"comparison": []}, LEAD + "nothing was measured that could be compared."),
    ],
)
def test_the_answer_is_one_sentence(tmp_path, facts, sentence):
    found = said(tmp_path, **facts)
    assert sentence in found
    assert "e+" not in found
    assert found.endswith(".")


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({}, "no difference, as it must be; all cells are the same within 10 %."),
        ({"trial_count": 0}, "nothing was measured that could be compared."),
        ({"comparison": []}, "nothing was measured that could be compared."),
        ({"ratios": {CELL: 3.0}}, "1 of 8 cells are called different, which must be false"),
        ({"spread": 0.5}, "no difference was found, but no cell can be told to be the same"),
    ],
)
def test_an_a_a_run_says_what_it_is_and_only_what_it_found(tmp_path, facts, sentence):
    found = said(tmp_path, versions=("5.7.22", "5.7.22"), **facts)
    assert found.startswith("A/A run, MySQL 5.7.22 against itself: ")
    assert sentence in found


def test_a_part_that_cannot_be_told_is_not_hidden(tmp_path):
    run_dir = make_upgrade_run(tmp_path / "run", versions=("5.7.22", "5.7.22"))
    run = run_dir.read_run()
    unsure = run.comparison[0].model_copy(update={"verdict": "cannot_tell"})
    run = run.model_copy(update={"comparison": [unsure, *run.comparison[1:]]})
    assert "7 of 8 cells are the same within 10 %; the others cannot be told." in answer(run)


def test_every_cell_has_its_row_with_the_fields_that_others_read(tmp_path):
    rows = rows_of(make_upgrade_run(tmp_path / "run", ratios={CELL: 0.025}))
    assert rows.keys() == ALL
    row = rows[CELL]
    assert (row.before_cell, row.after_cell) == (f"before_{CELL}", f"after_{CELL}")
    assert row.verdict == "faster"
    assert row.ratio == pytest.approx(0.025, rel=0.05)
    assert row.ci_low <= row.ratio <= row.ci_high
    assert 1.1 < row.visible_ratio < 1.2


def test_the_path_is_where_nearly_all_of_the_change_goes_through(tmp_path):
    run = make_upgrade_run(tmp_path / "run", ratios={CELL: 0.025}).read_run()
    assert most_changed(run).cell == CELL
    assert {"String::replace", "String::mem_realloc"} <= {c.function for c in path(run)}
    assert strongest(run)[0].function == "memmove"


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    """Drawing one takes a second: of a run that got faster in one cell, without gates."""
    return render_html(make_upgrade_run(tmp_path_factory.mktemp("page") / "run", ratios=FASTER))


def test_the_first_screen_has_answer_cells_reasons_settings_and_servers(page):
    first = page.partition("<nav")[0]
    assert re.search(r"<h1[^>]*>MySQL 5.7.22 to 8.0.31: 1 of 8 cells is faster", first)
    assert "What changes for you" in first
    assert first.count('<tr class="is-') == 8
    assert "<code>String::replace</code>" in first
    assert "<code>log_bin</code> OFF → ON" in first
    assert "<code>innodb_flush_method</code> (empty) → fsync" in first
    assert "zz_new" not in first, "what is not known to matter is not on the first screen"


def test_the_evidence_follows_in_order(page):
    sections = ("functions", "differences", "configuration", "timings", "servers", "method")
    order = [page.index(f'id="{name}"') for name in sections]
    assert order == sorted(order)
    assert "zz_new" in page
    assert page.count("Differential flame graph of") == 2


def test_no_cell_is_marked_as_the_suspect(page):
    assert "slowness is looked for" not in page
    assert '<tr class="marked"' not in page
    assert ">slow</span>" not in page


def test_a_run_without_gates_shows_none(page):
    assert 'id="gates"' not in page


@pytest.mark.parametrize(
    ("ratios", "gates", "word", "tally"),
    [
        (2.0, ["ratio > 1.10"], "Gate failed", "8 failed"),
        (1.0, ["ratio > 1.10"], "Gates held", "8 held"),
        (1.0, ["ratio > 1.10", "verdict == same"], "Gate failed", "8 failed, 8 held"),
        (1.1, ["ratio > 1.10"], "Gate cannot be told", "8 cannot tell"),
    ],
)
def test_gates_taken_together_have_held_only_if_each_did(tmp_path, ratios, gates, word, tally):
    run_dir = make_upgrade_run(tmp_path / "run", ratios=ratios, gates=gates, spread=0.02)
    view = upgrade_of(run_dir.read_run(), run_dir)
    assert (view.gates.word, view.gate_tally) == (word, tally)
    assert render_markdown(run_dir).count("| `ratio > 1.10` |") == 8


def test_gates_are_shown_on_the_first_screen_and_one_by_one(tmp_path):
    page = render_html(make_upgrade_run(tmp_path / "run", ratios=1.1, gates=["ratio > 1.10"],
                                        spread=0.02))  # fmt: skip
    first, _, rest = page.partition("<nav")
    assert "Gate cannot be told" in first
    assert "Gates held" not in page
    assert rest.partition('id="gates"')[2].count("<code>ratio &gt; 1.10</code>") == 8


def test_a_run_cut_short_says_so_first(tmp_path):
    run_dir = make_upgrade_run(
        tmp_path / "run", trial_count=1, status="interrupted", missing=["a: 0"]
    )
    assert "Incomplete." in render_html(run_dir).partition("<nav")[0]
    assert "**Incomplete.**" in render_markdown(run_dir)


def test_a_run_without_profiles_or_servers_is_still_a_report(tmp_path):
    bare = make_upgrade_run(tmp_path / "run", stacks=({}, {}), servers=[], caveats=[])
    page = render_html(bare)
    assert "No cell was profiled" in page
    assert "No server was started." in page
    assert 'id="differences"' not in page
    assert "##" in render_markdown(bare)


BAD = '<script>alert(1)</script><img src="http://evil.example/x">|`\u202e\x07&'


class Assets(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag in ("link", "img", "object", "embed", "base"):
            self.found.append(tag)
        self.found += [f"{tag} {value}" for key, value in attrs if key in ("src", "xlink:href")]


def test_hostile_names_are_escaped_everywhere_and_nothing_is_fetched(tmp_path):
    settings = {"before": {BAD: "1", "log_bin": BAD}, "after": {BAD: BAD, "log_bin": "ON"}}
    hostile = (
        {**BEFORE_STACKS, f"do_command;{BAD.replace(';', '')}": 500},
        {**AFTER_STACKS, "do_command;x": 500},
    )
    run_dir = make_upgrade_run(
        tmp_path / "run", ratios=0.2, settings=settings, stacks=hostile, gates=["ratio > 1"]
    )
    run = run_dir.read_run()
    gates = [gate.model_copy(update={"cell": BAD, "measured": BAD}) for gate in run.upgrade.gates]
    rows = [row.model_copy(update={"levels": {"allocator": BAD}}) for row in run.comparison]
    upgrade = run.upgrade.model_copy(update={"gates": gates, "unit": BAD})
    run_dir.write_run(run.model_copy(update={"upgrade": upgrade, "comparison": rows}))
    page = render_html(run_dir)
    assert "<script>alert(1)" not in page
    assert "\u202e" not in page
    assert "\x07" not in page
    assets = Assets()
    assets.feed(page)
    assert assets.found == []
    text = render_markdown(run_dir)
    outside_code = re.sub(r"(`+).*?\1", "", text)
    assert "<script" not in outside_code
    assert "<img" not in outside_code
    assert "\u202e" not in text


def test_markdown_has_the_answer_and_the_evidence(tmp_path):
    text = render_markdown(make_upgrade_run(tmp_path / "run", ratios={CELL: 0.025}))
    assert "**MySQL 5.7.22 to 8.0.31: 1 of 8 cells is faster" in text
    assert "| fixed | on | on | ▼ faster |" in text
    assert "`String::replace`" in text
    assert "| `log_bin` | OFF | ON |" in text
    assert "| `innodb_flush_method` | (empty) | fsync |" in text
    assert "| `query_cache_size` | 1 | none |" in text


@pytest.mark.parametrize(
    "facts",
    [
        {"ratios": {CELL: 0.025}, "gates": ["ratio > 1.10", "verdict == slower"]},
        {"ratios": 1.0},
        {"trial_count": 0, "stacks": ({}, {}), "servers": []},
        {"versions": ("5.7.22", "5.7.22"), "spread": 0.5},
    ],
)
def test_the_terminal_says_the_same_first_sentence(tmp_path, capsys, facts):
    run_dir = make_upgrade_run(tmp_path / "run", **facts)
    run = run_dir.read_run()
    print_upgrade(run, run_dir.path)
    shown = capsys.readouterr().out
    assert answer(run) in shown
    assert all(row.cell in shown for row in run.comparison)
    assert f"{run_dir.path}/report.html" in shown.replace("\n", "")
    if facts.get("ratios") == {CELL: 0.025}:
        assert "0.00x" not in shown
        assert "0.02x" not in shown, "three digits, also of small ratios"
        assert "innodb_flush_method: (empty) -> fsync" in shown


def test_the_terminal_takes_no_commands_from_names(tmp_path, capsys):
    bad = "\x1b[31mred\x07"
    settings = {role: found | {"log_bin": f"{bad}{role}"} for role, found in SETTINGS.items()}
    run_dir = make_upgrade_run(tmp_path / "run", settings=settings)
    print_upgrade(run_dir.read_run(), run_dir.path)
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "log_bin" in shown


@pytest.mark.parametrize("name", ["bug-73056", "bug-73056-matrix", "bug-73056-bisect"])
def test_runs_from_before_there_was_an_upgrade_read_and_render(name):
    run_dir = RunDirectory.open(REPORTS / name)
    run = run_dir.read_run()
    assert (run.comparison, run.upgrade) == ([], None)
    assert render_markdown(run_dir).startswith("#")
    if name == "bug-73056-matrix":  # the others are drawn by other tests, and take longer
        assert "</html>" in render_html(run_dir)


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        ("same", "the workload is the same within 10 %."),
        ("cannot_tell", "whether the workload changes cannot be told."),
    ],
)
def test_a_scenario_of_one_cell_speaks_of_the_workload(tmp_path, verdict, sentence):
    run = make_upgrade_run(tmp_path / "run").read_run()
    row = run.comparison[0].model_copy(update={"verdict": verdict})
    assert answer(run.model_copy(update={"comparison": [row]})) == LEAD + sentence
