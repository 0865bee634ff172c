"""Colours of frames by what they are: one table for flame graphs and for reports."""

from collections.abc import Mapping
from dataclasses import dataclass

from mysqlprof.changes import FunctionVerdict
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

# Red grew, blue shrank, grey is noise; the two that have no counterpart are darkest.
CHANGES: Mapping[FunctionVerdict, KindColour] = {
    "appeared": KindColour("new", "#8f1d2c", "#ffffff"),
    "grew": KindColour("grew", "#ef8a7d", "#1c1c1c"),
    "noise": KindColour("within noise", "#d9d9d5", "#1c1c1c"),
    "shrank": KindColour("shrank", "#8db6e2", "#1c1c1c"),
    "vanished": KindColour("gone", "#1f4e8c", "#ffffff"),
}
