"""Maps of stacks as bpftrace prints them: `@[kstack, ustack, comm] = count()`.

    Attaching 2 probes...

    @[
        __schedule+980
        entry_SYSCALL_64_after_hwframe+118
    ,
        read_events(THD*)+25
        0x7f83ee0b1234
    , mysqld]: 12
    @latency[mysqld,
        start_thread+773
    ]: 3

Frames stand innermost first. A key of two stacks is taken for [kernel, user], as bpftrace's manual
writes it; a stack whose outermost frame is an entry point of the kernel is the kernel's wherever
it stands. The key's other parts (comm, pid) become the outermost frames.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from mysqlprof.formats.kernel import is_entry_point
from mysqlprof.formats.lines import LineReader
from mysqlprof.formats.problems import Problems

_BEGIN = re.compile(rb"(@\w*)\[(.*)")
_END = re.compile(rb"(.*)\]: (\d+)")
_FRAME = re.compile(rb"(?:[0-9a-f]{6,16} )?(\S.*)")
_ADDRESS = re.compile(rb"0x[0-9a-f]+|[0-9a-f]{9,16}")
_OFFSET = re.compile(rb"\+(?:0x)?[0-9a-f]+(?: \(.*\))?\Z")
_QUIET = (b"Attaching ", b"Lost ", b"WARNING: ", b"@")
_MOST_DIGITS = 1000


@dataclass
class _Key:
    """Of the entry that is being read."""

    name: bytes
    plain: list[bytes] = field(default_factory=list)
    stacks: list[list[bytes]] = field(default_factory=list)


class BpftraceReader(LineReader):
    """Fed with chunks of the text; the chosen map's stacks are in `counts` after `finish`."""

    def __init__(self, problems: Problems, name: str = "") -> None:
        """`name` chooses a map ("@" or "@latency"); empty: the first."""
        super().__init__(problems)
        self.counts: dict[bytes, int] = {}
        """`comm;outer;inner` -> count."""
        self.map = name.encode()
        self.other_maps: Counter[str] = Counter()
        """Entries of maps that were not kept."""
        self._key: _Key | None = None

    def finish(self) -> None:
        super().finish()
        if self._key is not None:
            self.problems.add(self.number, "the text ends inside an entry, which is left out")
        self._key = None

    def read(self, line: bytes) -> None:
        line = line.rstrip(b"\r")
        begun = _BEGIN.fullmatch(line)
        if begun:
            if self._key is not None:
                self.problems.add(self.number, "an entry begins inside another, left out")
            self._key = _Key(begun[1])
            line = begun[2]
        if self._key is None:
            if line.strip() and not line.startswith(_QUIET):
                self.problems.add(self.number, "not an entry of a map", line)
        elif ended := _END.fullmatch(line):
            self._add_line(self._key, ended[1])
            self._end(self._key, ended[2])
        elif line.rstrip().endswith(b"]:"):
            self.problems.add(self.number, "an entry without a count is left out", line)
            self._key = None
        else:
            self._add_line(self._key, line)

    def _add_line(self, key: _Key, line: bytes) -> None:
        if line.startswith(b"    ") and key.stacks:
            key.stacks[-1].append(_named(line))
            return
        # What stands between two stacks: ", ", ", mysqld, 1234, " or nothing.
        parts = [part.strip() for part in line.split(b",")]
        key.plain += [part for part in parts if part]
        if not parts[-1]:
            key.stacks.append([])

    def _end(self, key: _Key, digits: bytes) -> None:
        self._key = None
        if not self.map:
            self.map = key.name
        if key.name != self.map:
            self.other_maps[key.name.decode()] += 1
            return
        stack = b";".join(_frames(key))
        if not stack or len(digits) > _MOST_DIGITS:
            self.problems.add(self.number, "an entry without a stack is left out")
            return
        self.counts[stack] = self.counts.get(stack, 0) + int(digits)


def _named(line: bytes) -> bytes:
    found = _FRAME.fullmatch(line.strip())
    name = _OFFSET.sub(b"", found[1]) if found else b""
    return b"[unknown]" if not name or _ADDRESS.fullmatch(name) else name.replace(b";", b":")


def _frames(key: _Key) -> list[bytes]:
    """Outermost first: the key's plain parts, the user stacks, the kernel stacks."""
    stacks = [stack for stack in key.stacks if stack]
    kernel = [stack for stack in stacks if is_entry_point(stack[-1].decode("utf-8", "replace"))]
    if not kernel and len(stacks) > 1:
        kernel = stacks[:1]
    user = [stack for stack in stacks if stack not in kernel]
    frames = [part.replace(b";", b":") for part in key.plain]
    for stack in user:
        frames += reversed(stack)
    for stack in kernel:
        frames += [frame + b"_[k]" for frame in reversed(stack)]
    return frames
