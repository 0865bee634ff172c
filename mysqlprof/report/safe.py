"""Hostile text made harmless: function names, SQL and versions come from outside."""

import re
import unicodedata
from collections.abc import Sequence

_SPACES = {"\t": " ", "\n": " ", "\r": " "}


def visible(text: str) -> str:
    """Control and bidirectional characters as visible escapes; they could reorder or hide text.

    HTML escaping leaves them alone, so this goes before it.

    >>> visible("evil\\u202etxt")
    'evil\\\\u202etxt'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible_character(c) for c in text)


def _visible_character(character: str) -> str:
    if character in _SPACES:
        return _SPACES[character]
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        number = ord(character)
        return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
    return character


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, made visible."""
    text = visible(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def code_span(text: str) -> str:
    """A Markdown code span that no backtick inside can end, usable in a table cell."""
    text = visible(text)
    if not text:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    # GitHub splits cells at pipes before it looks for code spans.
    return f"{fence}{pad}{text}{pad}{fence}".replace("|", "\\|")


def code_block(text: str) -> str:
    """A fenced Markdown block that no line inside can close."""
    lines = [visible(line) for line in text.split("\n")]
    runs = [len(run) for line in lines for run in re.findall("`+", line)]
    fence = "`" * max(3, 1 + max(runs, default=0))
    return "\n".join([f"{fence}text", *lines, fence])


def markdown(text: str) -> str:
    """Plain words inside Markdown: no markup, no HTML, no mention, no table cell ends early.

    Escapes no more than needed, because many read the source: underscores inside words and
    brackets without a target are text already.
    """
    text = re.sub(r"[\\`*|~<]|(?<!\w)_|_(?!\w)|\](?=[(:\[])", r"\\\g<0>", visible(text))
    text = re.sub(r"^(\s*)([#>+-]|\d+[.)])(?=\s)", r"\1\\\2", text)
    return text.replace("\\<", "&lt;").replace("@", "&#64;").replace("://", "&#58;//")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: int = 0) -> str:
    """A Markdown table; `right` columns at the end hold numbers and are right-aligned. Cells are
    escaped already."""
    rule = ["---"] * (len(heads) - right) + ["---:"] * right
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))
