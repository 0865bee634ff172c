"""A gallery's files, from synthetic runs."""

import json
import re
from pathlib import Path

import pytest
from report_factory import (
    NORMAL,
    SLOW,
    SLOW_STACKS,
    folded,
    make_matrix_run,
    make_run,
    profile_info,
)

from mysqlprof.attribution import load_rules
from mysqlprof.changes import CellComparison
from mysqlprof.errors import UsageError
from mysqlprof.gallery.data import index_script, script, shares_by_name
from mysqlprof.gallery.entry import entry
from mysqlprof.gallery.find import Found, find_runs
from mysqlprof.gallery.libraries import FILES, LICENCES
from mysqlprof.gallery.pages import POLICY
from mysqlprof.gallery.site import Built, build_site
from mysqlprof.stacks import FoldedStacks

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    """Stand-ins for what npm brings; real ones are loaded by a real browser elsewhere."""
    folder = tmp_path / "vendor"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text("")
    licence = {"name": "d3", "version": "1", "licence": "ISC", "text": "Copyright <someone>"}
    (folder / LICENCES).write_text(json.dumps([licence]))
    return folder


def build(tmp_path: Path, libraries: Path) -> tuple[Built, Path]:
    found, unread = find_runs([tmp_path / "runs"])
    assert unread == []
    return build_site(found, libraries, tmp_path / "site"), tmp_path / "site"


def decoded(text: str) -> FoldedStacks:
    """A data file read as a page reads it."""
    _, data = json.loads("[" + text[text.index("(") + 1 : text.rindex(")")] + "]")
    numbers, at, stack, counts = data["stacks"], 0, [], {}
    while at < len(numbers):
        shared, count, new = numbers[at : at + 3]
        stack = stack[:shared] + numbers[at + 3 : at + 3 + new]
        counts[tuple(_frame(data, number) for number in stack)] = count
        at += 3 + new
    return FoldedStacks(counts)


def _frame(data: dict[str, list[str]], number: int) -> str:
    return data["frames"][number] + ("_[k]" if data["kernel"][number] == "1" else "")


def test_a_profile_has_its_files_and_its_stacks_come_back(tmp_path: Path, libraries: Path) -> None:
    make_run(tmp_path / "runs" / "one")
    built, site = build(tmp_path, libraries)
    assert (built.profiles, built.runs, built.unread) == (2, 1, ())
    names = {path.name.removeprefix(f"one-{SLOW}") for path in (site / "files").glob(f"*{SLOW}*")}
    assert names == {".card.svg", ".svg", ".folded", ".speedscope.json", ".pb.gz"}
    assert decoded((site / "data" / f"one-{SLOW}.js").read_text()) == folded(SLOW_STACKS)


def test_a_card_says_what_its_run_says(tmp_path: Path, libraries: Path) -> None:
    make_run(tmp_path / "runs" / "one")
    _, site = build(tmp_path, libraries)
    page = (site / "index.html").read_text()
    (slow,) = re.findall(rf'<li class="card" id="card-one-{SLOW}"(.*?)</li>', page, re.S)
    assert 'data-server="5.7.22"' in slow
    assert 'data-driver="connector-j 8.0.33"' in slow
    assert 'data-verdict="Reproduced"' in slow
    assert "slow_query_log=on\n" in slow.replace("&#10;", "\n")
    assert re.search(r"<b>4\d\.\d×</b> as long", slow)


def test_a_cell_that_is_only_compared_with_is_the_normal_side(tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    ((found,), _) = find_runs([tmp_path])
    contrast = next(c for c in found.run.contrasts if c.headline)
    run = found.run.model_copy(update={"contrasts": [contrast]})
    slow, normal = (
        entry(Found(found.directory, run), profile_info(cell, folded({"main": 1})), set())
        for cell in (contrast.numerator, contrast.denominator)
    )
    assert slow.is_numerator
    assert not normal.is_numerator
    assert slow.ratio == normal.ratio == contrast.ratio


def test_runs_without_a_profile_are_listed(tmp_path: Path, libraries: Path) -> None:
    make_matrix_run(tmp_path / "runs" / "matrix")
    built, site = build(tmp_path, libraries)
    assert (built.profiles, built.runs) == (0, 1)
    assert "Runs without a profile" in (site / "index.html").read_text()


def test_nothing_inline_and_nothing_from_elsewhere(tmp_path: Path, libraries: Path) -> None:
    make_run(tmp_path / "runs" / "one")
    _, site = build(tmp_path, libraries)
    pages = list(site.rglob("*.html"))
    assert len(pages) == 5
    for page in pages:
        text = page.read_text()
        assert f'content="{POLICY.replace(chr(39), "&#39;")}"' in text
        assert "unsafe" not in text
        assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=|javascript:", text), page
        assert not re.search(r'(?:src|href)="(?:https?:)?//', text), page


def test_hostile_names_are_text_everywhere(tmp_path: Path, libraries: Path) -> None:
    stacks = folded({f"main;{HOSTILE};</script><script>alert(2)</script>\u202e": 9})
    run_dir = make_run(tmp_path / "runs" / "one", profiles={})
    run_dir.write_profile(profile_info(HOSTILE, stacks), stacks, None)
    run = run_dir.read_run()
    plan = run.plan.model_copy(
        update={"definition": run.plan.definition.model_copy(update={"title": HOSTILE})}
    )
    run_dir.write_run(run.model_copy(update={"plan": plan, "id": HOSTILE}))
    _, site = build(tmp_path, libraries)
    for path in [*site.rglob("*.html"), *site.glob("data/*.js")]:
        text = path.read_text()
        assert "<img src=x" not in text, path
        assert "<script>" not in text, path
        assert "\u202e" not in text, path
    for path in site.rglob("*"):
        assert re.fullmatch(r"[A-Za-z0-9._-]+", path.name)


def test_the_same_cell_of_two_runs_has_two_pages(tmp_path: Path, libraries: Path) -> None:
    make_run(tmp_path / "runs" / "a" / "one")
    make_run(tmp_path / "runs" / "b" / "one")
    built, site = build(tmp_path, libraries)
    assert built.profiles == 4
    assert len(list((site / "profiles").iterdir())) == 4


def test_what_cannot_be_read_is_named_and_the_rest_is_built(
    tmp_path: Path, libraries: Path
) -> None:
    make_run(tmp_path / "runs" / "good")
    broken = make_run(tmp_path / "runs" / "broken")
    (broken.path / "profiles" / f"{SLOW}.folded").write_text("no count here\n")
    (tmp_path / "runs" / "worse").mkdir()
    (tmp_path / "runs" / "worse" / "run.json").write_text("{")
    found, unread = find_runs([tmp_path / "runs"])
    assert len(unread) == 1
    assert "worse" in unread[0]
    built = build_site(found, libraries, tmp_path / "site")
    assert built.profiles == 3
    assert [f"{SLOW}.folded" in text for text in built.unread] == [True]


def test_only_a_gallery_is_replaced(tmp_path: Path, libraries: Path) -> None:
    make_run(tmp_path / "runs" / "one")
    build(tmp_path, libraries)
    build(tmp_path, libraries)
    (tmp_path / "site" / ".mysqlprof-gallery").unlink()
    with pytest.raises(UsageError, match="not a gallery"):
        build(tmp_path, libraries)


def test_the_index_has_the_share_of_a_function_in_each_profile() -> None:
    one = shares_by_name(folded({"main;String::replace(int);memcpy": 30, "main": 70}))
    two = shares_by_name(folded({"main;String::replace(long)": 999, "main;tiny": 1, "x": 1000}))
    assert one == {"main": 1000, "String::replace": 300, "memcpy": 300}
    assert "tiny" not in two
    text = index_script([one, two])
    names, postings = json.loads("[" + text[text.index("(") + 1 : text.rindex(")")] + "]")
    assert postings[names.index("String::replace")] == [0, 300, 1, 500]


def test_a_data_file_cannot_end_its_script() -> None:
    text = script("profile", "</script><!--\u2028")
    assert "<" not in text
    assert text.isascii()


def test_a_kind_is_a_number_of_the_palette(tmp_path: Path, libraries: Path) -> None:
    make_run(tmp_path / "runs" / "one")
    _, site = build(tmp_path, libraries)
    text = (site / "data" / f"one-{SLOW}.js").read_text()
    _, data = json.loads("[" + text[text.index("(") + 1 : text.rindex(")")] + "]")
    page = (site / "assets" / "calls.js").read_text()
    (listed,) = re.findall(r"const KINDS = (\[.*?\]);", page)
    kinds = json.loads(listed)
    for name, kind in zip(data["frames"], data["kinds"], strict=True):
        frame = name + ("_[k]" if kinds[int(kind)] == "kernel" else "")
        assert kinds[int(kind)] == load_rules().kind(frame)


def test_a_bisection_says_of_each_version_whether_it_shows_the_symptom() -> None:
    reports = Path(__file__).parents[2] / "reports"
    ((found,), _) = find_runs([reports / "bug-73056-bisect"])
    entries = [entry(found, info, set()) for info in found.directory.profiles()]
    words = {e.version: e.verdict.word for e in entries}
    assert words["8.0.15"] == "shows it"
    assert words["8.0.31"] == "does not show it"


def test_an_upgrade_says_of_each_cell_what_became_of_it(tmp_path: Path) -> None:
    row = CellComparison(
        cell="x", levels={}, before_cell=SLOW, after_cell=NORMAL, ratio=0.5, verdict="faster"
    )
    made = make_run(tmp_path / "one", comparison=[row])
    ((found,), _) = find_runs([made.path])
    after, before = (entry(found, info, set()) for info in found.directory.profiles())
    assert (after.cell, after.is_numerator, after.ratio) == (NORMAL, True, 0.5)
    assert (before.cell, before.is_numerator, before.ratio) == (SLOW, False, 0.5)
    assert after.verdict.word == before.verdict.word == "faster"


def test_a_run_that_judges_nothing_is_not_inconclusive(tmp_path: Path) -> None:
    made = make_run(tmp_path / "one", verdict="inconclusive", claims=[])
    ((found,), _) = find_runs([made.path])
    info = found.directory.profiles()[0]
    assert entry(found, info, set()).verdict.word == "Not judged"
