"""How fast a large perf.data becomes folded stacks, attribution and a flame graph.

Measured on one file in one run, the sides taking turns: mysqlprof (perf report, parsed,
attributed, drawn) against `perf script | stackcollapse | flamegraph`, with FlameGraph's Perl
scripts where stackcollapse-perf.pl is on the PATH, else with inferno's. Whether both find the same
stacks is checked, stack for stack. Run it from the repository:

    python benchmarks/fold.py [--perf-data FILE] [--rounds 3] [--json FILE]

Exit status 1: slower, larger or less exact than the targets say.
"""

import argparse
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from mysqlprof.attribution import attribute, load_rules
from mysqlprof.cache import cache_dir
from mysqlprof.flamegraph import find_flamegraph, render
from mysqlprof.probes.fold import fold
from mysqlprof.stacks import FoldedStacks, Stack, plain_name

SAMPLES = 500_000
RATE_HZ = 20_000
MAX_MB = 300
MIN_RATIO = {"FlameGraph": 15.0, "inferno": 5.0}

_SOURCE = Path(__file__).with_name("deep_stacks.c")
_ME = "mysqlprof"
# perf script's own choice without the period, by which inferno would weigh samples.
_FIELDS = "comm,pid,tid,time,event,ip,sym,symoff,dso"


@dataclass(frozen=True)
class Cost:
    """Of one round, over all its processes."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Peer:
    name: str
    collapse: list[str]
    draw: list[str]
    version: str


@dataclass(frozen=True)
class Result:
    machine: dict[str, str | int]
    recording: dict[str, int]
    peer: str
    rounds: dict[str, list[Cost]]
    megabytes: dict[str, float]
    """Peak of the memory that a side's processes held together; shared pages count once."""
    differing_stacks: int

    def median(self, side: str) -> Cost:
        costs = self.rounds[side]
        return Cost(
            statistics.median(cost.seconds for cost in costs),
            statistics.median(cost.cpu_seconds for cost in costs),
        )

    @property
    def ratio(self) -> float:
        return self.median(self.peer).seconds / self.median(_ME).seconds

    @property
    def held(self) -> bool:
        return (
            self.ratio >= MIN_RATIO[self.peer]
            and self.megabytes[_ME] <= MAX_MB
            and self.differing_stacks == 0
            and self.recording["samples"] >= SAMPLES
        )


def main() -> int:
    arguments = _arguments()
    if arguments.one_round:
        return _one_round(arguments.perf_data, arguments.one_round)
    perf = _needed("perf", "sudo apt-get install linux-perf")
    with tempfile.TemporaryDirectory(prefix="mysqlprof-fold-") as name:
        directory = Path(name)
        data = arguments.perf_data or record(directory, perf, arguments.paths)
        result = measure(data, perf, arguments.rounds, directory)
    sys.stdout.write(markdown(result))
    if arguments.json:
        arguments.json.write_text(json.dumps(asdict(result), indent=2) + "\n", encoding="utf-8")
    return 0 if result.held else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--perf-data", type=Path, help="fold this instead of recording anew")
    parser.add_argument(
        "--paths", type=int, default=10, help="of the recorded program: more give more stacks"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds a side (default 3)")
    parser.add_argument("--json", type=Path, help="write the figures there, too")
    parser.add_argument("--one-round", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


# --- the recording -------------------------------------------------------------------------------


def record(directory: Path, perf: str, paths: int, samples: int = SAMPLES) -> Path:
    """A perf.data with at least so many samples, of eight threads with deep and varied stacks."""
    program = directory / "deep_stacks"
    flags = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"]
    compiler = _needed("gcc", "sudo apt-get install gcc libc6-dev")
    subprocess.run([compiler, *flags, str(_SOURCE), "-o", str(program)], check=True)
    data = directory / "perf.data"
    cpus = min(8, len(os.sched_getaffinity(0)))
    seconds = 1.2 * samples / RATE_HZ / cpus
    for _ in range(4):
        _say(f"recording {seconds:.0f} s")
        options = ["-F", str(RATE_HZ), "-g", "-m", "16M", "-o", str(data)]
        recorder = [perf, "record", *options, "--", str(program), str(seconds), str(paths)]
        said = subprocess.run(recorder, capture_output=True, text=True, check=True).stderr
        found = re.search(r"\((\d+) samples\)", said)
        if found and int(found[1]) >= samples:
            return data
        seconds *= 1.1 * samples / int(found[1]) if found else 2
    raise SystemExit(f"could not record {samples} samples: {said}")


# --- both sides ----------------------------------------------------------------------------------


def measure(data: Path, perf: str, rounds: int, directory: Path) -> Result:
    peer = find_peer()
    report = fold(data, perf, commands=True)  # also brings the file into memory, for both sides
    costs: dict[str, list[Cost]] = {_ME: [], peer.name: []}
    for number in range(rounds):
        _say(f"round {number + 1} of {rounds}")
        costs[_ME].append(_ours(data, directory))
        costs[peer.name].append(_theirs(data, perf, peer, directory))
    _say("a round for the memory")
    megabytes = {
        _ME: _peak_megabytes(lambda: _ours(data, directory)),
        peer.name: _peak_megabytes(lambda: _theirs(data, perf, peer, directory)),
    }
    theirs = FoldedStacks.parse((directory / "peer.folded").read_text("utf-8").split("\n"))
    ours_alike, theirs_alike = _comparable(report.stacks), _comparable(theirs)
    return Result(
        machine=_machine(perf, peer),
        recording={
            "samples": report.samples,
            "distinct_stacks": len(report.stacks),
            "megabytes": data.stat().st_size // 1_000_000,
        },
        peer=peer.name,
        rounds=costs,
        megabytes=megabytes,
        differing_stacks=len((ours_alike - theirs_alike) | (theirs_alike - ours_alike)),
    )


def find_peer() -> Peer:
    collapse = shutil.which("stackcollapse-perf.pl")
    if collapse:
        return Peer("FlameGraph", [collapse], [str(find_flamegraph())], "as installed")
    root = cache_dir("inferno")
    program = root / "bin" / "inferno-collapse-perf"
    if not program.is_file():
        _say("building inferno")
        cargo = _needed("cargo", "install Rust")
        subprocess.run([cargo, "install", "inferno", "--locked", "--root", str(root)], check=True)
    draw = root / "bin" / "inferno-flamegraph"
    installed = re.search(r'"inferno ([\d.]+)', (root / ".crates.toml").read_text("utf-8"))
    version = installed[1] if installed else "of unknown version"
    return Peer("inferno", [str(program)], [str(draw)], version)


def _ours(data: Path, directory: Path) -> Cost:
    """A process of its own, as a user starts it: Python's start and imports are part of it."""
    output = directory / "ours"
    command = [sys.executable, __file__, "--perf-data", str(data), "--one-round", str(output)]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return Cost(time.perf_counter() - start, **json.loads(done.stdout))


def _one_round(data: Path, output: Path) -> int:
    """Fold, attribute, draw; print what this process and its children used."""
    report = fold(data, "perf")
    attribution = attribute(report.stacks, load_rules())
    rows = attribution.to_rows("benchmark")
    svg = render(report.stacks, title="Benchmark", subtitle=f"{report.samples:,} samples")
    output.with_suffix(".folded").write_text(report.stacks.to_folded(), encoding="utf-8")
    output.with_suffix(".csv").write_text("\n".join(map(str, rows)), encoding="utf-8")
    output.with_suffix(".svg").write_text(svg, encoding="utf-8")
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"cpu_seconds": sum(u.ru_utime + u.ru_stime for u in used)}))
    return 0


def _theirs(data: Path, perf: str, peer: Peer, directory: Path) -> Cost:
    """`perf script | collapse`, then `draw`, without a shell; the folded text is kept."""
    folded, svg = directory / "peer.folded", directory / "peer.svg"
    script = [perf, "script", "--no-inline", "-f", "-F", _FIELDS, "-i", str(data)]
    start = time.perf_counter()
    with folded.open("wb") as output:
        writer = subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        reader = subprocess.Popen(
            peer.collapse, stdin=writer.stdout, stdout=output, stderr=subprocess.DEVNULL
        )
        assert writer.stdout is not None
        writer.stdout.close()
        used = [_finished(process) for process in (writer, reader)]
    with folded.open("rb") as source, svg.open("wb") as output:
        drawer = subprocess.Popen(peer.draw, stdin=source, stdout=output, stderr=subprocess.DEVNULL)
        used.append(_finished(drawer))
    return Cost(
        time.perf_counter() - start,
        sum(u.ru_utime + u.ru_stime for u in used),
    )


def _peak_megabytes(work: Callable[[], object]) -> float:
    """Peak proportional set size of all processes that `work` starts, looked at every 20 ms.

    Untimed: looking costs time. perf maps its whole input, so those pages are in the figure.
    """
    peak = 0
    done = threading.Event()

    def look() -> None:
        nonlocal peak
        while not done.wait(0.02):
            held = 0
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    held += process.memory_full_info().pss
            peak = max(peak, held)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        work()
    finally:
        done.set()
        looking.join()
    return peak / 2**20


def _finished(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Wait for it; what it used."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{process.args!r} failed with status {process.returncode}")
    return usage


# --- are they the same? --------------------------------------------------------------------------


def _comparable(stacks: FoldedStacks) -> Counter[Stack]:
    """As stackcollapse-perf.pl writes stacks: no kernel marks, no argument lists, no quotes.

    A frame without symbol is "[unknown]" here and "[name of its binary]" there.
    """
    counts: Counter[Stack] = Counter()
    for (command, *frames), count in stacks.items():
        counts[command.replace(" ", "_"), *map(_tidied, frames)] += count
    return counts


def _tidied(frame: str) -> str:
    name = plain_name(frame).replace(";", ":")
    if re.fullmatch(r"\[.*\]", name):
        return "[unknown]"
    if not re.search(r"\.\(.*\)\.", name):
        name = re.sub(r"\((?!anonymous namespace\)).*", "", name)
    return name.translate({ord('"'): None, ord("'"): None})


# --- words ---------------------------------------------------------------------------------------


def markdown(result: Result) -> str:
    ours, theirs = result.median(_ME), result.median(result.peer)
    held = "held" if result.held else "**missed**"
    cpu_ratio = theirs.cpu_seconds / ours.cpu_seconds
    target = f"target {MIN_RATIO[result.peer]:g}"
    rows = [
        ("perf report, attribution, SVG (mysqlprof)", ours, result.megabytes[_ME]),
        (
            f"perf script, collapse, SVG ({result.peer})",
            theirs,
            result.megabytes[result.peer],
        ),
    ]
    lines = [
        f"{result.recording['samples']:,} samples, {result.recording['distinct_stacks']:,} distinct"
        f" stacks, {result.recording['megabytes']} MB; median of"
        f" {len(result.rounds[_ME])} rounds a side, taking turns.",
        "",
        *_table(("way", "wall, s", "CPU, s", "peak memory, MB"), rows),
        "",
        f"{result.ratio:.1f} times faster ({target}; {cpu_ratio:.1f} by CPU time), at most"
        f" {result.megabytes[_ME]:.0f} MB (target {MAX_MB}), stacks that differ:"
        f" {result.differing_stacks} (target 0): {held}.",
        "",
        "; ".join(f"{key} {value}" for key, value in result.machine.items()) + ".",
    ]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Iterable[tuple[str, Cost, float]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|---|---:|---:|---:|",
        *(
            f"| {way} | {cost.seconds:.2f} | {cost.cpu_seconds:.2f} | {megabytes:.0f} |"
            for way, cost, megabytes in rows
        ),
    ]


def _machine(perf: str, peer: Peer) -> dict[str, str | int]:
    return {
        "CPUs": len(os.sched_getaffinity(0)),
        "Linux": platform.release().partition("-")[0],
        "Python": platform.python_version(),
        "perf": _words(perf, "--version").removeprefix("perf version "),
        peer.name: peer.version,
    }


def _words(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _needed(program: str, hint: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise SystemExit(f"{program} is missing: {hint}")
    return found


def _say(words: str) -> None:
    print(words, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
