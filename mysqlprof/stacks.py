"""Folded stacks: `frame;frame;... COUNT`, root first. The one in-memory form of a profile."""

import re
from collections import Counter
from collections.abc import Callable, ItemsView, Iterable, Mapping
from typing import TypeVar

_T = TypeVar("_T")

Stack = tuple[str, ...]

KERNEL_SUFFIX = "_[k]"
"""FlameGraph's annotation of a kernel frame."""

UNKNOWN = "[unknown]"
"""A frame that has an address and no symbol."""

# Everything str.splitlines() breaks a line at, the other control characters, and lone surrogates
# (undecodable bytes), which no UTF-8 file can hold.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


_OPERATOR = re.compile(r"\boperator[-<>=]*$")


class FoldedStacks:
    """Distinct stacks (root first) and how many samples each has. Not changed once made.

    >>> FoldedStacks.parse(["main;work 70", "main;rest 30"]).total
    100
    """

    __slots__ = ("_counts", "_total")

    def __init__(self, counts: Mapping[Stack, int]) -> None:
        """Stacks with a count of 0 are dropped; an empty stack or a negative count is an error."""
        for stack, count in counts.items():
            if not stack:
                raise ValueError("a stack needs at least one frame")
            if count < 0:
                raise ValueError(f"negative count {count} for {';'.join(stack)}")
        self._counts = {stack: count for stack, count in counts.items() if count}
        self._total = sum(self._counts.values())

    @classmethod
    def parse(cls, lines: Iterable[str]) -> "FoldedStacks":
        """Read folded lines; equal stacks add up and blank lines are skipped.

        The count is the last field, because frame names may hold spaces:

            start_thread;do_command(THD*);dispatch_command(THD*, COM_DATA const*) 12
            start_thread;operator new(unsigned long);asm_exc_page_fault_[k] 3

        Raises ValueError naming the line's number where a line is anything else.
        """
        counts: Counter[Stack] = Counter()
        for number, line in enumerate(lines, start=1):
            text = line.rstrip("\r\n")
            if not text.strip():
                continue
            stack, _, count = text.rpartition(" ")
            if not stack.strip() or not (count.isascii() and count.isdigit()):
                raise ValueError(f"line {number} is not `frame;frame COUNT`: {_shortened(text)}")
            counts[tuple(stack.split(";"))] += int(count)
        return cls(counts)

    def to_folded(self) -> str:
        """One line a stack, sorted, each ended by a newline; "" for no stacks.

        A ";" inside a frame's name is written as ":", a control character as U+FFFD.
        """
        writable = self.map_frames(_writable)
        lines = sorted((";".join(stack), count) for stack, count in writable.items())
        return "".join(f"{stack} {count}\n" for stack, count in lines)

    @property
    def total(self) -> int:
        """Samples over all stacks."""
        return self._total

    def items(self) -> ItemsView[Stack, int]:
        return self._counts.items()

    def __len__(self) -> int:
        """Number of distinct stacks."""
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FoldedStacks):
            return NotImplemented
        return self._counts == other._counts

    __hash__ = None  # type: ignore[assignment]  # compared by value, and large

    def __repr__(self) -> str:
        return f"FoldedStacks({len(self)} stacks, {self.total} samples)"

    def merge(self, other: "FoldedStacks") -> "FoldedStacks":
        """Both profiles' samples in one."""
        return FoldedStacks(Counter(self._counts) + Counter(other._counts))

    def select(self, predicate: Callable[[Stack], bool]) -> "FoldedStacks":
        """Only the stacks for which `predicate` is true."""
        return FoldedStacks({s: count for s, count in self._counts.items() if predicate(s)})

    def with_frame(self, predicate: Callable[[str], bool]) -> "FoldedStacks":
        """Only the stacks with at least one frame for which `predicate` is true."""
        hits = {frame for frame in self.frames() if predicate(frame)}
        return self.select(lambda stack: not hits.isdisjoint(stack))

    def with_leaf(self, predicate: Callable[[str], bool]) -> "FoldedStacks":
        """Only the stacks whose last frame, where the CPU was, makes `predicate` true."""
        return self.select(lambda stack: predicate(stack[-1]))

    def map_frames(self, rename: Callable[[str], str]) -> "FoldedStacks":
        """The same samples under other names; stacks that become equal add up."""
        names = PerName(rename)
        counts: Counter[Stack] = Counter()
        for stack, count in self._counts.items():
            counts[tuple(map(names.__getitem__, stack))] += count
        return FoldedStacks(counts)

    def frames(self) -> set[str]:
        """All distinct frame names."""
        return set().union(*self._counts)

    def self_counts(self) -> dict[str, int]:
        """Frame -> samples in which it is the leaf. Sums to the total."""
        counts: Counter[str] = Counter()
        for stack, count in self._counts.items():
            counts[stack[-1]] += count
        return dict(counts)

    def inclusive_counts(self) -> dict[str, int]:
        """Frame -> samples in whose stack it occurs; a recursive frame counts once a stack."""
        counts: Counter[str] = Counter()
        for stack, count in self._counts.items():
            for frame in set(stack):
                counts[frame] += count
        return dict(counts)


class PerName(dict[str, _T]):
    """Frame name -> what `function` says of it, asked once: names are few, stacks are many."""

    def __init__(self, function: Callable[[str], _T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, name: str) -> _T:
        said = self[name] = self._function(name)
        return said


def is_kernel(frame: str) -> bool:
    return frame.endswith(KERNEL_SUFFIX)


def plain_name(frame: str) -> str:
    """The frame's name without the kernel mark."""
    return frame.removesuffix(KERNEL_SUFFIX)


def short_name(frame: str) -> str:
    """Without kernel mark and argument list: `String::replace(unsigned long)` -> String::replace.

    Parentheses that belong to the name stay: `(anonymous namespace)::f(int)`, `operator()(int)`.
    """
    name = plain_name(frame)
    depth = 0
    for index, character in enumerate(name):
        if character == "<" and not _OPERATOR.search(name[:index]):
            depth += 1
        elif character == ">" and not _OPERATOR.search(name[:index]):
            depth = max(0, depth - 1)
        elif (
            character == "("
            and depth == 0
            and index
            and not name.startswith("(anonymous namespace)", index)
            and not name[:index].endswith("operator")
        ):
            return name[:index]
    return name


def _writable(frame: str) -> str:
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", frame.replace(";", ":"))


def _shortened(text: str, limit: int = 80) -> str:
    return ascii(text if len(text) <= limit else text[: limit - 3] + "...")
