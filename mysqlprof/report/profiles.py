"""What the report shows of one profiled cell: categories, functions, the path, the picture."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mysqlprof.attribution import CategoryTotal, FunctionTotal, attribute, hottest_path, load_rules
from mysqlprof.model import ProfileInfo
from mysqlprof.stacks import FoldedStacks, Stack, is_kernel, plain_name, short_name
from mysqlprof.store import RunDirectory

_TOP = 12


@dataclass(frozen=True)
class CategoryShare:
    id: str
    label: str
    samples: int
    share: float
    inclusive_share: float


@dataclass(frozen=True)
class FunctionShare:
    frame: str
    name: str
    kernel: bool
    category: str
    """Label of the category that its self samples were given to."""
    self_share: float
    inclusive_share: float


@dataclass(frozen=True)
class PathStep:
    name: str
    share: float
    """Of all samples: those whose stacks hold this step below all earlier ones, in order."""


@dataclass(frozen=True)
class ProfileView:
    cell: str
    info: ProfileInfo
    stacks: FoldedStacks
    svg: str | None
    categories: tuple[CategoryShare, ...]
    """Those with samples, the largest first; their samples sum to the total."""
    top_self: tuple[FunctionShare, ...]
    top_inclusive: tuple[FunctionShare, ...]
    hottest: tuple[str, ...]
    """Frames of the hottest path, root first."""

    @property
    def hottest_names(self) -> list[str]:
        return [short_name(frame) for frame in self.hottest]

    @property
    def total(self) -> int:
        return self.stacks.total


def read_profiles(run_dir: RunDirectory) -> dict[str, ProfileView]:
    """All stored profiles by cell, attributed anew from their stacks."""
    return {info.cell: _read(run_dir, info) for info in run_dir.profiles()}


def _read(run_dir: RunDirectory, info: ProfileInfo) -> ProfileView:
    stacks = run_dir.read_stacks(info.cell)
    found = attribute(stacks, load_rules())
    labels = {category.id: category.label for category in found.categories}
    functions = [_function(f, labels, found.total) for f in found.functions]
    once = {f.frame: f for f in reversed(functions)}.values()
    categories = [_category(c, found.total) for c in found.categories if c.samples or c.inclusive]
    return ProfileView(
        cell=info.cell,
        info=info,
        stacks=stacks,
        svg=run_dir.read_svg(info.cell),
        categories=tuple(sorted(categories, key=lambda c: (-c.samples, c.id))),
        top_self=tuple(f for f in functions[:_TOP] if f.self_share),
        top_inclusive=tuple(sorted(once, key=lambda f: (-f.inclusive_share, f.frame))[:_TOP]),
        hottest=hottest_path(stacks) if stacks.total else (),
    )


def _category(found: CategoryTotal, total: int) -> CategoryShare:
    return CategoryShare(
        id=found.id,
        label=found.label,
        samples=found.samples,
        share=found.samples / total,
        inclusive_share=found.inclusive / total,
    )


def _function(found: FunctionTotal, labels: dict[str, str], total: int) -> FunctionShare:
    return FunctionShare(
        frame=found.function,
        name=short_name(found.function),
        kernel=is_kernel(found.function),
        category=labels.get(found.category, found.category),
        self_share=found.samples / total,
        inclusive_share=found.inclusive / total,
    )


def path_steps(stacks: FoldedStacks, patterns: Sequence[str]) -> tuple[PathStep, ...]:
    """How many samples follow the path, step by step. Patterns are those of a claim."""
    expressions = [re.compile(pattern) for pattern in patterns]
    reached = [0] * len(patterns)
    names = [_spoken(pattern) for pattern in patterns]
    for stack, count in stacks.items():
        for step, frame in enumerate(_follow(stack, expressions)):
            reached[step] += count
            names[step] = short_name(frame)
    total = stacks.total or 1
    return tuple(
        PathStep(name, samples / total) for name, samples in zip(names, reached, strict=True)
    )


def _follow(stack: Stack, expressions: Sequence[re.Pattern[str]]) -> list[str]:
    """The stack's frames that match the expressions in order, as far as they do."""
    found: list[str] = []
    for frame in stack:
        if len(found) < len(expressions) and expressions[len(found)].search(plain_name(frame)):
            found.append(frame)
    return found


def _spoken(pattern: str) -> str:
    return pattern.removeprefix("^").replace("\\b", "").removesuffix("$").replace("\\", "")
