"""The report of a search through versions."""

from pathlib import Path

from report_factory import make_run

from mysqlprof.model import Bisect, BisectPoint, PointVerdict
from mysqlprof.report import render_html, render_markdown
from mysqlprof.store import RunDirectory

ANSWER = "8.0.15 is the last version that shows it, 8.0.31 the first that does not."


def point(version: str, verdict: PointVerdict, ratio: float | None, why: str) -> BisectPoint:
    return BisectPoint(
        version=version,
        verdict=verdict,
        ratio=ratio,
        ci_low=ratio,
        ci_high=ratio,
        trials=7,
        share=0.965 if verdict == "shows" else None,
        why=why,
    )


def bisect_run(path: Path) -> RunDirectory:
    run_dir = make_run(path)
    run = run_dir.read_run()
    found = Bisect(
        bad="5.7.22",
        good="8.0.31",
        candidates=["5.7.22", "8.0.12", "8.0.15", "8.0.31"],
        points=[
            point("8.0.15", "shows", 30.0, "the <b>middle</b> | of 2"),
            point("5.7.22", "shows", 22.0, "the older end"),
            point("8.0.31", "absent", 0.85, "the newer end"),
            point("8.0.12", "cannot_tell", None, "in the middle"),
        ],
        last_bad="8.0.15",
        first_good="8.0.31",
        answer=ANSWER,
    )
    run_dir.write_run(run.model_copy(update={"bisect": found}))
    return run_dir


def test_the_answer_comes_first_and_every_point_is_there_oldest_first(tmp_path: Path) -> None:
    run_dir = bisect_run(tmp_path / "run")
    for text in (render_html(run_dir), render_markdown(run_dir)):
        places = [text.index(f"MySQL {v}") for v in ("5.7.22", "8.0.12", "8.0.15", "8.0.31")]
        assert text.index(ANSWER) < places[0]
        assert places == sorted(places)
        for word in ("shows it", "does not show it", "cannot tell", "96.5"):
            assert word in text


def test_the_verdict_of_reproduce_is_not_shown(tmp_path: Path) -> None:
    html = render_html(bisect_run(tmp_path / "run"))
    assert "essential claims hold" not in html
    assert "Claims</h2>" not in html


def test_words_from_elsewhere_are_escaped(tmp_path: Path) -> None:
    run_dir = bisect_run(tmp_path / "run")
    assert "<b>middle</b>" not in render_html(run_dir)
    assert "&lt;b&gt;middle&lt;/b&gt;" in render_html(run_dir)
    assert r"\|" in render_markdown(run_dir)


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run_dir = bisect_run(tmp_path / "run")
    assert render_html(run_dir) == render_html(run_dir)
