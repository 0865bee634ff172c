"""Numbers as people read them: three significant digits, a unit, no false precision."""

import math
import re

THIN = "\u202f"
"""Narrow no-break space: between digits and unit, and between groups of digits."""
DASH = "\u2013"
NONE = "\u2014"


def significant(value: float, digits: int = 3) -> str:
    """`0.01234` -> 0.0123, `18.07` -> 18.1, `904.3` -> 904, `12345.6` -> 12 346."""
    if not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    # The exponent after rounding: 9.996 is 10.0, not 10.00.
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    decimals = max(0, digits - 1 - exponent)
    return f"{value:,.{decimals}f}".replace(",", THIN)


def count(value: int) -> str:
    return f"{value:,}".replace(",", THIN)


def thin(text: str) -> str:
    """Groups of digits as reports set them: 12,000 -> 12 000."""
    return re.sub(r"(?<=\d),(?=\d{3}\b)", THIN, text)


def milliseconds(value: float | None) -> str:
    """A bare number for a column headed "ms"."""
    return NONE if value is None else significant(value)


def duration(ms: float | None) -> str:
    """With the unit that suits it: `0.3` -> 300 µs, `904` -> 904 ms, `6432` -> 6.43 s."""
    if ms is None or not math.isfinite(ms):
        return NONE
    if ms == 0:
        return f"0{THIN}ms"
    if ms < 0.9995:
        return f"{significant(ms * 1000)}{THIN}µs"
    if ms < 999.5:
        return f"{significant(ms)}{THIN}ms"
    return f"{significant(ms / 1000)}{THIN}s"


def durations(low: float | None, high: float | None) -> str:
    """An interval in the unit of its upper end: `985, 1076` -> 0.985-1.08 s."""
    if low is None or high is None:
        return NONE
    for least, factor, unit in ((999.5, 1e-3, "s"), (0.9995, 1.0, "ms"), (0.0, 1e3, "µs")):
        if high >= least:
            return f"{interval(low * factor, high * factor)}{THIN}{unit}"
    return NONE


def seconds(value: float | None) -> str:
    return NONE if value is None else duration(value * 1000)


def tick(ms: float) -> str:
    """A duration on an axis: no trailing zeros."""
    if ms < 1:
        return f"{ms * 1000:g}{THIN}µs"
    return f"{ms:g}{THIN}ms" if ms < 1000 else f"{ms / 1000:g}{THIN}s"


def ratio(value: float | None) -> str:
    return NONE if value is None else f"{significant(value)}×"


def interval(low: float | None, high: float | None, unit: str = "") -> str:
    if low is None or high is None:
        return NONE
    return f"{significant(low)}{DASH}{significant(high)}{unit}"


def share(value: float | None) -> str:
    """A fraction as per cent, with one decimal: tables of shares line up."""
    if value is None:
        return NONE
    if 0 < value < 0.0005:
        return f"<{THIN}0.1{THIN}%"
    return f"{100 * value:.1f}{THIN}%"


def size(value: float) -> str:
    """Bytes in binary units."""
    for unit in ("B", "KiB", "MiB"):
        if abs(value) < 1024:
            return f"{significant(value)}{THIN}{unit}"
        value /= 1024
    return f"{significant(value)}{THIN}GiB"
