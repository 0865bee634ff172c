"""What a trial put on its link, and claims about how full it was."""

import pytest
from trial_factory import timed

from mysqlprof.attribution import load_rules
from mysqlprof.link_types import LinkCheck
from mysqlprof.links import Line
from mysqlprof.model import ClaimResult, TrialResult
from mysqlprof.scenario import cells, load
from mysqlprof.topologies.link import Shape, Traffic
from mysqlprof.topologies.namespaces import Namespace, Network
from mysqlprof.verdict import Measured, judge_run

CELL = "before_50mbit_plain_threads-16"
NETWORK = Network(Namespace("server", 1, "198.18.0.1"), Namespace("client", 1, "198.18.0.2"))


def line(link: str) -> Line:
    shape = Shape.parse(link)
    check = LinkCheck(link=link, rate_bps=shape.rate_bps, to_client_bps=96e6, to_server_bps=90e6)
    return Line(NETWORK, shape, check)


def traffic(down: Traffic, up: Traffic) -> dict[str, float]:
    return {
        "to_client_wire_bytes": down.wire_bytes,
        "to_client_payload_bytes": down.payload_bytes,
        "to_server_wire_bytes": up.wire_bytes,
        "to_server_payload_bytes": up.payload_bytes,
    }


def test_full_frames_leave_the_known_share_to_the_payload():
    assert Traffic(1514 * 1000, 1000).payload_bytes / (1514 * 1000) == pytest.approx(0.956, 1e-3)


def test_a_full_second_of_frames_fills_the_link():
    spent = traffic(Traffic(12_500_000, 8256), Traffic(660_000, 10_000))
    figures = line("100mbit").figures(1000.0, 250, spent)
    assert figures["wire_kb_per_unit"] == pytest.approx(13_160 / 250)
    assert figures["link_of_rate"] == pytest.approx(0.956, rel=1e-3)
    assert figures["link_mbit_per_s"] == pytest.approx(95.6, rel=1e-3)
    assert figures["link_utilisation"] == pytest.approx(95.6 / 96, rel=1e-3)


def test_the_busier_direction_is_held_against_its_own_stream():
    up = traffic(Traffic(66, 1), Traffic(9_000_000, 0))
    assert line("100mbit").figures(1000.0, 1, up)["link_utilisation"] == pytest.approx(0.8)


def test_an_unlimited_link_has_no_share_of_a_rate():
    spent = traffic(Traffic(1000, 1), Traffic(100, 1))
    assert "link_of_rate" not in line("unlimited").figures(10.0, 1, spent)


def full(shares: list[float]) -> list[TrialResult]:
    return [
        trial.model_copy(update={"metrics": {"link_of_rate": share}})
        for trial, share in zip(timed([1000.0] * len(shares), CELL), shares, strict=True)
    ]


def claim(trials: list[TrialResult]) -> ClaimResult:
    scenario = load("bandwidth")
    judged = judge_run(Measured(scenario, cells(scenario), trials), load_rules())
    (found,) = [one for one in judged.claims if one.id == "link_is_full"]
    return found


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        ([0.94, 0.95, 0.95, 0.94], "holds"),
        ([0.5, 0.52, 0.51, 0.5], "does_not_hold"),
        ([0.5, 0.95, 0.95, 0.95], "cannot_tell"),
        ([0.95, 0.95], "cannot_tell"),
    ],
)
def test_a_claim_about_a_figure_is_judged_by_its_trials(shares, verdict):
    assert claim(full(shares)).verdict == verdict


def test_a_claim_about_a_figure_says_what_was_measured_and_where():
    assert claim(full([0.94, 0.95, 0.96])).measured == f"95.0 % [94.0, 96.0] in {CELL}"
    assert claim(timed([1.0] * 5, CELL)).measured == "not measured"
