"""One frame's line of `perf script`, as FlameGraph's stackcollapse-perf.pl names it.

Accepted lines (address, symbol, binary); the offset is printed since Linux 4.8:

    ffffffff8103ce3b native_safe_halt ([kernel.kallsyms])
            7f53389994d0 [unknown] (/usr/lib/libc-2.28.so)
            7f53389994d0 [unknown] ([unknown])
             ce5fbd String::mem_realloc(unsigned long, bool)+0x1d (/opt/bin/mysqld)
        7f722d142778 Lspark/Main;::run->Ljava/util/List;::size (/tmp/perf-19982.map)
        7f1e2215d058  (/lib/x86_64-linux-gnu/libc-2.15.so)
        55d0c0 net/http.(*Client).Do (/usr/bin/server)

Everything is bytes: a name may hold anything but a newline.
"""

import re
from dataclasses import dataclass

_ADDRESS_AND_SYMBOL = re.compile(rb"\s*(\w+)\s*(.+)", re.DOTALL)
_ADDRESS_ONLY = re.compile(rb"\s+([0-9a-f]+) (\S.*)", re.DOTALL)
_OFFSET = re.compile(rb"\+0x[\da-f]+\Z")
_ARGUMENTS = re.compile(rb"\((?!anonymous namespace\)).*", re.DOTALL)
_JITTED = re.compile(rb"/tmp/perf-\d+\.map")
_QUOTES = b"\"'"
_UNKNOWN = b"[unknown]"


@dataclass(frozen=True)
class FrameOptions:
    """Named as stackcollapse-perf.pl names them."""

    kernel: bool = False
    """Mark kernel functions with _[k]."""
    jit: bool = False
    """Mark functions of a JIT compiler with _[j]."""
    addrs: bool = False
    """Put the address into the name of a frame without symbol."""


def parts_of(line: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Address, symbol and binary; None where the line is not a frame's.

    The binary is what stands in the last parentheses, so a symbol may hold some, too.
    """
    closing = line.rfind(b")")
    opening = line.rfind(b" (", 0, max(closing, 0))
    if opening < 0:
        return None
    found = _ADDRESS_AND_SYMBOL.fullmatch(line, 0, opening)
    return (found[1], found[2], line[opening + 2 : closing]) if found else None


def sparse_parts_of(line: bytes) -> tuple[bytes, bytes, bytes] | None:
    """The same for texts that may lack the binary: `  ffffffff8103ce3b native_safe_halt`."""
    found = parts_of(line) or _ADDRESS_ONLY.fullmatch(line)
    if found is None or isinstance(found, tuple):
        return found
    return found[1], found[2], _UNKNOWN


def names_of(
    parts: tuple[bytes, bytes, bytes], options: FrameOptions, *, java: bool
) -> list[bytes]:
    """The frame's functions, outermost first: none, one, or a chain of inlined ones."""
    address, symbol, binary = parts
    symbol = _OFFSET.sub(b"", symbol)
    if symbol.startswith(b"("):  # the name of a process, which some versions print there
        return []
    functions = symbol.split(b"->")
    while functions and not functions[-1]:  # Perl's split drops empty fields at the end
        functions.pop()
    names: list[bytes] = []
    for function in functions:
        name = _tidied(_resolved(function, address, binary, options), java=java)
        names.append(name + _mark(name, binary, options, inlined=bool(names)))
    return names


def _resolved(function: bytes, address: bytes, binary: bytes, options: FrameOptions) -> bytes:
    """A frame without symbol is named after its binary."""
    if function != _UNKNOWN:
        return function
    name = b"unknown" if binary == _UNKNOWN else binary.rpartition(b"/")[2]
    return b"[%s <%s>]" % (name, address) if options.addrs else b"[%s]" % name


def _tidied(name: bytes, *, java: bool) -> bytes:
    """Without argument list (but for Go's methods), quotes, and Java's leading L."""
    name = name.replace(b";", b":")
    receiver = name.find(b".(")
    if receiver < 0 or name.rfind(b").") < receiver + 2:
        name = _ARGUMENTS.sub(b"", name)
    name = name.translate(None, _QUOTES)
    return name[1:] if java and name.startswith(b"L") and b"/" in name else name


def _mark(name: bytes, binary: bytes, options: FrameOptions, *, inlined: bool) -> bytes:
    if inlined:
        return b"" if b"_[i]" in name else b"_[i]"
    if options.kernel and _is_kernel(binary):
        return b"_[k]"
    if options.jit and _JITTED.search(binary):
        return b"" if b"_[j]" in name else b"_[j]"
    return b""


def _is_kernel(binary: bytes) -> bool:
    return (binary.startswith(b"[") or binary.endswith(b"vmlinux")) and b"unknown" not in binary
