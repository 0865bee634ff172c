"""pprof's protocol buffer, read back by a decoder of its own; Go's reads it elsewhere."""

import gzip
from collections.abc import Iterator

from mysqlprof.formats.pprof import Recording, to_pprof
from mysqlprof.stacks import FoldedStacks

STACKS = FoldedStacks.parse(
    ["main;String::replace(unsigned int);memcpy 300", "main;do_syscall_64_[k] 1"]
)
RECORDING = Recording(
    comment="a cell", unit="samples", frequency_hz=999, window_s=1.5, time_ns=10**18
)


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, varint or bytes) of each field, in order."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            length = varint()
            yield key >> 3, message[at : at + length]
            at += length


def numbers(packed: bytes) -> list[int]:
    """Packed varints, by way of fields that are made of them."""
    found, value, shift = [], 0, 0
    for byte in packed:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    return found


def messages(content: bytes, number: int) -> list[dict[int, int | bytes]]:
    whole = gzip.decompress(content)
    return [dict(fields(value)) for n, value in fields(whole) if n == number]  # type: ignore[arg-type]


def strings(content: bytes) -> list[str]:
    whole = gzip.decompress(content)
    return [value.decode() for n, value in fields(whole) if n == 6 and isinstance(value, bytes)]


def functions(content: bytes) -> dict[int, str]:
    names = strings(content)
    return {f[1]: names[f[2]] for f in messages(content, 5)}  # type: ignore[index,misc]


def test_each_stack_is_a_sample_from_the_leaf_to_the_root() -> None:
    content = to_pprof(STACKS, RECORDING)
    names = functions(content)
    found = {
        tuple(names[i] for i in numbers(sample[1])): numbers(sample[2])  # type: ignore[arg-type]
        for sample in messages(content, 2)
    }
    period = round(1e9 / 999)
    assert found == {
        ("memcpy", "String::replace", "main"): [300, 300 * period],
        ("do_syscall_64", "main"): [1, period],
    }


def test_the_whole_name_is_kept_beside_the_short_one() -> None:
    assert "String::replace(unsigned int)" in strings(to_pprof(STACKS, RECORDING))


def test_without_a_frequency_there_is_no_cpu_time() -> None:
    content = to_pprof(STACKS, Recording("imported", "ns", 0, 0.0, 0))
    (kind,) = messages(content, 1)
    names = strings(content)
    assert (names[kind[1]], names[kind[2]]) == ("ns", "nanoseconds")  # type: ignore[index]
    assert sorted(numbers(s[2]) for s in messages(content, 2)) == [[1], [300]]  # type: ignore[arg-type]


def test_the_same_profile_gives_the_same_bytes() -> None:
    assert to_pprof(STACKS, RECORDING) == to_pprof(STACKS, RECORDING)
