"""Stacks of two versions, made comparable: names, roots, gaps, truncated stacks. Pure.

The knowledge about MySQL is data (`alignment.toml`).
"""

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from mysqlprof.frozen import Frozen
from mysqlprof.stacks import KERNEL_SUFFIX, UNKNOWN, FoldedStacks, Stack, is_kernel, short_name

_LEAST_AGREEMENT = 0.9
"""A truncated stack is completed where so large a share of the samples has the same callers."""


class Rename(Frozen):
    before: str
    after: str
    inferred_from: str


class Knowledge(Frozen):
    roots: list[str]
    """Functions at which a stack begins, whatever called them."""
    rename: list[Rename]


@dataclass(frozen=True)
class Aligned:
    stacks: FoldedStacks
    original: Mapping[str, str]
    """Aligned name -> the name in the profile, where they differ by a rename."""
    completed: int
    """Samples whose stack was cut off by the recorder and got its callers back."""


@cache
def knowledge() -> Knowledge:
    text = (files("mysqlprof") / "alignment.toml").read_text(encoding="utf-8")
    return Knowledge.model_validate(tomllib.loads(text))


def align(stacks: FoldedStacks) -> Aligned:
    """The same samples under comparable names and from comparable roots.

    Frames without a symbol are left out unless they are leaves: a build that lacks a symbol
    would otherwise have another path to everything below.
    """
    renamed = {rename.before: rename.after for rename in knowledge().rename}
    bare = {frame: _bare(frame) for frame in stacks.frames()}
    names = {frame: renamed.get(name, name) for frame, name in bare.items()}
    original = {names[frame]: name for frame, name in bare.items() if names[frame] != name}
    roots = set(knowledge().roots)
    counts: Counter[Stack] = Counter()
    for stack, count in stacks.items():
        counts[_rooted(tuple(names[frame] for frame in stack), roots)] += count
    whole, completed = _complete(counts)
    return Aligned(FoldedStacks(whole), original, completed)


def _bare(frame: str) -> str:
    return short_name(frame) + (KERNEL_SUFFIX if is_kernel(frame) else "")


def _rooted(stack: Stack, roots: set[str]) -> Stack:
    start = next((depth for depth, frame in enumerate(stack) if frame in roots), 0)
    *callers, leaf = stack[start:]
    return (*(frame for frame in callers if frame != UNKNOWN), leaf)


def _complete(counts: Mapping[Stack, int]) -> tuple[dict[Stack, int], int]:
    """Recorders keep the innermost bytes of a stack only: a deep one loses its outer frames.

    Its first frame is then one that has callers elsewhere; where these agree, they are put back.
    """
    callers: dict[str, Counter[Stack]] = {}
    for stack, count in counts.items():
        for depth, frame in enumerate(stack):
            if depth and frame not in stack[:depth]:
                callers.setdefault(frame, Counter())[stack[:depth]] += count
    # What has no symbol is not one function: nothing is known of its callers.
    roots = {stack[0] for stack in counts} - callers.keys() | {*knowledge().roots, UNKNOWN}
    whole: Counter[Stack] = Counter()
    completed = 0
    for stack, count in counts.items():
        outer = _agreed(callers.get(stack[0]), roots) if stack[0] not in roots else ()
        completed += count if outer else 0
        whole[outer + stack] += count
    return dict(whole), completed


def _agreed(callers: Counter[Stack] | None, roots: set[str]) -> Stack:
    """The commonest way from a root; empty where there is none, or not one alone."""
    known = Counter({s: count for s, count in (callers or {}).items() if s[0] in roots})
    if not known:
        return ()
    stack, count = min(known.items(), key=lambda item: (-item[1], item[0]))
    return stack if count >= _LEAST_AGREEMENT * known.total() else ()
