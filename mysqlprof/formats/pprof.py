"""pprof's file format: a gzipped protocol buffer, as `go tool pprof` reads it.

Field numbers are those of profile.proto in github.com/google/pprof. Five small messages are
written and nothing is read, so the wire format is spelt out here: a varint, or a key and bytes.
"""

import gzip
from collections.abc import Iterable
from dataclasses import dataclass

from mysqlprof.stacks import FoldedStacks, is_kernel, plain_name, short_name


@dataclass(frozen=True)
class Recording:
    """What a profile says of itself beside its stacks."""

    comment: str
    unit: str
    """Of the counts: "samples" as a rule; "ns" is nanoseconds to pprof, too."""
    frequency_hz: int
    """0 where it is not known: then there is no CPU time, only samples."""
    window_s: float
    time_ns: int
    """Since 1970; 0 where it is not known."""


def to_pprof(stacks: FoldedStacks, recording: Recording) -> bytes:
    """Samples, and CPU time where the sampling frequency is known. The same input gives the same
    bytes."""
    strings = _Strings()
    timed = recording.unit == "samples" and recording.frequency_hz > 0
    period = round(1e9 / recording.frequency_hz) if timed else 0
    types = [(recording.unit, "nanoseconds" if recording.unit == "ns" else "count")]
    types += [("cpu", "nanoseconds")] if timed else []
    parts = [_message(1, _pair(strings, *kind)) for kind in types]
    ids: dict[str, int] = {}
    for stack, count in sorted(stacks.items()):
        leaf_first = [ids.setdefault(frame, len(ids) + 1) for frame in reversed(stack)]
        values = [count, count * period] if period else [count]
        parts.append(_message(2, _packed(1, leaf_first) + _packed(2, values)))
    # Mappings tell kernel and program apart where a viewer groups by binary.
    mappings = [_pair_of_ids(1, strings["mysqld"]), _pair_of_ids(2, strings["[kernel.kallsyms]"])]
    parts += [_message(3, mapping) for mapping in mappings]
    for frame, number in ids.items():
        mapping = 2 if is_kernel(frame) else 1
        line = _message(4, _integer(1, number))
        parts.append(_message(4, _integer(1, number) + _integer(2, mapping) + line))
    for frame, number in ids.items():
        name = strings[short_name(frame)]
        names = _integer(2, name) + _integer(3, strings[plain_name(frame)])
        parts.append(_message(5, _integer(1, number) + names))
    parts.append(_integer(9, recording.time_ns) + _integer(10, round(recording.window_s * 1e9)))
    if period:
        parts.append(_message(11, _pair(strings, "cpu", "nanoseconds")) + _integer(12, period))
    parts.append(_integer(13, strings[recording.comment]))
    parts += [_bytes(6, text.encode("utf-8", "replace")) for text in strings.texts]
    return gzip.compress(b"".join(parts), mtime=0)


class _Strings:
    """The string table: text -> index; the first is "" as the format wants."""

    def __init__(self) -> None:
        self._known = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self._known.setdefault(text, len(self._known))

    @property
    def texts(self) -> Iterable[str]:
        return self._known


def _pair(strings: _Strings, kind: str, unit: str) -> bytes:
    """A ValueType."""
    return _integer(1, strings[kind]) + _integer(2, strings[unit])


def _pair_of_ids(number: int, name: int) -> bytes:
    """A Mapping; has_functions, so that no viewer looks for the binary to name frames."""
    return _integer(1, number) + _integer(5, name) + _integer(7, 1)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


_message = _bytes


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(map(_varint, values)))
