"""The compressed protocol: packets of zlib streams around MySQL packets.

https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_compression_packet.html
"""

import zlib
from collections.abc import Iterator

from mysqlprof.wire.streams import Chunk

_HEADER = 7


class Damaged(ValueError):
    """Not the compressed protocol, or a gap in it: no byte after it can be read."""


class Inflater:
    """One direction: chunks as captured -> chunks of what was compressed."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._first_ns = 0

    def feed(self, chunk: Chunk) -> Iterator[Chunk]:
        if chunk.data is None:
            raise Damaged(f"{chunk.length:,} bytes are missing from the compressed stream")
        if not self._held:
            self._first_ns = chunk.first_ns
        self._held += chunk.data
        at = 0
        while at + _HEADER <= len(self._held):
            size = int.from_bytes(self._held[at : at + 3], "little")
            plain_size = int.from_bytes(self._held[at + 4 : at + 7], "little")
            end = at + _HEADER + size
            if end > len(self._held):
                break
            data = _plain(bytes(self._held[at + _HEADER : end]), plain_size)
            yield Chunk(self._first_ns, chunk.last_ns, memoryview(data), len(data))
            self._first_ns = chunk.last_ns
            at = end
        del self._held[:at]


def _plain(data: bytes, size: int) -> bytes:
    """`size` is 0 where the payload was too short to be worth compressing."""
    if not size:
        return data
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(data, size)
    except zlib.error as error:
        raise Damaged(f"it is not zlib: {error}") from error
    if len(plain) != size:
        raise Damaged(f"{size:,} bytes were announced, {len(plain):,} were there")
    return plain
