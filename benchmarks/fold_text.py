"""How fast the text of `perf script` becomes folded text, beside the programs that do the same.

One text, one run, the sides taking turns: `mysqlprof import --folded`, FlameGraph's
stackcollapse-perf.pl where it is on the PATH (or named), and inferno's inferno-collapse-perf (one
thread) where it is. All outputs are compared byte for byte. A second, larger text, the first one
over and over, tells how much memory it takes. Run it from the repository:

    python benchmarks/fold_text.py [--text FILE] [--rounds 3] [--stackcollapse PROGRAM]

Exit status 1: slower or larger than the targets say, or another output.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fold import record

SAMPLES = 120_000
LARGE_BYTES = 700_000_000
MAX_MB = 200
MIN_RATIO = 3.0
_ME = "mysqlprof"
_PERL = "stackcollapse-perf.pl"
_INFERNO = "inferno-collapse-perf"


@dataclass(frozen=True)
class Cost:
    seconds: float
    cpu_seconds: float
    megabytes: float
    """Peak of the resident set."""


def main() -> int:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="mysqlprof-fold-text-") as name:
        directory = Path(name)
        text = arguments.text or _text(directory)
        sides = _sides(arguments.stackcollapse)
        costs: dict[str, list[Cost]] = {side: [] for side in sides}
        for number in range(arguments.rounds):
            for side, command in sides.items():
                _say(f"round {number + 1} of {arguments.rounds}: {side}")
                costs[side].append(_cost([*command, str(text)], directory / side))
        mine = (directory / _ME).read_bytes()
        differing = [side for side in sides if (directory / side).read_bytes() != mine]
        large = _repeated(text, directory / "large.txt")
        _say("the large text")
        of_large = _cost([*sides[_ME], str(large)], directory / "large.folded")
        sys.stdout.write(_markdown(text, mine, costs, of_large))
    held = not differing and of_large.megabytes <= MAX_MB
    if _PERL in costs:
        held = held and _median(costs[_PERL]) / _median(costs[_ME]) >= MIN_RATIO
    for side in differing:
        print(f"The output of {side} differs.")
    print("Targets held." if held else "**Targets missed.**")
    return 0 if held else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--text", type=Path, help="fold this instead of recording anew")
    parser.add_argument("--rounds", type=int, default=3, help="rounds a side (default 3)")
    parser.add_argument("--stackcollapse", default=_PERL, help="FlameGraph's program")
    return parser.parse_args()


def _text(directory: Path) -> Path:
    perf = shutil.which("perf") or "perf"
    data = record(directory, perf, 1000, SAMPLES)
    text = directory / "perf.txt"
    with text.open("wb") as output:
        command = [perf, "script", "-f", "--no-inline", "-i", str(data)]
        subprocess.run(command, stdout=output, stderr=subprocess.DEVNULL, check=True)
    return text


def _sides(stackcollapse: str) -> dict[str, list[str]]:
    sides = {_ME: [sys.executable, "-m", "mysqlprof", "import", "--folded", "-"]}
    if found := shutil.which(stackcollapse):
        sides[_PERL] = [found]
    if found := shutil.which(_INFERNO):
        sides[_INFERNO] = [found, "-n", "1"]
    return sides


def _cost(command: Sequence[str], output: Path) -> Cost:
    start = time.perf_counter()
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[0]} failed with status {process.returncode}")
    seconds = time.perf_counter() - start
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def _repeated(text: Path, large: Path) -> Path:
    data = text.read_bytes()
    with large.open("wb") as output:
        while output.tell() < LARGE_BYTES:
            output.write(data)
    return large


def _median(costs: Sequence[Cost]) -> float:
    return statistics.median(cost.seconds for cost in costs)


def _markdown(text: Path, folded: bytes, costs: dict[str, list[Cost]], large: Cost) -> str:
    lines = [
        f"{text.stat().st_size / 1e6:.0f} MB of text, {folded.count(b'%c' % 10):,} distinct stacks;"
        f" median of {len(costs[_ME])} rounds a side, taking turns.",
        "",
        "| program | wall, s | CPU, s | peak memory, MB | times as long |",
        "|---|---:|---:|---:|---:|",
    ]
    for side, found in costs.items():
        cpu = statistics.median(cost.cpu_seconds for cost in found)
        peak = max(cost.megabytes for cost in found)
        ratio = _median(found) / _median(costs[_ME])
        lines.append(f"| {side} | {_median(found):.2f} | {cpu:.2f} | {peak:.0f} | {ratio:.1f} |")
    lines += [
        "",
        f"{LARGE_BYTES // 1_000_000} MB: {large.seconds:.1f} s, at most {large.megabytes:.0f} MB"
        f" (target {MAX_MB}). Target against {_PERL}: {MIN_RATIO:g} times as fast.",
        "",
    ]
    return "\n".join(lines)


def _say(words: str) -> None:
    print(words, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
