"""Real recordings of a program whose profile is known, folded by fold()."""

import math
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from mysqlprof.errors import EnvironmentLacks, PartialData, UsageError
from mysqlprof.probes import fold as fold_module
from mysqlprof.probes.fold import fold
from mysqlprof.probes.perf import PerfOptions, PerfRecording

pytestmark = pytest.mark.perf

SOURCE = Path(__file__).parent.parent / "data" / "split7030.c"
RATE_HZ = 999
SECONDS = 2


@pytest.fixture(scope="module")
def perf() -> str:
    found = shutil.which("perf")
    if found is None:
        pytest.skip("perf is missing: sudo apt-get install linux-perf")
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is missing: sudo apt-get install gcc libc6-dev")
    built = tmp_path_factory.mktemp("split") / "split7030"
    flags = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"]
    subprocess.run(["gcc", *flags, str(SOURCE), "-o", str(built)], check=True)
    return built


def record(perf: str, program: Path, output: Path, *options: str, seconds: float = 0.3) -> Path:
    done = subprocess.run(
        [perf, "record", "-F", str(RATE_HZ), *options, "-o", output, "--", program, str(seconds)],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        pytest.skip(f"perf cannot record here: {done.stderr.strip().splitlines()[-1]}")
    return output


@pytest.fixture(scope="module")
def recording(perf: str, program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("recording") / "perf.data"
    return record(perf, program, output, "-g", seconds=SECONDS)


def test_seventy_to_thirty_is_found(recording: Path, perf: str) -> None:
    report = fold(recording, perf)
    inclusive = report.stacks.inclusive_counts()
    seventy, thirty = inclusive["seventy"], inclusive["thirty"]
    # A shared machine gives the program less than a whole CPU; below this the margin says little.
    assert seventy + thirty > 200
    share = seventy / (seventy + thirty)
    # Samples fall as draws with probability 0.7 do: four standard errors are left in 1 of 16,000
    # runs. One point more for the timer's step, which is no random draw.
    margin = 4 * math.sqrt(0.7 * 0.3 / (seventy + thirty)) + 0.01
    assert share == pytest.approx(0.7, abs=margin)


def test_the_probe_samples_its_windows_and_nothing_else(perf: str, program: Path) -> None:
    """The probe that profiles servers, on a process that runs before, between and after windows."""
    options = PerfOptions(perf, "", "cpu-clock", RATE_HZ, "fp")
    running = subprocess.Popen([program, "30"])
    try:
        with PerfRecording(options, running.pid) as recording:
            for _ in range(3):
                with recording.window():
                    time.sleep(0.5)
                time.sleep(0.2)
            report = fold(recording.finish(), perf)
            window_s = recording.window_s
    except EnvironmentLacks as error:
        pytest.skip(f"{error.message}: {error.hint}")
    finally:
        running.kill()
        running.wait()
    assert 1.5 <= window_s < 2.5
    # The program is one thread: more samples than its windows have periods came from outside.
    assert 0.2 * RATE_HZ * window_s < report.samples < 1.05 * RATE_HZ * window_s + 3
    inclusive = report.stacks.inclusive_counts()
    share = inclusive["seventy"] / (inclusive["seventy"] + inclusive["thirty"])
    assert share == pytest.approx(0.7, abs=4 * math.sqrt(0.7 * 0.3 / report.samples) + 0.02)


def test_a_recording_folded_in_parts_is_the_same(
    recording: Path, perf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fold(recording, perf)
    monkeypatch.setattr(fold_module, "_WORTH_PARTING", 0)
    monkeypatch.setattr(fold_module.os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert len(fold_module._periods(recording, perf)) == 3
    assert fold(recording, perf) == whole


def test_nothing_else_takes_the_time(recording: Path, perf: str) -> None:
    stacks = fold(recording, perf).stacks
    known = stacks.with_frame(lambda frame: frame in ("seventy", "thirty"))
    assert known.total / stacks.total > 0.95


def test_stacks_are_whole_and_counts_agree(recording: Path, perf: str) -> None:
    report = fold(recording, perf)
    assert report.stacks.total == report.samples
    assert report.lost == 0
    work = report.stacks.with_frame(lambda frame: frame == "seventy")
    callers = {stack[stack.index("seventy") - 1] for stack, _ in work.items()}
    assert any(caller in callers for caller in ("main", "__libc_start_call_main"))


def test_a_recording_without_stacks_is_refused(perf: str, program: Path, tmp_path: Path) -> None:
    flat = record(perf, program, tmp_path / "flat.data")
    with pytest.raises(PartialData) as caught:
        fold(flat, perf)
    assert "perf record -g" in caught.value.hint


def test_another_event_is_refused_with_those_there_are(recording: Path, perf: str) -> None:
    with pytest.raises(UsageError, match="no event 'instructions'; there are: "):
        fold(recording, perf, event="instructions")


def test_a_process_that_is_not_there_has_no_samples(recording: Path, perf: str) -> None:
    with pytest.raises(PartialData, match="no samples of process 1"):
        fold(recording, perf, pid=1)


def test_one_process_is_picked_out(perf: str, program: Path, tmp_path: Path) -> None:
    """Of two that run already when the recording of all begins."""
    output = tmp_path / "perf.data"
    running = [subprocess.Popen([program, "3"]) for _ in range(2)]
    try:
        command = [perf, "record", "-a", "-g", "-F", "499", "-o", str(output), "sleep", "1"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"perf cannot record all CPUs: {done.stderr.strip().splitlines()[-1]}")
        one, other = (fold(output, perf, pid=process.pid) for process in running)
        whole = fold(output, perf, commands=True)
    finally:
        for process in running:
            process.kill()
            process.wait()
    named = whole.stacks.select(lambda stack: stack[0] == program.name)
    assert one.samples + other.samples == named.total
    assert {one.samples, other.samples}.isdisjoint({0, named.total})


@pytest.mark.parametrize("content", [b"", b"PERFILE2 and no more", b"\x00" * 4096])
def test_other_files_are_refused(perf: str, tmp_path: Path, content: bytes) -> None:
    broken = tmp_path / "perf.data"
    broken.write_bytes(content)
    with pytest.raises(PartialData, match="perf report failed"):
        fold(broken, perf)


def test_a_recording_cut_short_is_refused_or_agrees(
    recording: Path, perf: str, tmp_path: Path
) -> None:
    cut = tmp_path / "perf.data"
    cut.write_bytes(recording.read_bytes()[: recording.stat().st_size // 2])
    with pytest.raises(PartialData):
        fold(cut, perf)


def test_a_missing_file_and_a_missing_perf_are_named(tmp_path: Path, recording: Path) -> None:
    with pytest.raises(UsageError, match="is not a file"):
        fold(tmp_path / "none.data", "perf")
    with pytest.raises(EnvironmentLacks) as caught:
        fold(recording, str(tmp_path / "perf"))
    assert "linux-perf" in caught.value.hint
