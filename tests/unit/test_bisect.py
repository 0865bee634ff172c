"""The search through versions: its path, its answer, what it refuses."""

import pytest

from mysqlprof import scenario
from mysqlprof.bisect import answer, candidates_of, derive, ends, search
from mysqlprof.errors import UsageError
from mysqlprof.model import BisectPoint, PointVerdict
from mysqlprof.request import Request
from mysqlprof.servers import catalog

VERSIONS = ["5.7.19", "5.7.22", "5.7.29", "8.0.12", "8.0.15", "8.0.31"]


def point(version: str, verdict: PointVerdict, why: str = "") -> BisectPoint:
    return BisectPoint(
        version=version,
        verdict=verdict,
        ratio=1.0,
        ci_low=0.9,
        ci_high=1.1,
        trials=7,
        share=None,
        why=why,
    )


def searched(verdicts: dict[str, PointVerdict]) -> list[BisectPoint]:
    """What search() measures when each version would answer so."""
    return search(list(verdicts), lambda version, why: point(version, verdicts[version], why))


@pytest.mark.parametrize("bad", range(1, len(VERSIONS)))
def test_the_border_is_found_wherever_it_is(bad):
    verdicts: dict[str, PointVerdict] = {
        v: "shows" if i < bad else "absent" for i, v in enumerate(VERSIONS)
    }
    points = searched(verdicts)
    assert ends(points) == (VERSIONS[bad - 1], VERSIONS[bad])
    assert len({p.version for p in points}) == len(points), "no version is measured twice"
    assert len(points) <= 5, "two ends and a binary search over four"


def test_both_ends_are_measured_first_and_every_point_says_why():
    verdicts: dict[str, PointVerdict] = dict.fromkeys(VERSIONS[:3], "shows")
    verdicts |= dict.fromkeys(VERSIONS[3:], "absent")
    points = searched(verdicts)
    assert [p.version for p in points[:2]] == ["5.7.19", "8.0.31"]
    assert points[0].why == "the older end"
    assert points[2].why == "in the middle of 4 between 5.7.19 and 8.0.31"


def test_without_a_border_only_the_ends_are_measured():
    assert len(searched(dict.fromkeys(VERSIONS, "absent"))) == 2
    assert len(searched(dict.fromkeys(VERSIONS, "shows"))) == 2


def test_a_version_that_cannot_be_told_is_named_and_not_guessed():
    verdicts: dict[str, PointVerdict] = dict.fromkeys(VERSIONS, "shows")
    verdicts |= {"8.0.12": "cannot_tell", "8.0.15": "absent", "8.0.31": "absent"}
    points = searched(verdicts)
    assert ends(points) == ("5.7.29", "8.0.15")
    assert "8.0.12 between them cannot be told" in answer(VERSIONS, points)


def test_the_search_stops_when_it_is_told_to():
    answers = iter([point("5.7.19", "shows"), None])
    assert len(search(VERSIONS, lambda *_: next(answers))) == 1


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ({"5.7.19": "shows", "8.0.31": "absent"}, "5.7.19 is the last version that shows it"),
        ({"5.7.19": "absent", "8.0.31": "absent"}, "None of the versions"),
        ({"5.7.19": "shows", "8.0.31": "shows"}, "Every version"),
    ],
)
def test_the_answer_says_what_was_found(verdicts, words):
    assert words in answer(list(verdicts), [point(v, found) for v, found in verdicts.items()])


def test_versions_order_as_versions_and_not_as_text():
    points = [point("5.7.9", "shows"), point("5.7.10", "absent")]
    assert ends(points) == ("5.7.9", "5.7.10")


def _has_an_archive(version: str) -> bool:
    return catalog.find(version).archive is not None


def test_only_what_this_host_can_run_is_a_candidate():
    assert candidates_of("5.7.22", "8.0.15", _has_an_archive) == [
        "5.7.22",
        "5.7.29",
        "8.0.12",
        "8.0.15",
    ]


@pytest.mark.parametrize(
    ("bad", "good", "words"),
    [
        ("8.0.31", "5.7.22", "is not older than"),
        ("5.7.22", "5.7.22", "is not older than"),
        ("4.1", "8.0.31", "not in the catalog"),
        ("5.7.38", "8.0.12", "fewer than two versions"),
    ],
)
def test_ends_that_cannot_be_searched_are_refused(bad, good, words):
    with pytest.raises(UsageError, match=words):
        candidates_of(bad, good, _has_an_archive)


def test_each_version_is_two_cells_with_a_claim_of_its_own():
    bug = scenario.load("bug-73056")
    derived = derive(bug, ["5.7.22", "8.0.31"], Request(scenario="bug-73056"))
    cells = scenario.cells(derived)
    assert len(cells) == 4
    assert {c.levels["slow_query_log"] for c in cells} == {"on"}
    assert [c.id for c in derived.claims] == ["shows_5.7.22", "shows_8.0.31"]
    assert derived.max_trials > derived.trials
