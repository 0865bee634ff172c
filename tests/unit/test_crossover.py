"""The rate at which compression stops to pay, on ratios whose crossing is known."""

import numpy as np
import pytest
from trial_factory import timed

from mysqlprof.crossover import crossings, crossover_of
from mysqlprof.errors import UsageError
from mysqlprof.scenario import cells, load
from mysqlprof.verdict import Measured

RATES = {"50mbit": 50_000_000, "100mbit": 100_000_000, "200mbit": 200_000_000}
PACE = (0.98, 1.0, 1.01, 0.99, 1.02)


def measured(plain_ms: dict[str, float], compressed_ms: dict[str, float]) -> Measured:
    scenario = load("bandwidth")
    trials = []
    for link in plain_ms:
        for protocol, times in (("plain", plain_ms), ("compressed", compressed_ms)):
            cell = f"before_{link}_{protocol}_threads-16"
            trials += timed([times[link] * pace for pace in PACE], cell)
    return Measured(scenario, cells(scenario), trials)


def test_a_line_crosses_where_geometry_says():
    # From 1/2 at 100 to 2 at 400: 1 at the geometric mean.
    assert crossings(np.array([100.0, 400.0]), np.array([[0.5, 2.0]])) == pytest.approx([200.0])


def test_what_lies_beyond_all_rates_is_infinite():
    found = crossings(np.array([1.0, 2.0, 4.0]), np.array([[0.5, 0.6, 0.9], [1.1, 1.2, 1.5]]))
    assert found.tolist() == [np.inf, -np.inf]


def test_the_first_crossing_counts_and_a_point_on_the_line_is_one():
    rates = np.array([1.0, 2.0, 4.0, 8.0])
    assert crossings(rates, np.array([[0.5, 1.0, 0.9, 2.0]])) == pytest.approx([2.0])


def test_a_full_links_crossover_is_found_between_the_rates():
    # Plain time goes as one over the rate and compressed is bound by a CPU at 1,000 ms: they meet
    # where plain takes as long, at 50 Mbit/s * 2,400 / 1,000.
    plain = {"50mbit": 2400.0, "100mbit": 1200.0, "200mbit": 600.0}
    found = crossover_of(measured(plain, dict.fromkeys(plain, 1000.0)), RATES)
    assert found is not None
    assert found.rate_bps == pytest.approx(120e6, rel=0.001)
    assert found.ci_low_bps is not None
    assert found.ci_high_bps is not None
    assert 114e6 < found.ci_low_bps < 120e6 < found.ci_high_bps < 126e6
    assert [point.link for point in found.points] == ["50mbit", "100mbit", "200mbit"]
    assert found.sentence.startswith("With 16 threads, compression pays below 120 Mbit/s (95 %")


def test_a_crossover_beyond_the_links_is_not_made_up():
    plain = {"50mbit": 500.0, "100mbit": 400.0}
    above = crossover_of(measured(plain, {"50mbit": 900.0, "100mbit": 900.0}), RATES)
    assert above is not None
    assert (above.rate_bps, above.ci_low_bps, above.ci_high_bps) == (None, None, None)
    assert "on none of the measured links, from 50mbit on" in above.sentence
    below = crossover_of(measured(plain, {"50mbit": 100.0, "100mbit": 100.0}), RATES)
    assert below is not None
    assert "on all measured links, up to 100mbit" in below.sentence


def test_an_interval_may_end_beyond_the_links():
    # At 50 Mbit/s the trials cannot tell which is faster.
    plain = {"50mbit": 1010.0, "100mbit": 500.0}
    found = crossover_of(measured(plain, dict.fromkeys(plain, 1000.0)), RATES)
    assert found is not None
    assert found.rate_bps == pytest.approx(50.5e6, rel=0.01)
    assert found.ci_low_bps is None
    assert "interval under 50mbit to " in found.sentence


def test_one_link_is_too_few():
    assert crossover_of(measured({"50mbit": 2.0}, {"50mbit": 1.0}), RATES) is None
    assert crossover_of(measured({}, {}), RATES) is None


def test_a_false_rate_is_refused_when_the_file_is_read(tmp_path):
    text = _bandwidth().replace('link = "50mbit"', 'link = "50 mbit"', 1)
    path = tmp_path / "false.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="link"):
        load(str(path))


def test_a_crossover_of_unknown_levels_is_refused(tmp_path):
    text = _bandwidth().replace('level = "compressed"', 'level = "zipped"', 1)
    path = tmp_path / "false.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="zipped"):
        load(str(path))


def _bandwidth() -> str:
    from importlib.resources import files

    return files("mysqlprof.scenarios").joinpath("bandwidth.toml").read_text()
