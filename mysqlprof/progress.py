"""What a long measurement tells whoever watches it. The terminal's version is in `cli`."""

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
