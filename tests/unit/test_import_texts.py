"""Folded text, bpftrace's maps, and telling kinds of files apart."""

import gzip
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mysqlprof.formats.bpftrace import BpftraceReader
from mysqlprof.formats.folded import FoldedReader, parse_line
from mysqlprof.formats.problems import Problems
from mysqlprof.formats.sniff import HEAD_BYTES, kind_of
from mysqlprof.formats.stream import CHUNK_BYTES, chunks

DATA = Path(__file__).parent.parent / "data" / "import"


def captured(name: str) -> bytes:
    return gzip.decompress((DATA / f"{name}.gz").read_bytes())


def read_folded(text: bytes, chunk: int = 4096) -> FoldedReader:
    reader = FoldedReader(Problems())
    for start in range(0, len(text), chunk):
        reader.feed(text[start : start + chunk])
    reader.finish()
    return reader


def read_maps(text: bytes, name: str = "") -> tuple[BpftraceReader, Problems]:
    problems = Problems()
    reader = BpftraceReader(problems, name)
    for start in range(0, len(text), 1000):
        reader.feed(text[start : start + 1000])
    reader.finish()
    return reader, problems


# --- folded --------------------------------------------------------------------------------------


def test_bcc_delimited_text_keeps_its_counts_and_marks_the_kernel():
    text = captured("bcc-delimited.folded")
    reader = read_folded(text)
    assert sum(reader.counts.values()) == 701
    assert sum(reader.counts.values()) == sum(int(line.split()[-1]) for line in text.splitlines())
    assert not any(b"-" in stack.split(b";") for stack in reader.counts)
    assert any(b";asm_exc_page_fault_[k];exc_page_fault_[k]" in stack for stack in reader.counts)


def test_another_profilers_folded_text_keeps_its_counts():
    text = captured("py-spy.folded")
    reader = read_folded(text)
    assert kind_of(text) == "folded"
    assert sum(reader.counts.values()) == sum(int(line.split()[-1]) for line in text.splitlines())
    assert any(b"worker (w.py:5);fib (w.py:2)" in stack for stack in reader.counts)


@pytest.mark.parametrize(
    ("line", "parsed"),
    [
        (b"a;b 12", (b"a;b", 12)),
        (b"operator new(unsigned long);x y 3\r", (b"operator new(unsigned long);x y", 3)),
        (b'process 7:"mysqld";f (x.py:12) 3.0', (b'process 7:"mysqld";f (x.py:12)', 3)),
        (b"a;b\t12", (b"a;b", 12)),
        (b"a;-;b;c_[k] 1", (b"a;b_[k];c_[k]", 1)),
        (b"a;--;b 1", (b"a;b_[k]", 1)),
        (b"a;b 1.5", None),
        (b"a;b -3", None),
        (b"a;b", None),
        (b" 12", None),
        (b"a;b 1e5", None),
        (b"a;b " + b"9" * 5000, None),
    ],
)
def test_folded_lines(line, parsed):
    assert parse_line(line) == parsed


def test_broken_folded_lines_are_named_and_the_rest_adds_up():
    problems = Problems()
    reader = FoldedReader(problems)
    reader.feed(b"a;b 1\n\nnonsense\na;b 2\na;c 1.5")
    reader.finish()
    assert reader.counts == {b"a;b": 3}
    assert [words.partition(":")[0] for words in problems.first] == ["line 3", "line 5"]


# --- bpftrace ------------------------------------------------------------------------------------


def test_captured_maps_add_up_and_the_cut_off_entry_is_reported():
    text = captured("bpftrace.txt")
    reader, problems = read_maps(text)
    printed = sum(
        int(line.rpartition(b": ")[2]) for line in text.splitlines() if line.startswith(b", ")
        and b"]: " in line
    )  # fmt: skip
    assert sum(reader.counts.values()) == printed == 217
    assert problems.first == ["line 4000: the text ends inside an entry, which is left out"]


def test_frames_stand_outermost_first_with_the_kernel_below_the_user():
    text = b"""Attaching 2 probes...

@[
    __schedule+980
    entry_SYSCALL_64_after_hwframe+118
,
    read_events(THD*)+25
    0x7f83ee0b1234
    start_thread+773
, mysqld, 42]: 12
"""
    reader, problems = read_maps(text)
    assert reader.counts == {
        b"mysqld;42;start_thread;[unknown];read_events(THD*)"
        b";entry_SYSCALL_64_after_hwframe_[k];__schedule_[k]": 12
    }
    assert problems.count == 0


def test_a_user_stack_alone_is_not_taken_for_the_kernels():
    reader, _ = read_maps(b"@[, \n    inner+1\n    main+2\n, mysqld]: 3\n")
    assert reader.counts == {b"mysqld;main;inner": 3}


def test_maps_are_not_mixed():
    text = b"@a[\n    f+1\n]: 3\n@b[\n    g+1\n]: 4\n@b[\n    h+1\n]: 5\n"
    reader, _ = read_maps(text)
    assert (reader.counts, dict(reader.other_maps)) == ({b"f": 3}, {"@b": 2})
    assert read_maps(text, "@b")[0].counts == {b"g": 4, b"h": 5}


def test_a_histogram_is_reported_and_left_out():
    _, problems = read_maps(b"@[\n    f+1\n]:\n[1, 2)    5 |@@@@|\n")
    assert problems.count == 2


# --- kinds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mysqld.perf-script.txt", "perf script"),
        ("header-and-records.perf-script.txt", "perf script"),
        ("java.perf-script.txt", "perf script"),
        ("no-binary.perf-script.txt", "perf script, sparse"),
        ("no-comm.perf-script.txt", "perf script, sparse"),
        ("one-line.perf-script.txt", "perf script, no stacks"),
        ("bcc-delimited.folded", "folded"),
        ("bpftrace.txt", "bpftrace"),
    ],
)
def test_captured_files_are_told_by_their_content(name, kind):
    assert kind_of(captured(name)[:HEAD_BYTES]) == kind


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"", "empty"),
        (b"\n\n  \n", "empty"),
        (b"\x7fELF\x02\x01", "ELF"),
        (b"<svg xmlns='x'>", "SVG"),
        (b'{"profiles": []}', "JSON"),
        (b"\x28\xb5\x2f\xfd\x00", "zstd"),
        (b"a;b 3 4\na;c 5 6\n", "two counts"),
        (b"\x00\x01\x02\x03", "binary"),
        (b"Dear Sir,\nno profile.\n", "first line is 'Dear Sir"),
    ],
)
def test_what_is_no_profile_is_named(head, words):
    with pytest.raises(ValueError, match=words):
        kind_of(head)


# --- gzip ----------------------------------------------------------------------------------------


class _File:
    def __init__(self, data: bytes, size: int = 1000) -> None:
        self._data, self._size = data, size

    def read(self, size: int = -1) -> bytes:
        chunk, self._data = self._data[: self._size], self._data[self._size :]
        return chunk


@given(st.binary(max_size=5000), st.binary(max_size=500), st.integers(1, 700))
@settings(max_examples=25, deadline=None)
def test_gzip_members_and_plain_bytes_come_through(first, second, size):
    packed = gzip.compress(first) + gzip.compress(second) + b"\x00" * 7
    assert b"".join(chunks(_File(packed, size))) == first + second
    if not first.startswith(b"\x1f\x8b"):
        assert b"".join(chunks(_File(first, size))) == first


def test_a_gzip_bomb_stops_at_the_bound():
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(64)) + packer.flush()
    taken = 0
    with pytest.raises(ValueError, match="more than"):  # noqa: PT012
        for chunk in chunks(_File(bomb, len(bomb)), limit=4 * 2**20):
            taken += len(chunk)
            assert len(chunk) <= CHUNK_BYTES
    assert taken <= 4 * 2**20


@pytest.mark.parametrize("cut", [12, -4, -9])
def test_gzip_that_is_cut_short_is_an_error(cut):
    with pytest.raises(ValueError, match="cut short"):
        list(chunks(_File(gzip.compress(b"mysqld;a 1\n" * 1000)[:cut])))


def test_broken_gzip_is_an_error():
    with pytest.raises(ValueError, match="broken"):
        list(chunks(_File(b"\x1f\x8b" + b"nonsense" * 10)))


@pytest.mark.parametrize(
    "line", [b"a" + b" " * 300_000 + b"b", b"a;" * 150_000 + b"b 1", b"@[" * 150_000]
)
def test_no_line_takes_quadratic_time(line):
    start = time.perf_counter()
    read_folded(line, 2**20)
    read_maps(b"@[\n" + line + b"\n]: 3\n")
    assert time.perf_counter() - start < 5
