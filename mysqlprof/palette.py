"""Colours of frames by what they are: one table for flame graphs and for reports."""

from collections.abc import Mapping
from dataclasses import dataclass

from mysqlprof.rules import FrameKind


@dataclass(frozen=True)
class KindColour:
    label: str
    fill: str
    """#rrggbb"""
    ink: str
    """Of text on `fill`."""


# Told apart by lightness as well as by hue: crimson is darkest, then orange, blue, yellow, grey.
KINDS: Mapping[FrameKind, KindColour] = {
    "bug": KindColour("text rebuilding", "#981238", "#ffffff"),
    "server": KindColour("mysqld", "#f7d668", "#1c1c1c"),
    "libc": KindColour("C library", "#a3b5de", "#1c1c1c"),
    "kernel": KindColour("kernel", "#ec8e32", "#1c1c1c"),
    "unknown": KindColour("no symbol", "#d6d6d2", "#1c1c1c"),
}
