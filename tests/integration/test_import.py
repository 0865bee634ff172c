"""Real recordings imported: events, packing, symbols of another machine, a browser's view."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from mysqlprof.errors import PartialData, UsageError
from mysqlprof.formats.perf_script import FoldOptions
from mysqlprof.importing.read import Imported, ReadOptions, read_profiles
from mysqlprof.importing.symbols import symbols_at
from mysqlprof.probes.fold import Symbols

pytestmark = pytest.mark.perf

SOURCE = Path(__file__).parent.parent / "data" / "split7030.c"
FLAGS = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-Wl,--build-id"]


@pytest.fixture(scope="module")
def perf() -> str:
    found = shutil.which("perf")
    if found is None:
        pytest.skip("perf is missing: sudo apt-get install linux-perf")
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the program in it."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is missing: sudo apt-get install gcc libc6-dev")
    folder = tmp_path_factory.mktemp("import")
    subprocess.run(["gcc", *FLAGS, str(SOURCE), "-o", str(folder / "split7030")], check=True)
    return folder


def record(perf: str, place: Path, name: str, *options: str) -> Path:
    """Its build-id cache is in the directory, too, not in the user's home."""
    output = place / name
    cached = [perf, "--buildid-dir", str(place / "buildids")]
    done = subprocess.run(
        [*cached, "record", "-F", "999", *options, "-o", output, "--", place / "split7030", "0.3"],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        pytest.skip(f"perf cannot record so here: {done.stderr.strip().splitlines()[-1]}")
    return output


@pytest.fixture(scope="module")
def recording(perf: str, place: Path) -> Path:
    return record(perf, place, "perf.data", "-g")


def script_text(perf: str, recording: Path) -> bytes:
    command = [perf, "script", "-f", "--no-inline", "-i", str(recording)]
    return subprocess.run(command, capture_output=True, check=True).stdout


def only(profiles: list[Imported]) -> Imported:
    (profile,) = profiles
    return profile


def has(profile: Imported, frame: bytes) -> bool:
    return any(frame in stack.split(b";") for stack in profile.counts)


def test_perf_data_and_its_text_have_the_same_samples(perf, recording, tmp_path):
    data = only(read_profiles(recording, ReadOptions()))
    text = tmp_path / "perf.txt"
    text.write_bytes(script_text(perf, recording))
    by_sample = ReadOptions(FoldOptions(by_period=False))
    read = only(read_profiles(text, by_sample))
    assert data.samples == data.weight == read.samples == read.weight > 0
    assert data.unit == read.unit == "samples"
    assert only(read_profiles(text, ReadOptions())).unit in ("ns", "periods")
    as_text = only(read_profiles(recording, ReadOptions(by_sample.fold, as_text=True)))
    assert as_text.counts == read.counts


def test_each_event_becomes_a_profile(perf, place):
    options = ("-g", "-e", "cpu-clock:u", "-e", "page-faults")
    recording = record(perf, place, "two.data", *options)
    profiles = read_profiles(recording, ReadOptions())
    assert {profile.event for profile in profiles} == {"cpu-clock:u", "page-faults"}
    one = read_profiles(recording, ReadOptions(FoldOptions(event="page-faults")))
    assert only(one).counts == next(p.counts for p in profiles if p.event == "page-faults")
    with pytest.raises(UsageError, match="no event 'branches'"):
        read_profiles(recording, ReadOptions(FoldOptions(event="branches")))


def test_gzip_and_perfs_own_compression_change_nothing(perf, place, recording):
    packed = place / "perf.data.gz"
    packed.write_bytes(gzip.compress(recording.read_bytes()))
    plain = only(read_profiles(recording, ReadOptions()))
    assert only(read_profiles(packed, ReadOptions())).counts == plain.counts
    compressed = only(read_profiles(record(perf, place, "z.data", "-g", "-z"), ReadOptions()))
    assert compressed.samples > 0
    assert has(compressed, b"seventy")


def test_a_recording_without_stacks_is_flat(perf, place):
    flat = only(read_profiles(record(perf, place, "flat.data"), ReadOptions()))
    assert flat.kind == "perf script, no stacks"
    assert has(flat, b"seventy")


def test_dwarf_stacks(perf, place):
    dwarf = record(perf, place, "dwarf.data", "--call-graph", "dwarf,8192")
    assert has(only(read_profiles(dwarf, ReadOptions())), b"main")


def test_symbols_come_from_a_directory_or_from_perfs_archive(perf, place):
    """As on another machine: the program is not where it was when it was recorded."""
    recording = record(perf, place, "away.data", "-g")
    cached = [perf, "--buildid-dir", str(place / "buildids")]
    done = subprocess.run([*cached, "archive", recording], capture_output=True, text=True)
    program = place / "split7030"
    below = place / "symfs" / program.relative_to("/")
    below.parent.mkdir(parents=True)
    program.rename(below)
    (place / "buildids").rename(place / "gone")
    try:
        nowhere = Symbols(buildid_dir=place / "empty")
        assert not has(only(read_profiles(recording, ReadOptions(symbols=nowhere))), b"seventy")
        with symbols_at(place / "symfs", None) as found:
            assert has(only(read_profiles(recording, ReadOptions(symbols=found))), b"seventy")
        if done.returncode != 0:
            pytest.skip(f"perf archive does not work here: {done.stderr.strip()[-200:]}")
        with symbols_at(None, Path(f"{recording}.tar.bz2")) as found:
            assert has(only(read_profiles(recording, ReadOptions(symbols=found))), b"seventy")
    finally:
        below.rename(program)
        (place / "gone").rename(place / "buildids")


def test_a_recording_that_was_cut_short_is_refused_with_a_reason(recording, tmp_path):
    cut = tmp_path / "cut.data"
    cut.write_bytes(recording.read_bytes()[:200])
    with pytest.raises(PartialData, match=r"incompatible file format|failed|no samples"):
        read_profiles(cut, ReadOptions())
