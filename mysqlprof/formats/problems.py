"""Lines of an input that could not be read: counted, and the first ones named."""

from dataclasses import dataclass, field

_KEPT = 5
_SHOWN = 80


@dataclass
class Problems:
    """Filled by a parser as it reads; what it leaves out is in here, or it was not left out."""

    count: int = 0
    first: list[str] = field(default_factory=list)
    """`line 12: what is wrong with it: 'the line'`, of the first few."""

    @property
    def wants_words(self) -> bool:
        """False once there are enough words: then a count will do."""
        return len(self.first) < _KEPT

    def add(self, number: int, what: str, line: bytes = b"") -> None:
        """`number` counts lines from 1. It is looked at only while `wants_words`."""
        self.count += 1
        if self.wants_words:
            shown = f": {_shown(line)}" if line else ""
            self.first.append(f"line {number}: {what}{shown}")

    def summary(self) -> list[str]:
        """One line each of the first few, and how many more there are."""
        more = self.count - len(self.first)
        return [*self.first, *([f"and {more:,} more"] if more else [])]


def _shown(line: bytes) -> str:
    text = line[:_SHOWN].decode("utf-8", "replace")
    return ascii(text + ("..." if len(line) > _SHOWN else ""))
