"""A stored profile in other tools' formats."""

from datetime import datetime

from mysqlprof import __version__
from mysqlprof.formats.pprof import Recording, to_pprof
from mysqlprof.formats.speedscope import to_speedscope
from mysqlprof.model import ProfileInfo
from mysqlprof.stacks import FoldedStacks


def speedscope(info: ProfileInfo, stacks: FoldedStacks) -> str:
    return to_speedscope(stacks, info.cell, f"mysqlprof {__version__}")


def pprof(info: ProfileInfo, stacks: FoldedStacks, created: str) -> bytes:
    """`created` is the run's, ISO 8601."""
    recording = Recording(
        comment=f"{info.cell}: {info.event}, written by mysqlprof {__version__}",
        unit=info.unit,
        frequency_hz=info.frequency_hz,
        window_s=info.window_s,
        time_ns=_nanoseconds(created),
    )
    return to_pprof(stacks, recording)


def _nanoseconds(iso: str) -> int:
    try:
        return max(0, int(datetime.fromisoformat(iso).timestamp())) * 1_000_000_000
    except (ValueError, OverflowError):
        return 0
