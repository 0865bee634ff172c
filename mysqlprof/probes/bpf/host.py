"""Runs the project's BPF programs; a program of its own, for the Python that can import bcc.

Distributions ship bcc for their own Python, and a virtual environment does not see it. So this
file imports nothing of mysqlprof, and speaks with it in lines, as the drivers' hosts do:

    CHECK                OK {}          compiles a program and attaches a probe to its own libc
    COUNT {request}      OK {how}       attaches count.c; how: of the kernel's counters
    WATCH {request}      OK {}          attaches span.c
    BEGIN                OK {}          forgets what was counted so far
    END                  OK {result}    what was counted since

and ERR kind message: kind is one of headers, permission, uprobes, bcc. Everything is detached when
its input ends. Requests name functions by file and address: who asks has read the symbols.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any, TextIO

FOLDER = Path(__file__).resolve().parent
SETTLE_S = 2.0
# Memory calls, by machine. https://man7.org/linux/man-pages/man2/syscalls.2.html
SYSCALLS = {
    "x86_64": {"mmap": 9, "munmap": 11, "brk": 12, "mremap": 25},
    "aarch64": {"mmap": 222, "munmap": 215, "brk": 214, "mremap": 216},
}
TRACEPOINTS = ("page_fault_user", "page_fault_kernel")


class Refused(Exception):
    """What prevents a probe: kind and words."""


def compiled(text: str) -> Any:
    """Raises Refused. The compiler writes to descriptor 2, which holds the reason."""
    from bcc import BPF

    try:
        return BPF(text=text)
    except Exception as error:
        raise refusal(error) from error


def refusal(error: Exception) -> Refused:
    words = " ".join(str(error).split())
    if os.geteuid() != 0 and ("permit" in words.lower() or "failed to load" in words.lower()):
        return Refused("permission", "the kernel refuses BPF programs to this user")
    release = platform.release()
    if "compile" in words.lower() and not os.path.isdir(f"/lib/modules/{release}/build"):
        return Refused("headers", f"/lib/modules/{release}/build is missing")
    return Refused("bcc", words or type(error).__name__)


def source(name: str, defines: dict[str, Any], lines: list[str]) -> str:
    """A program's text with its numbers in front and its probes behind."""
    head = "".join(f"#define {key} {value}\n" for key, value in defines.items())
    return head + (FOLDER / name).read_text(encoding="utf-8") + "\n".join(lines) + "\n"


class Probe:
    """What both programs share: uprobes by file and address."""

    bpf: Any
    tables: tuple[str, ...]

    def __init__(self, request: dict[str, Any]) -> None:
        self.pid = request["pid"]
        self.file = request["file"]

    def attach(self, function: dict[str, Any], entry: str = "", leave: str = "") -> None:
        for symbol in function["symbols"]:
            where = {"name": self.file, "addr": symbol["address"], "pid": self.pid}
            try:
                if entry:
                    self.bpf.attach_uprobe(fn_name=entry, **where)
                if leave:
                    self.bpf.attach_uretprobe(fn_name=leave, **where)
            except Exception as error:
                kind = "permission" if os.geteuid() else "uprobes"
                raise Refused(kind, f"no uprobe on {symbol['name']}: {error}") from error

    def begin(self) -> dict[str, Any]:
        for name in self.tables:
            self.bpf[name].clear()
        return {}

    def settle(self, name: str) -> None:
        """The client has its answer a moment before the server's thread returns."""
        end = time.monotonic() + SETTLE_S
        while len(self.bpf[name]) and time.monotonic() < end:
            time.sleep(0.0005)


class Count(Probe):
    tables = ("tallies", "sizes", "entered", "executing")

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__(request)
        functions = request["functions"]
        self.names = ["execute", *(f["name"] for f in functions)]
        self.how: dict[str, str] = {}
        lines = [self.line(number, f) for number, f in enumerate(functions, start=1)]
        self.bpf = compiled(self.text(lines))
        self.attach_page_faults()
        self.attach(request["execute"], "execute_begins", "execute_ends")
        for number, function in enumerate(functions, start=1):
            self.attach(function, f"enter_{number}", f"leave_{number}")

    def line(self, number: int, function: dict[str, Any]) -> str:
        argument = function["bytes_argument"]
        size = f"(s64)PT_REGS_PARM{argument}(ctx)" if argument else "-1"
        within = self.names.index(function["within"]) if function["within"] else -1
        return f"FUNCTION({number}, {size}, {within})"

    def text(self, lines: list[str]) -> str:
        """With the kernel's counters, as far as this kernel has them."""
        from bcc import BPF

        defines: dict[str, Any] = {}
        syscalls = SYSCALLS.get(platform.machine(), {})
        has_syscalls = BPF.support_raw_tracepoint() and syscalls
        cases = []
        for name, number in syscalls.items():
            size = "0" if name == "brk" else "length"
            cases.append(f"case {number}: add({len(self.names)}, 1, {size}, 0); break;")
            self.names.append(name)
            self.how[name] = "raw tracepoint sys_enter" if has_syscalls else ""
        if has_syscalls:
            defines["SYSCALLS"] = " ".join(cases)
        defines["PAGE_FAULTS"] = len(self.names)
        self.names.append("page faults")
        if has_page_fault_tracepoints():
            defines["PAGE_FAULT_TRACEPOINTS"] = 1
            self.how["page faults"] = "raw tracepoints " + ", ".join(TRACEPOINTS)
        defines["COUNTERS"] = len(self.names)
        return source("count.c", defines, lines)

    def attach_page_faults(self) -> None:
        """Where the kernel has no tracepoints of them, perf's software event."""
        if "page faults" in self.how:
            return
        from bcc import PerfSWConfig, PerfType

        try:
            self.bpf.attach_perf_event(
                ev_type=PerfType.SOFTWARE,
                ev_config=PerfSWConfig.PAGE_FAULTS,
                fn_name="page_fault_event",
                sample_period=1,
            )
            self.how["page faults"] = "perf event page-faults"
        except Exception:
            self.how["page faults"] = ""

    def end(self) -> dict[str, Any]:
        self.settle("executing")
        sizes: dict[str, dict[int, int]] = {}
        for key, count in self.bpf["sizes"].items():
            sizes.setdefault(self.names[key.counter], {})[key.log2] = count.value
        tallies = self.bpf["tallies"]
        counters = {}
        for number, name in enumerate(self.names):
            tally = tallies[tallies.Key(number)]
            counters[name] = {"calls": tally.calls, "bytes": tally.bytes, "ns": tally.ns}
        return {"counters": counters, "sizes": sizes}


class Watch(Probe):
    tables = ("spans", "off", "total", "phases", "entered", "away", "stacks")

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__(request)
        self.phases = [f["name"] for f in request["phases"]]
        lines = [f"PHASE({number})" for number in range(len(self.phases))]
        defines = {"PHASES": max(1, len(self.phases))}
        try:
            self.bpf = compiled(source("span.c", {**defines, "SWITCH_HAS_STATE": 1}, lines))
        except Refused as error:
            if error.args[0] != "bcc":
                raise
            self.bpf = compiled(source("span.c", defines, lines))  # before Linux 5.18
        self.attach(request["dispatch"], "dispatched", "finished")
        self.attach(request["respond"], leave="responded")
        for number, phase in enumerate(request["phases"]):
            self.attach(phase, f"enter_{number}", f"leave_{number}")

    def begin(self) -> dict[str, Any]:
        super().begin()
        self.cpu = cpu_times(self.pid)
        return {}

    def end(self) -> dict[str, Any]:
        self.settle("spans")
        total = next(iter(self.bpf["total"].values()))
        after = cpu_times(self.pid).get(total.thread, (0, 0))
        before = self.cpu.get(total.thread, (0, 0))
        phases = [value for _, value in sorted_items(self.bpf["phases"])]
        return {
            "spans": total.spans,
            "span_ns": total.span_ns,
            "tail_ns": total.tail_ns - total.tail_off_ns,
            "cpu_ns": after[0] - before[0],
            "phases": {
                name: {"calls": value.calls, "ns": value.ns}
                for name, value in zip(self.phases, phases)  # noqa: B905 - Pythons before 3.10
            },
            "off": [self.reason(key, spent.value) for key, spent in self.bpf["off"].items()],
        }

    def reason(self, key: Any, ns: int) -> dict[str, Any]:
        """Frames root first; the kernel's with FlameGraph's mark."""
        user = [self.symbol(address) for address in self.walk(key.user)]
        kernel = [f"{self.word(self.bpf.ksym(a))}_[k]" for a in self.walk(key.kernel)]
        return {"ns": ns, "runnable": bool(key.runnable), "frames": user[::-1] + kernel[::-1]}

    def walk(self, number: int) -> list[int]:
        return list(self.bpf["stacks"].walk(number)) if number >= 0 else []

    def symbol(self, address: int) -> str:
        return self.word(self.bpf.sym(address, self.pid))

    @staticmethod
    def word(name: bytes) -> str:
        return name.decode("utf-8", "replace").replace(";", ":")


def has_page_fault_tracepoints() -> bool:
    """Only some machines' kernels have them, and none says so without tracefs: try."""
    from bcc import BPF

    if not BPF.support_raw_tracepoint():
        return False
    text = "".join(f"RAW_TRACEPOINT_PROBE({name}) {{ return 0; }}\n" for name in TRACEPOINTS)
    try:
        BPF(text=text).cleanup()
    except Exception:
        return False
    return True


def sorted_items(table: Any) -> list[tuple[int, Any]]:
    return sorted(((key.value, value) for key, value in table.items()), key=lambda pair: pair[0])


def cpu_times(pid: int) -> dict[int, tuple[int, int]]:
    """Thread -> ns on a CPU and ns waiting for one, by the scheduler's own account."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            spent, waited, _ = (task / "schedstat").read_text().split()
        except (OSError, ValueError):
            continue
        found[int(task.name)] = (int(spent), int(waited))
    return found


def check() -> dict[str, Any]:
    """Whether a program compiles, loads and can be attached to a function here."""
    from bcc import BPF

    bpf = compiled("int seen(struct pt_regs *ctx) { return 0; }")
    try:
        bpf.attach_uprobe(name="c", sym="getpid", fn_name="seen", pid=os.getpid())
    except Exception as error:
        raise Refused("permission" if os.geteuid() else "uprobes", str(error)) from error
    return {"raw_tracepoints": bool(BPF.support_raw_tracepoint())}


def answers() -> TextIO:
    """The pipe to who asks. Nobody else may write there: libbcc prints to standard output."""
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    return pipe


def serve() -> None:
    pipe = answers()
    probe: Count | Watch | None = None
    for line in sys.stdin:
        command, _, text = line.rstrip("\n").partition("\t")
        try:
            if command == "CHECK":
                answer = check()
            elif command in ("COUNT", "WATCH"):
                probe = (Count if command == "COUNT" else Watch)(json.loads(text))
                answer = getattr(probe, "how", {})
            elif command == "BEGIN" and probe:
                answer = probe.begin()
            elif command == "END" and probe:
                answer = probe.end()
            else:
                raise Refused("bcc", f"unknown command {command!r}")
            reply = f"OK\t{json.dumps(answer)}"
        except ImportError as error:
            reply = f"ERR\tbcc\t{error}"
        except Refused as error:
            reply = "ERR\t" + "\t".join(" ".join(str(part).split()) for part in error.args)
        except Exception as error:
            reply = f"ERR\tbcc\t{type(error).__name__}: {' '.join(str(error).split())}"
        print(reply, file=pipe)


if __name__ == "__main__":
    serve()
    # The kernel detaches everything as the descriptors close. bcc's own way at exit wants tracefs.
    os._exit(0)
