"""Pages of the site: data in, one string out. Every name goes through escaping."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import jinja2

from mysqlprof import __version__
from mysqlprof.attribution import CategoryTotal, attribute
from mysqlprof.gallery.data import LEAST_SHARE
from mysqlprof.gallery.entry import Card, Entry, run_verdict
from mysqlprof.gallery.find import Found
from mysqlprof.gallery.libraries import FILES
from mysqlprof.palette import CHANGES, KINDS
from mysqlprof.report import numbers
from mysqlprof.report.templating import environment
from mysqlprof.report.words import moment, wording
from mysqlprof.rules import Rules
from mysqlprof.stacks import FoldedStacks, is_kernel, plain_name, short_name

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
)
"""What a page may load: files of the site. Nothing inline, nothing from elsewhere."""


@dataclass(frozen=True)
class FunctionRow:
    name: str
    frame: str
    kind: str
    own: int
    inclusive: int


@dataclass(frozen=True)
class Choice:
    """One filter of the first page."""

    key: str
    label: str
    values: Sequence[str]


def index_page(cards: Sequence[Card], bare: Sequence[Found]) -> str:
    """`bare` are the runs without a profile."""
    entries = [card.entry for card in cards]
    return _page(
        "index.html.j2",
        cards=cards,
        bare=bare,
        choices=_choices(entries),
        settings=_settings(entries),
        verdicts=_values(e.verdict.word for e in entries),
        run_verdict=run_verdict,
        least=LEAST_SHARE,
        runs=len({entry.run.id for entry in entries}) + len(bare),
    )


def profile_page(entry: Entry, stacks: FoldedStacks, rules: Rules) -> str:
    found = attribute(stacks, rules)
    categories = [c for c in found.categories if c.samples or c.inclusive]
    categories.sort(key=_by_samples)
    rows, left_out = _functions(stacks, rules)
    return _page(
        "profile.html.j2",
        root="../",
        entry=entry,
        total=stacks.total,
        distinct=len(stacks),
        categories=categories,
        functions=rows,
        left_out=left_out,
        least=LEAST_SHARE,
    )


def compare_page() -> str:
    return _page("compare.html.j2")


def licences_page(licences: Sequence[dict[str, str]]) -> str:
    return _page("licences.html.j2", licences=licences)


def style() -> str:
    return "".join(_environment().get_template(f"{n}.css.j2").render() for n in ("base", "graph"))


def _by_samples(category: CategoryTotal) -> tuple[int, str]:
    return -category.samples, category.id


def _functions(stacks: FoldedStacks, rules: Rules) -> tuple[list[FunctionRow], int]:
    """(by falling self samples, how many functions are too small to be listed)."""
    own, inclusive = stacks.self_counts(), stacks.inclusive_counts()
    least = stacks.total * LEAST_SHARE
    rows = [
        FunctionRow(
            name=short_name(frame),
            frame=plain_name(frame) + (" (kernel)" if is_kernel(frame) else ""),
            kind=rules.kind(frame),
            own=own.get(frame, 0),
            inclusive=count,
        )
        for frame, count in inclusive.items()
        if count >= least
    ]
    rows.sort(key=lambda row: (-row.own, -row.inclusive, row.frame))
    return rows, len(inclusive) - len(rows)


def _choices(entries: Sequence[Entry]) -> list[Choice]:
    found = [
        Choice("scenario", "Scenario", _values(e.run.scenario for e in entries)),
        Choice("server", "Server", _values(e.version for e in entries)),
        Choice("driver", "Driver", _values(e.driver for e in entries)),
    ]
    return [choice for choice in found if choice.values]


def _values(texts: Any) -> list[str]:
    return sorted({text for text in texts if text})


def _settings(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """Factor -> levels that occur."""
    found: dict[str, set[str]] = {}
    for entry in entries:
        for factor, level in entry.settings.items():
            found.setdefault(factor, set()).add(level)
    return {factor: sorted(levels) for factor, levels in sorted(found.items())}


def _page(template: str, **values: Any) -> str:
    return _environment().get_template(template).render({"root": "", **values})


@cache
def _environment() -> jinja2.Environment:
    env = environment("mysqlprof.gallery")
    env.filters |= {
        "share": numbers.share,
        "ratio": numbers.ratio,
        "count": numbers.count,
        "seconds": numbers.seconds,
        "moment": moment,
        "wording": wording,
    }
    env.globals |= {
        "kinds": KINDS,
        "changes": CHANGES,
        "policy": POLICY,
        "libraries": FILES,
        "tool_version": __version__,
    }
    return env
