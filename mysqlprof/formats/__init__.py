"""Formats of other tools: what is read from them, what is written for them."""

from typing import Literal

ExportFormat = Literal["speedscope", "pprof", "folded", "svg"]
