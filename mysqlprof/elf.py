"""Facts about executables."""

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

_SYMBOL = struct.Struct("<IBBHQQ")
"""Elf64_Sym: name, info, other, section, value, size."""
_FUNCTION = 2
"""STT_FUNC."""


def build_id(path: Path) -> str:
    """The GNU build id of an ELF file, in hex; empty where it carries none."""
    try:
        with path.open("rb") as file:
            for section in ELFFile(file).iter_sections():
                if isinstance(section, NoteSection):
                    for note in section.iter_notes():
                        if note["n_type"] == "NT_GNU_BUILD_ID":
                            return str(note["n_desc"])
    except (OSError, ELFError):
        pass
    return ""


@dataclass(frozen=True)
class Symbol:
    name: str
    """Mangled."""
    address: int


def find_functions(path: Path, patterns: Iterable[str]) -> list[Symbol]:
    """Functions defined in an ELF file whose mangled names fit one of the expressions, each once,
    by address. Raises OSError and ELFError."""
    expressions = [re.compile(pattern) for pattern in patterns]
    found = {
        symbol.address: symbol
        for symbol in _functions(path, path.stat().st_mtime_ns)
        if any(expression.search(symbol.name) for expression in expressions)
    }
    return [found[address] for address in sorted(found)]


@lru_cache(maxsize=4)
def _functions(path: Path, modified_ns: int) -> tuple[Symbol, ...]:
    with path.open("rb") as file:
        elf = ELFFile(file)
        if elf.elfclass != 64 or not elf.little_endian:
            raise ELFError("not a 64-bit little-endian file")
        return tuple(symbol for table in (".dynsym", ".symtab") for symbol in _table(elf, table))


def _table(elf: ELFFile, name: str) -> Iterator[Symbol]:
    """Read as what it is: pyelftools takes seconds for the tens of thousands that a mysqld has."""
    section = elf.get_section_by_name(name)
    if section is None:
        return
    strings: bytes = elf.get_section(section["sh_link"]).data()
    for start, info, _, where, address, _ in _SYMBOL.iter_unpack(section.data()):
        if info & 15 == _FUNCTION and where and address:
            yield Symbol(
                strings[start : strings.index(0, start)].decode("ascii", "replace"), address
            )


def debug_link(path: Path) -> str:
    """The name of the file that holds the symbols stripped from an ELF file; empty if none."""
    try:
        with path.open("rb") as file:
            section = ELFFile(file).get_section_by_name(".gnu_debuglink")
            return section.data().split(b"\0")[0].decode() if section else ""
    except (OSError, ELFError):
        return ""
