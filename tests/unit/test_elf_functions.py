"""Functions by pattern in the symbol tables of small real ELF files."""

import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.common.exceptions import ELFError

from mysqlprof import scenario
from mysqlprof.elf import find_functions

# As g++ mangles String's members in 32-bit (j) and 64-bit (m) parameters; C needs no g++ for it.
SOURCE = """
int replace(void) __asm__("_ZN6String7replaceEmmPKcm");
int wrapper(void) __asm__("_ZN6String7replaceEmmRKS_");
int realloc_(void) __asm__("_ZN6String11mem_reallocEmb");
int realloc_exp(void) __asm__("_ZN6String15mem_realloc_expEm");
int elsewhere(void) __asm__("_ZN6String7replaceEjjPKcj");
int replace(void) { return 1; }
int wrapper(void) { return replace() + 1; }
int realloc_(void) { return 3; }
int realloc_exp(void) { return 4; }
int _ZN6String7replaceEmmPKcm_table[2] = {1, 2};
int user(void) { return elsewhere(); }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("needs gcc")
    folder = tmp_path_factory.mktemp("elf")
    (folder / "string.c").write_text(SOURCE)
    made = folder / "string.so"
    command = [gcc, "-shared", "-fPIC", "-o", str(made), str(folder / "string.c")]
    subprocess.run(command, check=True, timeout=60)
    return made


def patterns(name: str) -> list[str]:
    plan = scenario.load("bug-73056").counters
    assert plan
    return next(function.symbols for function in plan.functions if function.name == name)


def test_the_scenario_s_patterns_pick_the_function_and_no_overload_or_import(library):
    found = find_functions(library, patterns("String::replace"))
    assert [symbol.name for symbol in found] == ["_ZN6String7replaceEmmPKcm"]
    found = find_functions(library, patterns("String::mem_realloc"))
    assert [symbol.name for symbol in found] == ["_ZN6String11mem_reallocEmb"]


def test_a_stripped_file_still_has_its_dynamic_symbols(library, tmp_path):
    strip = shutil.which("strip")
    if strip is None:
        pytest.skip("needs strip")
    stripped = tmp_path / "stripped.so"
    subprocess.run([strip, "-s", "-o", str(stripped), str(library)], check=True, timeout=60)
    pattern = ["^_ZN6String7replaceE"]
    assert find_functions(stripped, pattern) == find_functions(library, pattern)


def test_nothing_fits_is_an_empty_answer_and_no_elf_is_an_error(library, tmp_path):
    assert find_functions(library, ["^no_such_function$"]) == []
    text = tmp_path / "text"
    text.write_text("no ELF")
    with pytest.raises(ELFError):
        find_functions(text, ["x"])
