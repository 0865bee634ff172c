"""What a long measurement tells whoever watches it. The terminal's version is in `cli`."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    def step(self, text: str) -> None:
        """Something begins that is not counted: fetching, starting, folding."""
        ...

    def trial(self, done: int, total: int, cell: str, remaining_s: float | None) -> None:
        """A trial begins; `remaining_s` estimates what all that is left will take."""
        ...

    def note(self, text: str) -> None:
        """Something the user should see even after the run."""
        ...


class TrialClock:
    """How long a trial of each cell takes, all included, to say how long there is to go."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}

    @contextmanager
    def of(self, cell: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self._seconds.setdefault(cell, []).append(time.monotonic() - started)

    def estimate(self, left: list[str]) -> float | None:
        if any(cell not in self._seconds for cell in left):
            return None
        return sum(statistics.median(self._seconds[cell]) for cell in left)
