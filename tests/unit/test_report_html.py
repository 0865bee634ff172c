"""report.html: what it says, that it says all of it, and that hostile text stays text."""

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from report_factory import (
    NORMAL,
    NORMAL_STACKS,
    SLOW,
    SLOW_STACKS,
    flame_svg,
    folded,
    make_run,
    server,
)

from mysqlprof.model import Caveat, Scenario
from mysqlprof.report import render_html
from mysqlprof.report.embed import embed, policy_hash
from mysqlprof.scenario import load
from mysqlprof.store import RunDirectory

_VOID = {"meta", "link", "br", "hr", "img", "input", "col"}
_HOSTILE = "<script>alert(1)</script>"
_QUOTES = "\"'><img src=x onerror=alert(2)>`|"
_BIDI = "safe\u202eevil\u0007"


class Page(HTMLParser):
    """Collects elements, visible text and every problem of nesting."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.ids: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.text += " "
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> out of order"

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] not in ("script", "style"):
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self) -> str:
        return " ".join(self.text.split()).replace("\u202f", " ")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return make_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def html(run_dir: RunDirectory) -> str:
    return render_html(run_dir)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_first_screen_answers_before_the_evidence_begins(page: Page) -> None:
    words = page.words
    first = words[: words.index("A claim holds when")]
    assert "Reproduced 6 of 6 essential claims hold" in first
    assert re.search(r"\d\d\.\d× slower 95 % interval [\d.]+–[\d.]+×", first)
    assert "allocator thresholds fixed" in first
    assert "glibc's default allocator" in first
    assert "Because of String::replace" in first
    assert re.search(
        r"dispatch_command [\d.]+ % mysqld_stmt_execute [\d.]+ %"
        r" Prepared_statement::set_parameters [\d.]+ % String::replace [\d.]+ %",
        first,
    )
    assert "MySQL 5.7.22" in first
    assert "instead of 5.7.38, which was asked for" in first
    assert "useServerPrepStmts=false" in first


def test_every_claim_is_printed_with_its_verdict(run_dir: RunDirectory, page: Page) -> None:
    claims = run_dir.read_run().claims
    for claim in claims:
        assert claim.text.replace(" -> ", " → ") in page.words
    assert page.words.count("✓ holds") == sum(c.verdict == "holds" for c in claims)
    assert "? cannot tell" in page.words
    assert "the cell was not profiled" in page.words


def test_every_caveat_is_printed_and_missing_data_is_marked(tmp_path: Path) -> None:
    caveats = [
        Caveat(kind="lost_samples", text="cell_a: perf lost 12 samples", partial=True),
        Caveat(kind="noise", text="cell_b: noisy"),
        Caveat(kind="noise", text="cell_c: noisy"),
        Caveat(kind="host", text="2 processors only: the driver shared them"),
    ]
    words = Page(render_html(make_run(tmp_path / "run", caveats=caveats))).words
    assert "lost samples data missing cell_a: perf lost 12 samples" in words
    assert "cell_b, cell_c: noisy" in words
    assert "2 processors only: the driver shared them" in words


def test_every_cell_contrast_server_and_threshold_is_printed(
    run_dir: RunDirectory, page: Page
) -> None:
    run = run_dir.read_run()
    for cell in run.cells:
        assert cell.id in page.words
    for contrast in run.contrasts:
        assert contrast.text in page.words
    for found in run.servers:
        assert found.name in page.words
        assert found.sha256 in page.words
        assert found.build_id in page.words
    assert "noisy cell spread 1.5" in page.words
    assert "seed 42" in page.words
    assert "mysqlprof reproduce bug-73056 --out 'a run'" in page.words


def test_ids_are_unique_and_headings_do_not_skip_a_level(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tables_say_what_their_headers_head(page: Page) -> None:
    assert page.all("th")
    assert all(cell.get("scope") in ("row", "col") for cell in page.all("th"))


def test_nothing_is_fetched_and_only_named_scripts_run(html: str, page: Page) -> None:
    for tag, attributes in page.elements:
        assert tag not in ("link", "object", "embed", "base")
        assert not attributes.get("src")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
        address = attributes.get("href") or ""
        if tag == "a":
            assert address.startswith("#") or address == "https://bugs.mysql.com/bug.php?id=73056"
        else:
            assert address == "" or address.startswith("#")
    policy = next(m["content"] for m in page.all("meta") if "http-equiv" in m) or ""
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        outside = re.sub(r'srcdoc="[^"]*"', "", html)
        for text in re.findall(rf"<{kind}>(.*?)</{kind}>", outside, re.DOTALL):
            assert policy_hash(text) in policy


def test_flame_graphs_live_in_sandboxed_frames_of_their_own(page: Page) -> None:
    frames = page.all("iframe")
    assert len(frames) == 2
    policy = next(m["content"] for m in page.all("meta") if "http-equiv" in m) or ""
    for frame in frames:
        assert frame["sandbox"] == "allow-scripts"
        document = frame["srcdoc"] or ""
        assert "String" in document or "row_ins_step" in document
        for text in re.findall(r"<script>(.*?)</script>", document, re.DOTALL):
            assert policy_hash(text) in policy


def test_the_same_run_gives_the_same_bytes(run_dir: RunDirectory, html: str) -> None:
    assert render_html(run_dir) == html


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    scenario = load("bug-73056").model_copy(
        update={"title": _HOSTILE, "cause": _QUOTES, "remedies": [_BIDI], "summary": _HOSTILE}
    )
    stacks = {f"main;{name.replace(';', ':')}": 300 for name in (_HOSTILE, _QUOTES, _BIDI)}
    run_dir = make_run(
        tmp_path / "run",
        scenario=scenario,
        profiles={SLOW: stacks},
        servers=[
            server("before", "before", version=_HOSTILE, source=_QUOTES, settings={_BIDI: _QUOTES})
        ],
        environment={"kernel": _HOSTILE, "programs": {_QUOTES: _BIDI}},
        caveats=[Caveat(kind=_HOSTILE, text=_QUOTES)],
        missing=[_HOSTILE],
        command=["mysqlprof", _HOSTILE, _BIDI],
    )
    html = render_html(run_dir)
    page = Page(html)
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "\u202e" not in html
    assert "\u0007" not in html
    assert r"safe\u202eevil\u0007" in page.text
    assert _HOSTILE in page.text
    assert len(page.all("script")) == 1
    assert not page.all("img")
    for frame in page.all("iframe"):
        inner = Page(frame["srcdoc"] or "")
        assert not inner.all("img")
        assert all("onmouseover" not in attributes for _, attributes in inner.elements)
        assert len(inner.all("script")) == 2


def test_a_reference_that_is_no_web_address_is_not_a_link(tmp_path: Path) -> None:
    scenario = load("bug-73056").model_copy(update={"reference": "javascript:alert(1)"})
    page = Page(render_html(make_run(tmp_path / "run", scenario=scenario)))
    assert "javascript:alert(1)" in page.text
    assert not [a for a in page.all("a") if (a.get("href") or "").startswith("javascript")]


def test_an_interrupted_run_says_so_and_what_is_missing(tmp_path: Path) -> None:
    run_dir = make_run(
        tmp_path / "run",
        trial_count=2,
        profiles={},
        status="interrupted",
        missing=["before_fixed_log-on_prepare-on: 2 of 7 timed trials"],
    )
    words = Page(render_html(run_dir)).words
    assert "Incomplete. The run was interrupted." in words
    assert "What was not measured before_fixed_log-on_prepare-on: 2 of 7 timed trials" in words
    assert "Inconclusive" in words
    assert "No profile with samples was recorded" in words
    assert "No cell was profiled in this run." in words


def test_a_killed_run_lists_what_the_plan_wanted(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", trial_count=3, profiles={}, status="running")
    words = Page(render_html(run_dir)).words
    assert "before_default_log-on_prepare-on: 3 of 9 timed trials" in words.replace(
        f"of {load('bug-73056').trials} timed", "of 9 timed"
    )
    assert f"{SLOW}: profile" in words


def test_a_run_without_any_trial_renders(tmp_path: Path) -> None:
    run_dir = make_run(
        tmp_path / "run",
        trial_count=0,
        profiles={},
        status="failed",
        cells=[],
        contrasts=[],
        claims=[],
        servers=[],
        thresholds={},
        environment={},
    )
    page = Page(render_html(run_dir))
    assert page.words.count("no trials") == len(run_dir.read_run().plan.cells)
    assert "No claim was judged." in page.words
    assert "No server was started." in page.words


def test_a_run_that_is_not_reproduced_names_the_claims_against_it(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", slow=False, profiles={SLOW: NORMAL_STACKS})
    page = Page(render_html(run_dir))
    first = page.words[: page.words.index("A claim holds when")]
    assert "Not reproduced" in first
    assert "✗ does not hold The insert is slow" in first
    assert "× the time" in first
    assert f"Hottest path in {SLOW}" in first
    assert "Because of" not in first


def test_a_profile_without_samples_or_drawing_is_said_to_have_none(tmp_path: Path) -> None:
    run_dir = make_run(tmp_path / "run", profiles={SLOW: {}, NORMAL: NORMAL_STACKS})
    (run_dir.path / "profiles" / f"{NORMAL}.svg").unlink()
    words = Page(render_html(run_dir)).words
    assert "No samples were recorded." in words
    assert f"its stacks are in profiles/{NORMAL}.folded" in words


def test_a_scenario_without_picture_claims_or_article_renders(tmp_path: Path) -> None:
    whole = load("bug-73056").model_dump()
    bare = Scenario.model_validate(
        whole | {"picture": None, "claims": [], "article": [], "remedies": [], "cause": ""}
    )
    page = Page(render_html(make_run(tmp_path / "run", scenario=bare, claims=[])))
    assert "Beside the article" not in page.words
    assert "What helps" not in page.words


def test_very_deep_and_very_many_stacks_render(tmp_path: Path) -> None:
    deep = ";".join(f"frame_{i}" for i in range(10_000))
    stacks = {deep: 900} | {f"main;function_{i}": 1 for i in range(300)}
    assert "frame_0" in render_html(make_run(tmp_path / "run", profiles={SLOW: stacks}))


def test_a_drawing_that_is_no_flame_graph_is_left_out() -> None:
    assert embed("<svg", "", "") is None
    assert embed("<svg xmlns='http://www.w3.org/2000/svg'><rect/></svg>", "", "") is None
    hostile = flame_svg(folded(SLOW_STACKS)).replace("var searching", "</script><b>x")
    assert embed(hostile, "", "") is None


def test_an_embedded_drawing_keeps_frames_and_loses_handlers() -> None:
    graph = embed(flame_svg(folded(SLOW_STACKS)), "rect {}", "start()")
    assert graph is not None
    assert graph.document.count("<rect") == len(SLOW_STACKS)
    assert "onclick" not in graph.document
    assert 'style="' not in graph.document
    assert 'data-handlers="inline"' in graph.document
    assert "function zoom(g)" in graph.scripts[0]
    assert graph.height == 15 + 16 * (len(SLOW_STACKS) - 1) + 6
