"""The matrix in sentences: who is hit where, by how much, and how a ratio becomes a word."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mysqlprof.model import MatrixVerdict
from mysqlprof.report import numbers
from mysqlprof.report.matrix import Matrix, MatrixServer
from mysqlprof.report.word import Word

_VERDICTS: dict[MatrixVerdict, Word] = {
    "slow": Word("slow", "▲", "slow"),
    "normal": Word("normal", "✓", "normal"),
    "cannot_tell": Word("cannot tell", "?", "unsure"),
    "not_measured": Word("not measured", "∅", "gap"),
}

_JOIN = "\u00a0"
"""No line of the headline ends in a number."""


def matrix_word(verdict: MatrixVerdict) -> Word:
    return _VERDICTS[verdict]


@dataclass(frozen=True)
class _Group:
    """Servers of which the same is said; one where drivers are slow stands alone."""

    servers: tuple[str, ...]
    total: int
    slow: int
    unsure: int
    gaps: int

    @property
    def rank(self) -> int:
        """Who is hit comes first, then who is not, then what is not known."""
        if self.slow:
            return 0
        if self.gaps == self.total:
            return 3
        return 2 if self.unsure + self.gaps == self.total else 1


def sentence(matrix: Matrix) -> str:
    """Which drivers are hit on which server.

    "4 of 4 drivers are slow on 5.7.29 with server-side prepare; none on 8.0.31"
    """
    clauses = [
        _clause(group, first=index == 0) + _rest(group)
        for index, group in enumerate(_groups(matrix.servers))
    ]
    text = "; ".join(clauses)
    return text[:1].upper() + text[1:]


def _groups(servers: Sequence[MatrixServer]) -> list[_Group]:
    groups: list[_Group] = []
    for server in servers:
        found = server.verdicts
        slow, unsure, gaps = (found.count(v) for v in ("slow", "cannot_tell", "not_measured"))
        new = _Group((server.label,), len(found), slow, unsure, gaps)
        same = [g for g in groups if not slow and replace(g, servers=new.servers) == new]
        for group in same:
            groups.remove(group)
            new = replace(new, servers=group.servers + new.servers)
        groups.append(new)
    return sorted(groups, key=lambda group: group.rank)


def _clause(group: _Group, first: bool) -> str:
    """The first clause says what is asked, so that later ones can be short."""
    where = _listed(group.servers, "and")
    prepare = "with server-side prepare"
    if group.rank == 3:
        return f"on {where} nothing was measured"
    if group.rank == 2:
        what = f" whether drivers are slow {prepare}" if first else ""
        return f"on {where} it cannot be told{what}"
    if group.rank == 1:
        where = _listed(group.servers, "or")
        return f"no driver is slow on {where} {prepare}" if first else f"none on {where}"
    amount = f"{group.slow} of {group.total}"
    if not first:
        return f"{amount} on {where}"
    noun = "driver" if group.total == 1 else "drivers"
    return f"{amount} {noun} {'is' if group.slow == 1 else 'are'} slow on {where} {prepare}"


def _rest(group: _Group) -> str:
    """What stands against reading the count as complete."""
    parts = []
    if group.unsure and group.rank < 2:
        parts.append(f"{group.unsure}{_JOIN}cannot be told")
    if group.gaps and group.rank < 3:
        parts.append(f"{group.gaps}{_JOIN}not measured")
    return f" ({', '.join(parts)}{' each' if len(group.servers) > 1 else ''})" if parts else ""


def _listed(names: Sequence[str], word: str) -> str:
    *head, last = names
    return f"{', '.join(head)} {word} {last}" if head else last


def extent(matrix: Matrix) -> str:
    """How slow the slow ones are, and how slow the article's are on the same servers."""
    slow = [cell for cell in matrix.judged if cell.row.verdict == "slow"]
    ratios = [cell.row.ratio for cell in slow if cell.row.ratio is not None]
    if not ratios:
        return ""
    text = (
        f"Where it is slow, server-side prepare takes {_range(ratios)} as long as client-side"
        " prepare"
    )
    published = [cell.article_ratio for cell in slow if cell.article_ratio is not None]
    return f"{text}; in the article, {_range(published)}." if published else f"{text}."


def _range(values: Sequence[float]) -> str:
    low, high = numbers.ratio(min(values)), numbers.ratio(max(values))
    return low if low == high else f"{low} to {high}"


def rule(matrix: Matrix) -> str:
    """How a ratio becomes a word."""
    if matrix.plan is None:
        return ""
    return (
        "The ratio is server-side over client-side prepare, of the same driver on the same server."
        f" Slow: its whole interval lies above {matrix.plan.slow_above:g}×. Normal: below"
        f" {matrix.plan.normal_below:g}×. All else: cannot tell."
    )
