"""Flame graphs, drawn by FlameGraph's flamegraph.pl and coloured by what each frame is.

The program differs by version (NYTProf's is from 2014 and knows no --subtitle), so title, subtitle
and legend are put above the drawing here, the same for all.
"""

import os
import re
import subprocess
import tempfile
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from mysqlprof import host
from mysqlprof.attribution import Rules, load_rules
from mysqlprof.errors import EnvironmentLacks, PartialData
from mysqlprof.palette import KINDS, KindColour
from mysqlprof.rules import FrameKind
from mysqlprof.stacks import FoldedStacks, Stack, short_name

WIDTH = 1200
MIN_WIDTH = 0.5
"""Pixels that a frame needs to be drawn."""
TIMEOUT_S = 120.0

_HINT = (
    "sudo apt-get install -y libdevel-nytprof-perl,"
    f" or set {host.FLAMEGRAPH_VARIABLE} to a flamegraph.pl"
)

_SHADES = 5
_SHADE_STEP = 4

_PAPER = "#fffefa"
_FONT = "Verdana, DejaVu Sans, sans-serif"
_BAND = 56
"""Height in pixels of what is put above the drawing."""

_HEAD = re.compile(
    r'<svg\b(?P<before>[^>]*?)\bwidth="(?P<width>\d+)" height="(?P<height>\d+)"'
    r'(?P<between>[^>]*?)\bviewBox="0 0 \d+ \d+"'
)
_BACKGROUND = re.compile(r'stop-color="[^"]*"')
_NUMBER_AT_END = re.compile(r"\s+(?=\d+(\.\d*)?$)")


def find_flamegraph() -> Path:
    """The flamegraph.pl to use; raises EnvironmentLacks where there is none."""
    found = host.find_flamegraph()
    if found is None:
        chosen = os.environ.get(host.FLAMEGRAPH_VARIABLE)
        raise EnvironmentLacks(
            f"{host.FLAMEGRAPH_VARIABLE} names {chosen}, which is no file"
            if chosen
            else "FlameGraph's flamegraph.pl is missing",
            _HINT,
        )
    return Path(found)


def render(
    stacks: FoldedStacks,
    *,
    title: str,
    subtitle: str,
    rules: Rules | None = None,
    width: int = WIDTH,
) -> str:
    """The flame graph as the text of an SVG file, `width` pixels wide.

    C++ argument lists and kernel marks are left out of the picture; `stacks` keep them.
    Raises EnvironmentLacks without the program, PartialData where there is nothing to draw.
    """
    if not stacks.total:
        raise PartialData("there are no samples to draw", "record for longer")
    visible = without_slivers(stacks, MIN_WIDTH * stacks.total / width)
    names, kinds = _displayed(visible.frames(), rules or load_rules())
    svg = draw(visible.map_frames(names.__getitem__), dict(_colours(kinds)), "samples", width)
    legend = [KINDS[kind] for kind in KINDS if kind in kinds.values()]
    return headed(svg, title, subtitle, legend)


def draw(
    stacks: FoldedStacks, colours: Mapping[str, str], count_name: str, width: int = WIDTH
) -> str:
    """flamegraph.pl's drawing of `stacks`, each frame in the colour of its name ("rgb(r,g,b)").

    "" names the frame at the bottom that stands for the whole.
    """
    program = find_flamegraph()
    with tempfile.TemporaryDirectory(prefix="mysqlprof-flamegraph-") as directory:
        palette = "".join(f"{name}->{colour}\n" for name, colour in colours.items())
        Path(directory, "palette.map").write_text(palette, encoding="utf-8")
        svg = _run(program, width, count_name, stacks.to_folded(), directory)
    if f"all ({stacks.total:,} {count_name}, 100%)" not in svg:
        raise PartialData(f"{program} did not draw all {stacks.total} {count_name}", _HINT)
    return svg


def display_name(frame: str) -> str:
    """A frame's name for the picture: short, and harmless in XML, in the picture's script and in
    the program's input, which knows ";", "->" and numbers at the end of a line.
    """
    name = "".join(map(_harmless, short_name(frame).strip()))
    return _NUMBER_AT_END.sub("_", name) or "[no name]"


def _harmless(character: str) -> str:
    replaced = {";": ":", "<": "‹", ">": "›", "\\": "/", "'": "’", '"': "”"}.get(character)  # noqa: RUF001
    if replaced is not None:
        return replaced
    if character.isascii() and character.isprintable():
        return character
    if unicodedata.category(character)[0] in "LNPS":
        return character
    return f"[U+{ord(character):04X}]"


def without_slivers(stacks: FoldedStacks, least: float) -> FoldedStacks:
    """The same samples, cut off where a subtree has fewer than `least` of them.

    The program would not draw these frames either, but takes seconds and hundreds of MB over
    the tens of thousands of them that a long recording has.
    """
    kept: Counter[Stack] = Counter()
    waiting = [(0, list(stacks.items()))]
    while waiting:
        depth, alike = waiting.pop()
        branches: dict[str, list[tuple[Stack, int]]] = {}
        for stack, count in alike:
            if len(stack) == depth:
                kept[stack] += count
            else:
                branches.setdefault(stack[depth], []).append((stack, count))
        for branch in branches.values():
            samples = sum(count for _, count in branch)
            if depth == 0 or samples >= least:
                waiting.append((depth + 1, branch))
            else:
                kept[branch[0][0][:depth]] += samples
    return FoldedStacks(kept)


def _displayed(frames: Iterable[str], rules: Rules) -> tuple[dict[str, str], dict[str, FrameKind]]:
    """Frame -> name in the picture, and name -> kind: a name has one colour only."""
    names: dict[str, str] = {}
    kinds: dict[str, FrameKind] = {}
    for frame in sorted(frames):
        kind = rules.kind(frame)
        name = display_name(frame)
        if kinds.setdefault(name, kind) != kind:
            name = f"{name} [{kind}]"
            kinds[name] = kind
        names[frame] = name
    return names, kinds


def _colours(kinds: Mapping[str, FrameKind]) -> Iterator[tuple[str, str]]:
    """Of all names, and of the nameless frame at the bottom that stands for the whole."""
    yield "", rgb(KINDS["unknown"].fill)
    for name, kind in kinds.items():
        yield name, _colour(name, kind)


def _colour(name: str, kind: FrameKind) -> str:
    """A shade that stays the same from picture to picture."""
    base = _parts(KINDS[kind].fill)
    step = 0 if kind == "bug" else zlib.crc32(name.encode()) % _SHADES - _SHADES // 2
    return _rgb(min(255, part + step * _SHADE_STEP) for part in base)


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _rgb(parts: Iterable[int]) -> str:
    return "rgb({},{},{})".format(*parts)


def rgb(colour: str) -> str:
    """`#rrggbb` as flamegraph.pl's palette has it."""
    return _rgb(_parts(colour))


def _run(program: Path, width: int, count_name: str, folded: str, directory: str) -> str:
    command = [
        *(str(program), "--cp", f"--width={width}", "--title= ", f"--countname={count_name}"),
        *(
            "--nametype=Function:",
            f"--fonttype={_FONT}",
            "--fontwidth=0.64",
            f"--minwidth={MIN_WIDTH}",
        ),
    ]
    try:
        done = subprocess.run(
            command,
            input=folded.encode(),
            capture_output=True,
            cwd=directory,
            timeout=TIMEOUT_S,
            check=False,
            # Perl cuts names to their width: by characters, not in the middle of one.
            env=os.environ | {"PERL_UNICODE": "SDA", "LC_ALL": "C"},
        )
    except OSError as error:
        raise EnvironmentLacks(f"cannot run {program}: {error.strerror}", _HINT) from error
    except subprocess.TimeoutExpired as error:
        raise PartialData(f"{program} took longer than {TIMEOUT_S:.0f} s", _HINT) from error
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise PartialData(f"{program} failed: {words[-1] if words else done.returncode}", _HINT)
    return done.stdout.decode("utf-8", "replace")


def headed(svg: str, title: str, subtitle: str, legend: Sequence[KindColour]) -> str:
    """The drawing with a band above it: title, subtitle, legend."""
    head = _HEAD.search(svg)
    end = svg.rfind("</svg>")
    if head is None or end < 0:
        raise PartialData("flamegraph.pl printed no SVG that is understood", _HINT)
    width, height = int(head["width"]), int(head["height"])
    opening = (
        f'<svg{head["before"]}width="{width}" height="{height + _BAND}"'
        f'{head["between"]}viewBox="0 {-_BAND} {width} {height + _BAND}"'
    )
    body = _BACKGROUND.sub(f'stop-color="{_PAPER}"', svg[head.end() : end])
    band = [
        f'<rect x="0" y="{-_BAND}" width="{width}" height="{_BAND}" fill="{_PAPER}" />',
        _text(10, -_BAND + 26, 17, "#1c1c1c", title, bold=True),
        _text(10, -_BAND + 46, 12, "#595959", subtitle),
        *_legend(legend),
        _style(legend),
    ]
    return svg[: head.start()] + opening + body + "\n".join(band) + "\n</svg>\n"


def _legend(legend: Sequence[KindColour]) -> list[str]:
    """In the row of the program's own buttons: "Reset Zoom" to the left, "Search" to the right."""
    parts = []
    x = 120
    for colour in legend:
        parts.append(f'<rect x="{x}" y="14" width="12" height="12" rx="2" fill="{colour.fill}" />')
        parts.append(_text(x + 18, 24, 12, "#1c1c1c", colour.label))
        x += 50 + 7 * len(colour.label)
    return parts


def _style(legend: Sequence[KindColour]) -> str:
    """Light text on dark colours, as long as the frame has them (a search hit has another)."""
    rules = [
        f'rect[fill="{rgb(colour.fill)}"][ry] + text {{ fill: {colour.ink}; }}'
        for colour in legend
        if colour.ink == "#ffffff"
    ]
    return (
        f'<style type="text/css">{" ".join(rules)} #search {{ opacity: 0.7 !important; }}</style>'
    )


def _text(x: int, y: int, size: int, colour: str, words: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    visible = escape("".join(map(_printable, words)))
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-family="{_FONT}" fill="{colour}"{weight}>'
        f"{visible}</text>"
    )


def _printable(character: str) -> str:
    return character if character in "<>'\"\\; " else _harmless(character)
