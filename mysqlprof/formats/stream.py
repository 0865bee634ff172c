"""A file's bytes as chunks, unpacked where it is gzip, never more than a bound."""

import zlib
from collections.abc import Iterator
from typing import Protocol

from mysqlprof.formats.sniff import HEAD_BYTES

CHUNK_BYTES = 2**20
MAX_UNPACKED_BYTES = 8 * 2**30
"""Of a gzip file: a few kilobytes can be made to unpack into terabytes."""

GZIP = b"\x1f\x8b"


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def chunks(file: Readable, limit: int = MAX_UNPACKED_BYTES) -> Iterator[bytes]:
    """The bytes of `file`; the first chunk is as large as the file or HEAD_BYTES, or larger.

    Raises ValueError where gzip data is broken, cut short, or unpacks into more than `limit` bytes.
    """
    packed = _raw(file)
    first = next(packed, b"")
    while len(first) < len(GZIP) and (more := next(packed, b"")):
        first += more
    source = _joined(first, packed)
    if first.startswith(GZIP):
        source = _unpacked(source, limit)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    yield head
    yield from source


def _raw(file: Readable) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _unpacked(source: Iterator[bytes], limit: int) -> Iterator[bytes]:
    """gzip's members, one after another; zeros behind the last one are padding."""
    total = 0
    member, begun = zlib.decompressobj(wbits=31), False
    for packed in source:
        data = packed
        while data := data if begun else data.lstrip(b"\x00"):
            begun = True
            try:
                text = member.decompress(data, CHUNK_BYTES)
            except zlib.error as error:
                raise ValueError(f"its gzip data is broken: {error}") from None
            total += len(text)
            if total > limit:
                raise ValueError(f"it unpacks into more than {limit:,} bytes")
            if text:
                yield text
            data = member.unconsumed_tail
            if member.eof:
                data = member.unused_data
                member, begun = zlib.decompressobj(wbits=31), False
    if begun:
        raise ValueError("its gzip data is cut short")
