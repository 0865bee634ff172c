"""Probes of the server's functions and of the kernel, by bcc: exact counts, and time off the CPU.

The programs are in bpf/; host.py runs them under the Python that has bcc, and its head says what
is said over its pipes. Functions are found here, by pattern, in the symbols of the server's own
file: in a container through /proc/PID/root, which is the host's own root for a local server.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Generic, TypeVar

from elftools.common.exceptions import ELFError

from mysqlprof.counted_types import CountedFunction, CountersPlan, Probed
from mysqlprof.elf import Symbol, find_functions
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.executable import program_of
from mysqlprof.line_host import LineHost, line_host
from mysqlprof.stacks import FoldedStacks, Stack

_TIMEOUT_S = 60.0
# The probe's own frames, on top of every stack that it takes.
_OWN_FRAMES = ("bpf_prog_", "bpf_trace_run", "__traceiter_", "__bpf_trace_")
_NEXT = {
    "headers": "`mysqlprof doctor` shows the command that brings the kernel's headers",
    "permission": "run mysqlprof as root",
    "uprobes": "use a kernel with CONFIG_UPROBES and CONFIG_BPF_EVENTS",
    "bcc": "`mysqlprof doctor` says what bcc needs",
}


class _HostFailed(Exception):
    """The host's words."""


_P = TypeVar("_P", bound=Probed, covariant=True)
_Function = TypeVar("_Function", bound=Probed)


@dataclass(frozen=True)
class Found(Generic[_P]):
    """A function of the plan in the server's file."""

    function: _P
    symbols: tuple[Symbol, ...]

    @property
    def how(self) -> str:
        if self.symbols:
            return "uprobe on " + ", ".join(symbol.name for symbol in self.symbols)
        looked_for = " or ".join(self.function.symbols)
        return (
            f"not countable here: no symbol fits {looked_for}; the compiler has put the function"
            " into its callers, or this version has it no more"
        )


@dataclass(frozen=True)
class Binary:
    """A server's executable and the functions of the plan in it."""

    pid: int
    file: Path
    execute: Found[Probed]
    dispatch: Found[Probed]
    respond: Found[Probed]
    functions: tuple[Found[CountedFunction], ...]
    phases: tuple[Found[Probed], ...]


SIZED = ("mmap", "munmap", "mremap")
"""The kernel's counters that are asked for bytes."""


@dataclass(frozen=True)
class Tally:
    calls: int
    bytes: int
    ns: int


@dataclass(frozen=True)
class CountedExecute:
    tallies: Mapping[str, Tally]
    """By the functions' names, and those of the kernel's counters; "execute" is the window."""
    sizes: Mapping[str, Mapping[int, int]]
    """Name -> exponent -> calls; see counted_types.Sizes."""


@dataclass(frozen=True)
class Away:
    """Time off the CPU with one stack."""

    ns: int
    runnable: bool
    """It could have run: another thread had the CPU."""
    stack: Stack
    """Root first; empty where none could be taken."""


@dataclass(frozen=True)
class WatchedExecute:
    commands: int
    """Served within the window; one, where nothing else reached the server."""
    server_ns: int
    """From dispatch to answer."""
    cpu_ns: int
    """That the serving thread spent on a CPU up to the answer, by the scheduler's account."""
    phases: Mapping[str, Tally]
    away: Sequence[Away]

    def folded(self) -> FoldedStacks:
        """Microseconds off the CPU by stack."""
        counts: dict[Stack, int] = {}
        for part in self.away:
            stack = part.stack or ("[no stack]",)
            counts[stack] = counts.get(stack, 0) + round(part.ns / 1e3)
        return FoldedStacks(counts)


def examine(pid: int, plan: CountersPlan) -> Binary:
    """Find the plan's functions in the file that a process runs. Raises EnvironmentLacks."""
    try:
        file = program_of(pid)
        return Binary(
            pid,
            file,
            execute=_find(file, plan.execute),
            dispatch=_find(file, plan.dispatch),
            respond=_find(file, plan.respond),
            functions=tuple(_find(file, function) for function in plan.functions),
            phases=tuple(_find(file, phase) for phase in plan.phases),
        )
    except (OSError, ELFError) as error:
        raise EnvironmentLacks(
            f"the symbols of process {pid} cannot be read: {error}", "run mysqlprof as root"
        ) from error


def _find(file: Path, probed: _Function) -> Found[_Function]:
    return Found(probed, tuple(find_functions(file, probed.symbols)))


class _Probe:
    """Attached; `window()` counts from here to there, and `result` is what it found last."""

    def __init__(self, host: LineHost) -> None:
        self._host = host
        self._answer: dict[str, Any] = {}

    @contextmanager
    def window(self) -> Iterator[None]:
        _ask(self._host, "BEGIN")
        yield
        self._answer = _ask(self._host, "END")


class Counting(_Probe):
    """Counts function calls, memory calls of the kernel and page faults, each by itself."""

    def __init__(self, host: LineHost, kernel: Mapping[str, str]) -> None:
        super().__init__(host)
        self.kernel = kernel
        """Kernel counter -> how it is counted; empty where it cannot be here."""

    @property
    def result(self) -> CountedExecute:
        tallies = {name: Tally(**tally) for name, tally in self._answer["counters"].items()}
        sizes = {
            name: {int(exponent): calls for exponent, calls in slots.items()}
            for name, slots in self._answer["sizes"].items()
        }
        return CountedExecute(tallies, sizes)


class Watching(_Probe):
    """Measures one command's span, the phases in it, and what kept its thread from running."""

    @property
    def result(self) -> WatchedExecute:
        answer = self._answer
        return WatchedExecute(
            commands=answer["spans"],
            server_ns=answer["span_ns"],
            cpu_ns=answer["cpu_ns"] - answer["tail_ns"],
            phases={name: Tally(bytes=0, **phase) for name, phase in answer["phases"].items()},
            away=[Away(a["ns"], a["runnable"], _clean(a["frames"])) for a in answer["off"]],
        )


@contextmanager
def counting(python: str, binary: Binary) -> Iterator[Counting]:
    """Attach the counting probes. Raises EnvironmentLacks where the server or the kernel lacks
    what they need; a function without a symbol is left out."""
    request = {
        **_where(binary),
        "execute": _request(binary.execute),
        "functions": [_request(found) for found in _countable(binary.functions)],
    }
    _must_have(binary.execute)
    with _host(python) as host:
        yield Counting(host, _ask(host, "COUNT", request))


@contextmanager
def watching(python: str, binary: Binary) -> Iterator[Watching]:
    """Attach the light probes of time. Raises EnvironmentLacks."""
    _must_have(binary.dispatch)
    request = {
        **_where(binary),
        "dispatch": _request(binary.dispatch),
        "respond": _request(binary.respond),
        "phases": [_request(found) for found in binary.phases if found.symbols],
    }
    with _host(python) as host:
        _ask(host, "WATCH", request)
        yield Watching(host)


def _countable(functions: Sequence[Found[CountedFunction]]) -> list[Found[CountedFunction]]:
    """Those with a symbol, and with one of the function that they must run within."""
    kept: dict[str, Found[CountedFunction]] = {}
    for found in functions:
        within = found.function.within
        if found.symbols and (not within or within in kept):
            kept[found.function.name] = found
    return list(kept.values())


def _must_have(found: Found[Probed]) -> None:
    if not found.symbols:
        raise EnvironmentLacks(
            f"{found.function.name}: {found.how}", "give its name in the scenario's [counters]"
        )


def _where(binary: Binary) -> dict[str, Any]:
    return {"pid": binary.pid, "file": str(binary.file)}


def _request(found: Found[Probed]) -> dict[str, Any]:
    symbols = [{"name": symbol.name, "address": symbol.address} for symbol in found.symbols]
    return {**found.function.model_dump(), "symbols": symbols}


@contextmanager
def _host(python: str) -> Iterator[LineHost]:
    with (
        as_file(files("mysqlprof.probes") / "bpf") as folder,
        line_host([python, str(folder / "host.py")], _HostFailed, _TIMEOUT_S) as host,
    ):
        yield host


def _ask(host: LineHost, command: str, request: object = None) -> dict[str, Any]:
    fields = [command] if request is None else [command, json.dumps(request)]
    try:
        answer: dict[str, Any] = json.loads(host.ask(*fields)[0])
    except _HostFailed as error:
        kind, _, words = str(error).partition(": ")
        raise EnvironmentLacks(
            f"bcc cannot probe here: {words or kind}", _NEXT.get(kind, _NEXT["bcc"])
        ) from error
    return answer


def _clean(frames: Sequence[str]) -> Stack:
    """Without the probe's own frames at the top."""
    stack = list(frames)
    while stack and stack[-1].startswith(_OWN_FRAMES):
        stack.pop()
    return tuple(stack)
