"""bcc at its narrow edge: what its host answers, in a small script's place."""

import sys
from contextlib import contextmanager

import pytest

from mysqlprof import counting, scenario
from mysqlprof.counted_types import CountedFunction, Probed
from mysqlprof.elf import Symbol
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.line_host import line_host
from mysqlprof.model import TrialResult, TrialSpec
from mysqlprof.probes import bcc

SYMBOLS = (Symbol("_Zsomething", 4096),)


def found(name: str, *, symbols=SYMBOLS, within: str = "") -> bcc.Found:
    return bcc.Found(CountedFunction(name=name, symbols=["^_Z"], within=within), symbols)


def binary(*functions: bcc.Found, execute: bcc.Found | None = None) -> bcc.Binary:
    window = execute or found("execute")
    return bcc.Binary(1, "/bin/x", window, window, window, functions, ())  # type: ignore[arg-type]


@pytest.fixture
def answering(monkeypatch):
    """Every request is answered with these lines, in turn."""

    def answer(*lines: str) -> None:
        script = f"import sys\nfor line, _ in zip({lines!r}, sys.stdin): print(line, flush=True)"

        @contextmanager
        def host(python: str):
            with line_host([sys.executable, "-c", script], bcc._HostFailed, 10) as opened:
                yield opened

        monkeypatch.setattr(bcc, "_host", host)

    return answer


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("ERR\theaders\t/lib/modules/6.1/build is missing", "/lib/modules/6.1/build", "doctor"),
        ("ERR\tpermission\tthe kernel refuses", "the kernel refuses", "as root"),
        ("ERR\tuprobes\tno uprobe on _Zx: no", "no uprobe on _Zx", "CONFIG_UPROBES"),
        ("ERR\tbcc\tModuleNotFoundError", "ModuleNotFoundError", "doctor"),
    ],
)
def test_a_refusal_is_one_sentence_with_the_next_action(answering, line, message, hint):
    answering(line)
    with pytest.raises(EnvironmentLacks) as caught, bcc.counting("python", binary()):
        pass
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_counts_and_sizes_are_read_by_name(answering):
    answering(
        'OK\t{"mmap": "sys_enter"}',
        "OK\t{}",
        'OK\t{"counters": {"String::replace": {"calls": 12000, "bytes": 7, "ns": 9}},'
        ' "sizes": {"String::replace": {"13": 11999, "4": 1}}}',
    )
    with bcc.counting("python", binary(found("String::replace"))) as probe:
        with probe.window():
            pass
        result = probe.result
    assert probe.kernel == {"mmap": "sys_enter"}
    assert result.tallies["String::replace"] == bcc.Tally(12000, 7, 9)
    assert result.sizes == {"String::replace": {13: 11999, 4: 1}}


def test_time_off_the_cpu_is_folded_without_the_probe_s_own_frames(answering):
    frames = '["main", "schedule_[k]", "__schedule_[k]", "bpf_trace_run4_[k]", "bpf_prog_1_x_[k]"]'
    answering(
        "OK\t{}",
        "OK\t{}",
        'OK\t{"spans": 1, "span_ns": 900, "tail_ns": 100, "cpu_ns": 700, "phases": {},'
        f' "off": [{{"ns": 3000, "runnable": false, "frames": {frames}}},'
        ' {"ns": 2000, "runnable": true, "frames": []}]}',
    )
    with bcc.watching("python", binary()) as probe:
        with probe.window():
            pass
        result = probe.result
    assert result.cpu_ns == 600  # the tail's part is after the answer
    assert dict(result.folded().items()) == {
        ("main", "schedule_[k]", "__schedule_[k]"): 3,
        ("[no stack]",): 2,
    }


def test_a_function_without_a_symbol_is_named_with_what_was_looked_for():
    gone = found("String::replace", symbols=())
    assert gone.how.startswith("not countable here: no symbol fits ^_Z")
    inner = found("String::mem_realloc", within="String::replace")
    assert bcc._countable([gone, inner, found("x")]) == [found("x")]


def test_a_window_without_a_symbol_is_an_error_before_anything_is_attached():
    with (
        pytest.raises(EnvironmentLacks, match="no symbol fits"),
        bcc.counting("/no/such/python", binary(execute=found("execute", symbols=()))),
    ):
        pass


def test_a_process_that_is_gone_or_a_foreign_file_is_one_sentence():
    plan = scenario.load("bug-73056").counters
    assert plan is not None
    with pytest.raises(EnvironmentLacks, match="symbols of process 4194999"):
        bcc.examine(4_194_999, plan)


def test_symbols_are_asked_for_by_address():
    request = bcc._request(bcc.Found(Probed(name="f", symbols=["x"]), SYMBOLS))
    assert request == {"name": "f", "symbols": [{"name": "_Zsomething", "address": 4096}]}


def test_counting_that_fails_does_not_cost_the_closure(monkeypatch, answering):
    """And the other way round: each has its own caveat."""
    plan = scenario.load("bug-73056").counters
    assert plan is not None
    monkeypatch.setattr(bcc, "examine", lambda pid, plan: binary())
    answering("ERR\tuprobes\tno uprobe on _Zx")

    def execute(spec: TrialSpec, window) -> TrialResult:
        with window:
            return TrialResult(
                cell=spec.cell, trial=0, round=0, kind=spec.kind, profiled=False, elapsed_ms=2.0,
                prepare_ms=0, rows_written=1,
            )  # fmt: skip

    counts = counting.count_cell("slow", 1, plan, "python", execute=execute, shares=[])
    assert [caveat.text.split(":")[1].strip() for caveat in counts.caveats] == [
        "no counters",
        "no wall-time closure",
    ]
