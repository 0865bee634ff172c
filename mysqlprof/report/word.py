"""A verdict as readers see it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Word:
    word: str
    symbol: str
    """Read without colour."""
    tone: str
    """CSS class."""
