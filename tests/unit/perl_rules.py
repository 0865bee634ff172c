"""The rules of stackcollapse-perf.pl, as plain as they can be said: slow, and obviously right.

Its expressions are used as they stand. Python's `re` on bytes reads them as Perl does.
"""

import re

_SAMPLE = re.compile(rb"^(\S.+?)\s+(\d+)\/*(\d+)*\s+", re.DOTALL)
_EVENT = re.compile(rb":\s*(\d+)*\s+(\S+):\s*$")
_FRAME = re.compile(rb"^\s*(\w+)\s*(.+) \((.*)\)", re.DOTALL)


def fold(
    text: bytes,
    *,
    pid: bool = False,
    tid: bool = False,
    kernel: bool = False,
    jit: bool = False,
    addrs: bool = False,
    event: bytes = b"",
) -> dict[bytes, int]:
    counts: dict[bytes, int] = {}
    comm, weight, stack = None, 1, []
    for line in text.removesuffix(b"\n").split(b"\n") if text else []:
        if line.startswith(b"#"):
            continue
        if line == b"":
            if comm:
                key = b";".join([comm, *stack])
                counts[key] = counts.get(key, 0) + weight
                comm, stack = None, []
        elif sample := _SAMPLE.search(line):
            name, first, second = sample.groups()
            process, thread = (first, second) if second not in (None, b"0") else (b"?", first)
            period = None
            if ends := _EVENT.search(line):
                period = ends[1]
                event = event or ends[2]
                if ends[2] != event:
                    continue
            weight = 1 if period in (None, b"", b"0") else int(period)
            comm = name
            if tid:
                comm = name + b"-" + process + b"/" + thread
            elif pid:
                comm = name + b"-" + process
            comm = comm.replace(b" ", b"_")
        elif (frame := _FRAME.search(line)) and comm:
            names = _names(*frame.groups(), comm, kernel, jit, addrs)
            stack = names + stack
    return counts


def _names(
    address: bytes, symbol: bytes, binary: bytes, comm: bytes, kernel: bool, jit: bool, addrs: bool
) -> list[bytes]:
    symbol = re.sub(rb"\+0x[\da-f]+\Z", b"", symbol, count=1)
    if symbol.startswith(b"("):
        return []
    parts = symbol.split(b"->")
    while parts and parts[-1] == b"":
        parts.pop()
    names: list[bytes] = []
    for name in parts:
        if name == b"[unknown]":
            known = binary != b"[unknown]"
            name = re.sub(rb".*/", b"", binary, count=1, flags=re.DOTALL) if known else b"unknown"
            name = b"[" + name + (b" <" + address + b">" if addrs else b"") + b"]"
        name = name.replace(b";", b":")
        if not re.search(rb"\.\(.*\)\.", name, re.DOTALL):
            name = re.sub(rb"\((?!anonymous namespace\)).*", b"", name, count=1, flags=re.DOTALL)
        name = name.replace(b'"', b"").replace(b"'", b"")
        if comm.startswith(b"java") and b"/" in name:
            name = re.sub(rb"^L", b"", name)
        if names:
            name += b"" if b"_[i]" in name else b"_[i]"
        elif kernel and re.search(rb"(^\[|vmlinux$)", binary) and b"unknown" not in binary:
            name += b"_[k]"
        elif jit and re.search(rb"/tmp/perf-\d+\.map", binary):
            name += b"" if b"_[j]" in name else b"_[j]"
        names.append(name)
    return names
