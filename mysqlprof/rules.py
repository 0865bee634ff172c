"""The rules of attribution.toml: which category a sample belongs to, and what a frame is.

The head of that file says how a sample is decided.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from mysqlprof.frozen import Frozen
from mysqlprof.stacks import UNKNOWN, PerName, Stack, is_kernel, plain_name

UNATTRIBUTED = "unattributed"

FrameKind = Literal["bug", "kernel", "libc", "server", "unknown"]


class Rule(Frozen):
    """One row of a category; expressions are searched for in names without the kernel mark."""

    frame: str
    caller: str | None = None
    below: str | None = None
    outside: str | None = None

    @property
    def by_name_alone(self) -> bool:
        return self.caller is None and self.below is None and self.outside is None


def _as_rule(row: object) -> object:
    return {"frame": row} if isinstance(row, str) else row


_Row = Annotated[Rule, BeforeValidator(_as_rule)]


class Category(Frozen):
    id: str
    label: str
    colour: Literal["bug", "kernel", "libc", "server"]
    where: Literal["any", "user"] = "any"
    match: tuple[_Row, ...] = Field(min_length=1)
    inclusive: tuple[_Row, ...] = ()


class _File(Frozen):
    libc: list[str]
    category: list[Category]


@dataclass(frozen=True)
class _Candidates:
    """What rules a frame's name fits, in the order of the file."""

    match: tuple[tuple[str, Rule], ...]
    within: frozenset[str]
    """Categories that the name alone puts the frame within."""
    within_context: tuple[tuple[str, Rule], ...]
    """The same, where the frame's surroundings have a say."""
    kind: FrameKind


class Rules:
    """Compiled rules."""

    def __init__(self, libc: Sequence[str], categories: Sequence[Category]) -> None:
        """Raises re.error for a broken expression."""
        self.categories = tuple(categories)
        self._libc = re.compile("|".join(f"(?:{expression})" for expression in libc))
        self._patterns = {text: re.compile(text) for text in _expressions(categories)}
        self._fitting: dict[tuple[str, str], bool] = {}
        self._candidates = PerName(self._look_up)

    def category_of(self, stack: Stack) -> str:
        """The one category that a sample with this stack is given to."""
        for index in range(len(stack) - 1, -1, -1):
            for category, rule in self._candidates[stack[index]].match:
                if self._fits_around(rule, stack, index):
                    return category
        return UNATTRIBUTED

    def categories_within(self, stack: Stack) -> set[str]:
        """All categories that have a frame in this stack."""
        fitting = [self._candidates[frame] for frame in stack]
        found: set[str] = set().union(*[candidates.within for candidates in fitting])
        for index, candidates in enumerate(fitting):
            for category, rule in candidates.within_context:
                if category not in found and self._fits_around(rule, stack, index):
                    found.add(category)
        return found

    def category_of_name(self, frame: str) -> str:
        """By the name alone, for functions that are never a leaf."""
        for category, rule in self._candidates[frame].match:
            if rule.by_name_alone:
                return category
        return UNATTRIBUTED

    def kind(self, frame: str) -> FrameKind:
        """What a frame is, for its colour."""
        return self._candidates[frame].kind

    def _look_up(self, frame: str) -> _Candidates:
        possible = [c for c in self.categories if not (c.where == "user" and is_kernel(frame))]
        match = [(c, r) for c in possible for r in c.match if self._fits(r.frame, frame)]
        within = [
            (c.id, r)
            for c in possible
            for r in c.inclusive or c.match
            if self._fits(r.frame, frame)
        ]
        bug = any(c.colour == "bug" and r.by_name_alone for c, r in match)
        return _Candidates(
            match=tuple((c.id, r) for c, r in match),
            within=frozenset(id for id, r in within if r.by_name_alone),
            within_context=tuple((id, r) for id, r in within if not r.by_name_alone),
            kind=self._kind(frame, bug),
        )

    def _kind(self, frame: str, bug: bool) -> FrameKind:
        if is_kernel(frame):
            return "kernel"
        if frame == UNKNOWN:
            return "unknown"
        if bug:
            return "bug"
        return "libc" if self._libc.search(frame) else "server"

    def _fits_around(self, rule: Rule, stack: Stack, index: int) -> bool:
        if rule.caller is not None and not (index and self._fits(rule.caller, stack[index - 1])):
            return False
        if rule.below is not None and not self._any_fits(rule.below, stack[:index]):
            return False
        return rule.outside is None or not self._any_fits(rule.outside, stack[:index])

    def _any_fits(self, expression: str, frames: Stack) -> bool:
        return any(self._fits(expression, frame) for frame in frames)

    def _fits(self, expression: str, frame: str) -> bool:
        key = (expression, frame)
        fits = self._fitting.get(key)
        if fits is None:
            found = self._patterns[expression].search(plain_name(frame))
            fits = self._fitting[key] = found is not None
        return fits


@cache
def load_rules() -> Rules:
    """The rules of attribution.toml."""
    text = resources.files("mysqlprof").joinpath("attribution.toml").read_text(encoding="utf-8")
    file = _File.model_validate(tomllib.loads(text))
    return Rules(file.libc, file.category)


def _expressions(categories: Sequence[Category]) -> Iterator[str]:
    for category in categories:
        for rule in (*category.match, *category.inclusive):
            yield from filter(None, (rule.frame, rule.caller, rule.below, rule.outside))
