"""Imported profiles as folded text, sorted by bytes as FlameGraph's programs sort it."""

from collections import Counter
from collections.abc import Iterator, Sequence

from mysqlprof.errors import UsageError
from mysqlprof.importing.read import Imported


def folded_lines(profiles: Sequence[Imported]) -> Iterator[bytes]:
    """`outer;inner WEIGHT`, the weights of equal stacks added up.

    Raises UsageError where the profiles' weights are of different units.
    """
    units = sorted({profile.unit for profile in profiles})
    if len(units) > 1:
        raise UsageError(
            f"the files count different things: {', '.join(units)}",
            "fold them one by one, or make them alike with --weigh samples",
        )
    counts: Counter[bytes] = Counter()
    for profile in profiles:
        for stack, weight in profile.counts.items():
            counts[stack] += weight
    for stack in sorted(counts):
        yield b"%s %d\n" % (stack, counts[stack])
