"""Where the time went: samples by named category and by function. Rules are data.

`attribution.toml` says which frames belong where, and in its head how a sample is decided.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mysqlprof.errors import UsageError
from mysqlprof.model import AttributionRow
from mysqlprof.rules import UNATTRIBUTED, Rules, load_rules
from mysqlprof.stacks import FoldedStacks, Stack, plain_name

__all__ = [
    "UNATTRIBUTED",
    "Attribution",
    "CategoryTotal",
    "FunctionTotal",
    "Rules",
    "attribute",
    "hottest_path",
    "load_rules",
    "path_share",
]


@dataclass(frozen=True)
class CategoryTotal:
    id: str
    label: str
    colour: str
    samples: int
    """Samples given to this category and to no other."""
    inclusive: int
    """Samples with any of its frames in their stacks."""


@dataclass(frozen=True)
class FunctionTotal:
    function: str
    category: str
    samples: int
    """Samples that have the function as leaf and were given to the category."""
    inclusive: int
    """Samples with the function in their stacks, whatever their category."""


@dataclass(frozen=True)
class Attribution:
    """A profile by category and function. The categories' `samples` sum to `total`."""

    total: int
    categories: tuple[CategoryTotal, ...]
    """In the order of the rules; `unattributed` last."""
    functions: tuple[FunctionTotal, ...]
    """By falling samples. One function may stand in several categories; one that is never a leaf
    stands once, with 0 samples."""

    @property
    def unattributed(self) -> int:
        return self.samples(UNATTRIBUTED)

    def samples(self, category: str) -> int:
        return self._find(category).samples

    def inclusive(self, category: str) -> int:
        return self._find(category).inclusive

    def to_rows(self, cell: str) -> list[AttributionRow]:
        """Rows of attribution.csv: each category's own, then those of its functions."""
        rows = []
        for category in self.categories:
            rows.append(self._row(cell, category.id, "", category.samples, category.inclusive))
            rows += [
                self._row(cell, f.category, f.function, f.samples, f.inclusive)
                for f in self.functions
                if f.category == category.id
            ]
        return rows

    def _find(self, category: str) -> CategoryTotal:
        for found in self.categories:
            if found.id == category:
                return found
        have = ", ".join(c.id for c in self.categories)
        raise UsageError(f"there is no category {category!r}", f"categories are: {have}")

    def _row(
        self, cell: str, category: str, function: str, samples: int, inclusive: int
    ) -> AttributionRow:
        whole = self.total or 1
        return AttributionRow(
            cell=cell,
            category=category,
            function=function,
            samples=samples,
            self_share=samples / whole,
            inclusive_samples=inclusive,
            inclusive_share=inclusive / whole,
        )


def attribute(stacks: FoldedStacks, rules: Rules) -> Attribution:
    """Give every sample to one category."""
    own: Counter[str] = Counter()
    within: Counter[str] = Counter()
    leaves: Counter[tuple[str, str]] = Counter()
    for stack, count in stacks.items():
        category = rules.category_of(stack)
        own[category] += count
        leaves[stack[-1], category] += count
        for found in rules.categories_within(stack) | {category}:
            within[found] += count
    within[UNATTRIBUTED] = own[UNATTRIBUTED]
    assert own.total() == stacks.total, "every sample has exactly one category"
    names: list[tuple[str, str, str]] = [(c.id, c.label, c.colour) for c in rules.categories]
    names.append((UNATTRIBUTED, "Unattributed", "unknown"))
    return Attribution(
        total=stacks.total,
        categories=tuple(CategoryTotal(i, n, colour, own[i], within[i]) for i, n, colour in names),
        functions=tuple(_functions(stacks, leaves, rules)),
    )


def _functions(
    stacks: FoldedStacks, leaves: Counter[tuple[str, str]], rules: Rules
) -> list[FunctionTotal]:
    inclusive = stacks.inclusive_counts()
    never_leaf = inclusive.keys() - {function for function, _ in leaves}
    found = [FunctionTotal(f, c, n, inclusive[f]) for (f, c), n in leaves.items()]
    found += [FunctionTotal(f, rules.category_of_name(f), 0, inclusive[f]) for f in never_leaf]
    return sorted(found, key=lambda f: (-f.samples, -f.inclusive, f.function, f.category))


def path_share(stacks: FoldedStacks, patterns: Sequence[str]) -> tuple[int, int]:
    """(samples whose stacks have frames fitting all `patterns` in order from the root, total)."""
    expressions = [re.compile(pattern) for pattern in patterns]
    hits = [{f for f in stacks.frames() if e.search(plain_name(f))} for e in expressions]
    on_path = stacks.select(lambda stack: _follows(stack, hits))
    return on_path.total, stacks.total


def _follows(stack: Stack, hits: Sequence[set[str]]) -> bool:
    step = 0
    for frame in stack:
        if step < len(hits) and frame in hits[step]:
            step += 1
    return step == len(hits)


def hottest_path(stacks: FoldedStacks) -> tuple[str, ...]:
    """From the root always into the heaviest frame, to where more samples end than go on."""
    path: tuple[str, ...] = ()
    here = list(stacks.items())
    while here:
        depth = len(path)
        ahead: Counter[str] = Counter()
        for stack, count in here:
            if len(stack) > depth:
                ahead[stack[depth]] += count
        if not ahead:
            break
        frame, samples = min(ahead.items(), key=lambda item: (-item[1], item[0]))
        ending = sum(count for _, count in here) - ahead.total()
        if ending > samples:
            break
        here = [(s, count) for s, count in here if len(s) > depth and s[depth] == frame]
        path += (frame,)
    return path
