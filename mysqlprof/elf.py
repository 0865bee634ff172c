"""Facts about executables."""

from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection


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
