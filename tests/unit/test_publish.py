"""Published reports: what goes into the directory, what its index says."""

from pathlib import Path

import pytest
from report_factory import NORMAL, SLOW, make_run

from mysqlprof.errors import UsageError
from mysqlprof.gallery.entry import entry
from mysqlprof.gallery.find import find_runs
from mysqlprof.gallery.published import Published, command, how, index
from mysqlprof.publish import Addition, publish


def published(path: Path, **changes: object) -> Published:
    make_run(path, **changes)  # type: ignore[arg-type]
    ((found,), _) = find_runs([path])
    entries = [entry(found, info, set()) for info in found.directory.profiles()]
    return Published(path.name, found.run, tuple(entries), frozenset({SLOW}))


def test_a_run_is_copied_redrawn_and_listed(tmp_path: Path) -> None:
    run = make_run(tmp_path / "20260101-one").path
    (run / "perf.data").write_text("large")
    (tmp_path / "reports" / "pictures").mkdir(parents=True)
    (tmp_path / "reports" / "pictures" / "of-one-that-is-gone.svg").write_text("")
    publish([Addition.parse(f"one={run}")], tmp_path / "reports")
    report = tmp_path / "reports" / "one"
    assert (report / "report.html").is_file()
    assert not (report / "perf.data").exists()
    assert "perf.data" not in (report / "SHA256SUMS").read_text()
    pictures = {path.name for path in (tmp_path / "reports" / "pictures").iterdir()}
    assert pictures == {f"one-{SLOW}.svg", f"one-{NORMAL}.svg"}
    text = (tmp_path / "reports" / "README.md").read_text()
    assert "[one](one/report.md)" in text
    for picture in pictures:
        assert f"pictures/{picture}" in text


def test_every_link_of_the_index_leads_to_a_file_of_the_report(tmp_path: Path) -> None:
    text = index([published(tmp_path / "one")])
    links = {part.partition(")")[0] for part in text.split("](")[1:]}
    links -= {"how.md"}
    assert len(links) == 5
    for link in links:
        assert (
            link.startswith("pictures/")
            or link.endswith("report.html")
            or link.endswith("report.md")
            or (tmp_path / link).is_file()
        ), link


def test_how_has_the_command_without_its_place(tmp_path: Path) -> None:
    report = published(
        tmp_path / "one",
        command=["mysqlprof", "reproduce", "x", "--out", "/somewhere/run", "--force", "--seed=7"],
    )
    assert command(report.run) == "mysqlprof reproduce x --seed=7"
    text = how([report])
    assert "/somewhere" not in text
    assert "5.7.22 stands in for 5.7.38" in text
    assert "with seed 42" in text


def test_hostile_titles_are_text(tmp_path: Path) -> None:
    report = published(tmp_path / "one")
    plan = report.run.plan
    title = "x | <script>alert(1)</script> [a](javascript:b)"
    definition = plan.definition.model_copy(update={"title": title})
    run = report.run.model_copy(update={"plan": plan.model_copy(update={"definition": definition})})
    for text in (
        index([Published("one", run, (), frozenset())]),
        how([Published("one", run, (), frozenset())]),
    ):
        assert "<script>" not in text
        assert "[a](javascript" not in text


@pytest.mark.parametrize("text", ["../x=run", "pictures=run", "=run", "a/b=run"])
def test_a_name_stays_within_the_reports(text: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a report"):
        Addition.parse(text)


def test_what_is_no_run_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "not-a-run").mkdir()
    with pytest.raises(UsageError, match=r"run\.json"):
        publish([Addition.parse(f"x={tmp_path / 'not-a-run'}")], tmp_path / "reports")
    assert not (tmp_path / "reports").exists()
