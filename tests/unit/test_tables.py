"""A run's tables as pandas DataFrames."""

import pytest
from report_factory import make_run

from mysqlprof import tables
from mysqlprof.errors import UsageError


def test_trials_keep_levels_as_text_and_times_as_numbers(tmp_path):
    run_dir = make_run(tmp_path / "run")
    frame = tables.trials(run_dir.path)
    assert set(frame["level.slow_query_log"]) == {"on", "off"}
    medians = frame[frame.kind == "timed"].groupby("cell").elapsed_ms.median()
    for cell in run_dir.read_run().cells:
        if cell.trials:
            assert medians[cell.id] == pytest.approx(cell.median_ms, rel=1e-4)


def test_a_profile_s_samples_sum_to_its_total(tmp_path):
    run_dir = make_run(tmp_path / "run")
    for info in run_dir.profiles():
        assert tables.profile(run_dir.path, info.cell).samples.sum() == info.samples


def test_what_is_no_run_is_a_sentence(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        tables.trials(tmp_path)
