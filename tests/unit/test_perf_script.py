"""Folding perf script's text: as stackcollapse-perf.pl, whatever the text."""

import gzip
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import perl_rules
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mysqlprof.formats import perf_script
from mysqlprof.formats.perf_frame import FrameOptions
from mysqlprof.formats.perf_script import Dialect, FoldOptions, OneLineSamples, PerfScriptFolder
from mysqlprof.formats.problems import Problems

DATA = Path(__file__).parent.parent / "data" / "import"
GOLDEN = ["header-and-records", "inlined", "java", "mysqld", "pid-tid", "two-events"]


def captured(name: str) -> bytes:
    return gzip.decompress((DATA / f"{name}.gz").read_bytes())


def fold(
    text: bytes,
    options: FoldOptions | None = None,
    *,
    dialect: Dialect = "full",
    chunk: int = 2**20,
) -> tuple[PerfScriptFolder, Problems]:
    problems = Problems()
    folder = PerfScriptFolder(options or FoldOptions(), problems, dialect)
    for start in range(0, len(text), chunk):
        folder.feed(text[start : start + chunk])
    folder.finish()
    return folder, problems


def as_text(counts: dict[bytes, int]) -> bytes:
    return b"".join(b"%s %d\n" % (stack, counts[stack]) for stack in sorted(counts))


ALL = FoldOptions(frames=FrameOptions(kernel=True, jit=True))


@pytest.mark.parametrize("name", GOLDEN)
def test_captured_text_folds_as_stackcollapse_perf_folds_it(name):
    folder, problems = fold(captured(f"{name}.perf-script.txt"), ALL)
    assert as_text(folder.counts) == captured(f"{name}.folded")
    assert problems.count == 0


def test_ids_and_addresses_as_stackcollapse_perf_writes_them():
    options = FoldOptions(tid=True, frames=FrameOptions(addrs=True))
    folder, _ = fold(captured("pid-tid.perf-script.txt"), options)
    assert as_text(folder.counts) == captured("pid-tid.tid-addrs.folded")


def test_only_the_first_event_is_kept_and_the_others_are_counted():
    text = captured("two-events.perf-script.txt")
    folder, _ = fold(text)
    assert (folder.event, folder.samples) == (b"page-faults", 23)
    assert dict(folder.other_events) == {"cpu-clock:u": 56}
    other, _ = fold(text, FoldOptions(event="cpu-clock:u"))
    assert (other.samples, dict(other.other_events)) == (56, {"page-faults": 23})


def test_a_sample_weighs_its_period_or_one():
    text = captured("mysqld.perf-script.txt")
    by_period, _ = fold(text)
    by_sample, _ = fold(text, FoldOptions(by_period=False))
    assert by_period.samples == by_sample.samples == sum(by_sample.counts.values()) == 150
    assert sum(by_period.counts.values()) == 150 * 5_025_125
    assert by_period.weighed
    assert not by_sample.weighed


def test_text_without_thread_ids_or_binaries_is_read_in_the_sparse_dialect():
    for name in ("no-binary.perf-script.txt", "no-comm.perf-script.txt"):
        text = captured(name)
        assert not any(b";" in stack for stack in fold(text)[0].counts)
        folder, problems = fold(text, dialect="sparse")
        assert (folder.samples, sum(folder.counts.values()), problems.count) == (40, 40, 0)


def test_the_sparse_dialect_reads_what_the_full_one_reads():
    text = captured("mysqld.perf-script.txt")
    assert fold(text, dialect="sparse")[0].counts == fold(text)[0].counts


def test_a_recording_without_stacks_has_a_sample_a_line():
    problems = Problems()
    folder = PerfScriptFolder(FoldOptions(), problems)
    reader = OneLineSamples(folder, problems)
    text = captured("one-line.perf-script.txt") + b"nonsense\n"
    for start in range(0, len(text), 100):
        reader.feed(text[start : start + 100])
    reader.finish()
    assert folder.counts == {b"deep;compute": 90_909_090}
    assert problems.first == ["line 10: not a sample with its function: 'nonsense'"]


SAMPLE = (
    b"mysqld 12/13 [001] 1.5:  7 cycles:u: \n\tff inner+0x1 (/bin/m)\n\tfe outer(int) (/bin/m)\n\n"
)


@pytest.mark.parametrize(
    ("comm", "frame", "named"),
    [
        ("mysqld", "ff do_syscall_64+0x5b ([kernel.kallsyms])", b"do_syscall_64_[k]"),
        ("mysqld", "ff xfs_write ([xfs])", b"xfs_write_[k]"),
        ("qemu", "ff vmx_vcpu_run ([guest.kernel.kallsyms])", b"vmx_vcpu_run_[k]"),
        ("mysqld", "ff tcp_sendmsg (/lib/modules/6.1/build/vmlinux)", b"tcp_sendmsg_[k]"),
        ("mysqld", "ff [unknown] ([vdso])", b"[[vdso]]_[k]"),
        ("mysqld", "ff [unknown] ([unknown])", b"[unknown]"),
        ("mysqld", "ff [unknown] (/usr/lib/libc.so.6)", b"[libc.so.6]"),
        ("mysqld", "ff operator new(unsigned long) (/bin/m)", b"operator new"),
        ("mysqld", "ff (anonymous namespace)::f(int) (/bin/m)", None),
        ("mysqld", "ff a::(anonymous namespace)::f(int) (/b)", b"a::(anonymous namespace)::f"),
        ("mysqld", "ff inner (inlined)", b"inner"),
        ("server", "ff net/http.(*Client).Do (/bin/s)", b"net/http.(*Client).Do"),
        ("java", "ff Ljava/util/Map;::get->Ljava/util/K;::eq (/tmp/perf-1.map)",
         b"java/util/Map:::get_[j];java/util/K:::eq_[i]"),
        ("node", "ff RegExp:[&<>\"'] (/tmp/perf-7539.map)", b"RegExp:[&<>]_[j]"),
    ],
)  # fmt: skip
def test_names_of_frames(comm, frame, named):
    folder, _ = fold(f"{comm} 1 1.0: 1 cycles:\n\t{frame}\n\n".encode(), ALL)
    assert list(folder.counts) == [comm.encode() + (b";" + named if named else b"")]


def test_what_is_left_out_is_reported_with_its_line():
    text = SAMPLE + b"nonsense\n\n" + SAMPLE.replace(b"\n\n", b"\n") + SAMPLE + SAMPLE[:-1]
    folder, problems = fold(text)
    assert folder.counts == {b"mysqld;outer;inner": 7, b"mysqld;outer;inner;outer;inner": 7}
    assert problems.first == [
        "line 5: neither a sample's first line nor a frame: 'nonsense'",
        "line 10: no empty line before this sample: it and the one above it are taken for one",
        "line 16: the text ends inside a sample, which is left out",
    ]


def test_line_numbers_hold_across_chunks():
    text = SAMPLE * 1000 + b"nonsense\n\n"
    for chunk in (100, 4096, 2**20):
        _, problems = fold(text, chunk=chunk)
        assert problems.first == [
            "line 4001: neither a sample's first line nor a frame: 'nonsense'"
        ]


def test_many_broken_lines_are_counted_and_a_few_named():
    _, problems = fold(SAMPLE + b"nonsense\n" * 100_000)
    assert problems.count == 100_000
    assert problems.summary()[-1] == "and 99,995 more"


def test_a_stack_of_ten_thousand_frames():
    frames = b"".join(b"\tff f%d (/bin/m)\n" % n for n in range(10_000))
    folder, problems = fold(b"mysqld 1 1.0: 1 cycles:\n" + frames + b"\n")
    (stack,) = folder.counts
    assert stack.count(b";") == 10_000
    assert stack.startswith(b"mysqld;f9999;")
    assert problems.count == 0


def test_samples_and_lines_larger_than_the_buffer(monkeypatch):
    monkeypatch.setattr(perf_script, "_UNFINISHED", 1000)
    frames = b"".join(b"\tff f%d (/bin/m)\n" % n for n in range(500))
    text = b"mysqld 1 1.0: 1 cycles:\n" + frames + b"\n" + SAMPLE.replace(b"cycles:u", b"cycles")
    whole = fold(text, chunk=64)[0].counts
    assert whole == perl_rules.fold(text)
    folder, problems = fold(b"x" * 5000 + b"\n\n" + SAMPLE, chunk=64)
    assert folder.counts == {b"mysqld;outer;inner": 7}
    assert problems.count == 1


@pytest.mark.parametrize(
    "line",
    [
        b"a" * 300_000,
        b"a" + b" " * 300_000 + b"b",
        b"a 1/" + b"1" * 300_000 + b"x",
        b"a 1 " + b": " * 100_000,
        b"  ff " + b" (" * 100_000,
        b"  ff f" + b".(" * 100_000 + b" (x)",
        b"  ff f" + b"+0x" * 100_000 + b" (x)",
        b"  ff " + b"->" * 100_000 + b" (x)",
        b" " * 300_000 + b"x",
    ],
    ids=lambda line: repr(line[:8]),
)
def test_no_line_takes_quadratic_time(line):
    start = time.perf_counter()
    for dialect in ("full", "sparse"):
        fold(SAMPLE + line + b"\n\n", dialect=dialect)
    assert time.perf_counter() - start < 5


# --- any text ------------------------------------------------------------------------------------

HEADERS = st.sampled_from(
    """mysqld 12 1.5: 7 cycles:|mysqld 12/13 [001] 1.5:  9 cycles:u:|java 5 1.5: cycles:
    |ib pg 1/2 [0] 3.3: 12345 cycles: |V8 W 3 [1] 2.2: sched:sw: prev=1|x 1 1.1: 1 cycles:
    |x  1 1.1: 1 cycles:|swapper 0/0 1.1: 5 cycles:|java-x 0 1.0:  00 cycles:|ab 12 x|a:1 2 c:
    |12 13 14 cycles:|- 1 1.2: 4 cycles:|ab  12/034 [0] 1.2: 4 cycles:|a b\tc 1//2 1.1: 3 ::
    |m 1 0.0: PERF_RECORD_MMAP -1/0: [0x1]: x k""".replace("\n    ", "").split("|")
)
FRAMES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["\tffff ", "    7f12 ", "  0 ", "", "f_f  ", "\u00e9 "]),
    st.sampled_from(
        [
            "f",
            "g(int)+0x1",
            "[unknown]",
            "a->b->c",
            "a->",
            "->",
            "(x)",
            "Lo/m;.call(Lx;)V",
            "net/http.(*C).Do",
            "std::x<(a)>",
            "operator->",
            "f+0x",
            "f+0xg",
            " ",
            "R:[&<>\"']",
            "x.(y).z+0x12",
            "b_[i]->c_[i]",
            "j_[j]",
            "a;b",
            "\x00",
            "\u202e",
            "(anonymous namespace)::f(int)",
            "<script>alert(1)</script>",
            "=cmd",
        ]
    ),
    st.sampled_from(
        [
            " (/bin/x)",
            " ([kernel.kallsyms])",
            " ([unknown])",
            " (/tmp/perf-1.map)",
            " (/x/vmlinux)",
            " (inlined)",
            " (/x (deleted))",
            "",
            "  (/bin/y)",
            " ()",
            " ([nf_conntrack])",
            " ([vdso]) x",
            " ([guest.kernel.kallsyms])",
        ]
    ),
)
BITS = st.lists(
    st.sampled_from(["# c", " ", "\t", "\n", "\n\n", "\r", "1.5:", "12/3", ":", "(", ") ", "ab"])
    | st.text(max_size=4),
    max_size=6,
).map("".join)
SAMPLES = st.builds(
    lambda head, frames, end: "\n".join([head, *frames]) + end,
    HEADERS,
    st.lists(FRAMES, max_size=4),
    st.sampled_from(["\n\n", "\n\n", "\n\n\n", "\n", "\n\n\n\n"]),
)
TEXTS = st.lists(SAMPLES | SAMPLES | FRAMES.map("{}\n".format) | BITS, max_size=8).map(
    lambda parts: "".join(parts).encode("utf-8", "surrogatepass")
)
OPTIONS = st.fixed_dictionaries(
    {name: st.booleans() for name in ("pid", "tid", "kernel", "jit", "addrs")}
    | {"event": st.sampled_from([b"", b"", b"cycles:u", b"cycles"])}
)


def options_of(chosen: dict) -> FoldOptions:
    frames = FrameOptions(**{name: chosen[name] for name in ("kernel", "jit", "addrs")})
    return FoldOptions(
        pid=chosen["pid"], tid=chosen["tid"], event=chosen["event"].decode(), frames=frames
    )


PLAIN = dict.fromkeys(("pid", "tid", "kernel", "jit", "addrs"), False) | {"event": b""}


@settings(max_examples=200, deadline=None)
@given(TEXTS, OPTIONS, st.sampled_from([1, 7, 2**20]))
@example(b"x  1 1.1: 1 c:\n\tf g (b)\n\n", PLAIN | {"pid": True}, 1)
@example(b"ab 1/0 1.1: 00 c:\n\tf  (b)\n\n", PLAIN | {"tid": True}, 1)
def test_any_text_folds_by_the_rules(text, chosen, chunk):
    assert fold(text, options_of(chosen), chunk=chunk)[0].counts == perl_rules.fold(text, **chosen)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300) | TEXTS)
def test_no_text_is_too_strange_for_the_other_dialect(text):
    folder, _ = fold(text, dialect="sparse")
    assert all(isinstance(weight, int) for weight in folder.counts.values())


# --- the programs themselves ---------------------------------------------------------------------


def _texts() -> Iterator[bytes]:
    for name in GOLDEN:
        yield captured(f"{name}.perf-script.txt")


def _folded_by(program: str, text: bytes, *options: str) -> bytes:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not on the PATH")
    return subprocess.run([found, *options], input=text, capture_output=True, check=True).stdout


def test_the_rules_are_those_of_the_program():
    """Against FlameGraph's own program, where it is installed."""
    for text in _texts():
        theirs = _folded_by("stackcollapse-perf.pl", text, "--all")
        assert as_text(perl_rules.fold(text, kernel=True, jit=True)) == theirs


@settings(max_examples=60, deadline=None)
@given(TEXTS, OPTIONS)
def test_any_text_folds_as_the_program_folds_it(text, chosen):
    given_options = [f"--{name}" for name, on in chosen.items() if on is True]
    given_options += [f"--event-filter={chosen['event'].decode()}"] * bool(chosen["event"])
    theirs = _folded_by("stackcollapse-perf.pl", text, *given_options)
    assert as_text(fold(text, options_of(chosen))[0].counts) == theirs


@pytest.mark.parametrize("name", sorted(set(GOLDEN) - {"header-and-records"}))
def test_inferno_agrees(name):
    """But for the lines of --show-mmap-events, of which it makes nothing."""
    text = captured(f"{name}.perf-script.txt")
    theirs = _folded_by("inferno-collapse-perf", text, "--all")
    assert as_text(fold(text, ALL)[0].counts) == theirs
