"""ShardingSphere's two ways: cells, URLs, claims about counters, jars that are pinned together."""

import hashlib
from importlib.resources import files

import pytest

from mysqlprof import packages, scenario
from mysqlprof.drivers.connector_j import jdbc_url
from mysqlprof.errors import EnvironmentLacks, UsageError
from mysqlprof.model import Endpoint, TrialResult
from mysqlprof.rules import load_rules
from mysqlprof.verdict import Measured, judge_run

PUZZLE = scenario.load("proxy-vs-jdbc")
CELLS = scenario.cells(PUZZLE)
ENDPOINT = Endpoint(host="127.0.0.1", port=3306, user="somebody", password="secret")


def test_a_level_names_the_route_and_another_the_driver():
    assert len(CELLS) == 18
    ways = {cell.levels["path"]: (cell.route, cell.driver_name) for cell in CELLS}
    assert ways == {
        "direct": ("direct", ""),
        "sharding-jdbc": ("direct", "sharding-jdbc"),
        "sharding-proxy": ("sharding-proxy", ""),
    }


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("default", None),
        (True, "useServerPrepStmts=true"),
        (False, "useServerPrepStmts=false"),
    ],
)
def test_by_default_the_url_says_nothing_of_who_prepares(asked, said):
    url = jdbc_url(ENDPOINT, "8.0.33", {"server_prepare": asked})
    assert (said in url) if said else ("useServerPrepStmts" not in url)


def trials(executes: dict[str, list[int]]) -> list[TrialResult]:
    return [
        TrialResult(
            cell=cell.id,
            trial=number,
            round=number,
            kind="timed",
            profiled=False,
            elapsed_ms=20.0,
            prepare_ms=1.0,
            rows_written=500,
            status={"Com_stmt_execute": count},
        )
        for cell in CELLS
        for number, count in enumerate(executes.get(cell.levels["path"], [0, 0, 0]))
    ]


def counted(found: list[TrialResult], name: str):
    judged = judge_run(Measured(PUZZLE, CELLS, found), load_rules())
    return next(claim for claim in judged.claims if claim.id == name)


def test_a_claim_about_a_counter_holds_when_all_trials_say_so():
    every = {path: [1, 1, 1] for path in ("direct", "sharding-jdbc", "sharding-proxy")}
    claim = counted(trials(every), "executes_where_slow")
    assert (claim.verdict, claim.expected) == ("holds", "1 in every trial")
    assert claim.measured == "; ".join(["1 in each of 3 trials"] * 3)
    assert counted(trials({}), "queries_where_normal").verdict == "holds"


def test_one_trial_that_counted_otherwise_is_enough():
    claim = counted(trials({"sharding-proxy": [0, 1, 0]}), "queries_where_normal")
    assert claim.verdict == "does_not_hold"
    assert "0 or 1 in each of 3 trials" in claim.measured


def test_a_counter_that_was_not_read_tells_nothing():
    silent = [trial.model_copy(update={"status": {}}) for trial in trials({})]
    claim = counted(silent, "queries_where_normal")
    assert (claim.verdict, claim.reason) == (
        "cannot_tell",
        "Com_stmt_execute was not counted there",
    )


def fetched(monkeypatch) -> None:
    def fetch(_: str, folder):
        folder.mkdir()
        for name in ("b.jar", "a.jar"):
            (folder / name).write_text(name)
        return sorted(folder.glob("*.jar"))

    monkeypatch.setattr(packages, "fetch_maven_tree", fetch)


def test_jars_are_pinned_together_and_fetched_once(tmp_path, monkeypatch):
    fetched(monkeypatch)
    lines = [
        f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in ("a.jar", "b.jar")
    ]
    pin = hashlib.sha256("".join(lines).encode()).hexdigest()
    said: list[str] = []
    for _ in range(2):
        jars = packages.pinned_maven_tree("g:a:1", pin, tmp_path / "home", said.append)
        assert [jar.name for jar in jars] == ["a.jar", "b.jar"]
    assert said == ["fetching g:a:1 and what it needs"]


def test_jars_of_another_sum_are_named_and_not_kept(tmp_path, monkeypatch):
    fetched(monkeypatch)
    with pytest.raises(EnvironmentLacks, match=r"the 2 files of g:a:1 have SHA-256 \w+ together"):
        packages.pinned_maven_tree("g:a:1", "0" * 64, tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_claim_about_a_status_variable_needs_a_number():
    text = files("mysqlprof.scenarios").joinpath("proxy-vs-jdbc.toml").read_text()
    with pytest.raises(UsageError, match="needs `cells` and a number"):
        scenario.parse(text.replace("equals = 1", "above = 1.0"), "wrong.toml")


def test_a_published_time_of_no_cell_is_refused():
    text = files("mysqlprof.scenarios").joinpath("proxy-vs-jdbc.toml").read_text()
    wrong = text.replace('cell = { path = "sharding-proxy"', 'cell = { path = "mycat"')
    with pytest.raises(UsageError, match="no factor 'path' has a level 'mycat'"):
        scenario.parse(wrong, "wrong.toml")
