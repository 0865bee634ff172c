"""Ctrl-C: once finishes what can be kept, twice stops now; both clean up."""

import signal
from types import FrameType, TracebackType
from typing import Any


class Interrupted(BaseException):
    """Stop now. No KeyboardInterrupt: frameworks turn that into words and codes of their own."""


class Interrupts:
    """Handles SIGINT, SIGTERM and SIGHUP while it is entered (in the main thread).

    Until `defer()` is called the first signal raises Interrupted at once. Afterwards the first
    SIGINT only sets `requested`, for the measuring loop to see between two trials, and the second
    raises. Once one was raised, or `shield()` was called, signals are ignored: cleaning up, which
    runs in `finally` blocks, is not cut short.
    """

    def __init__(self) -> None:
        self.requested = False
        self._deferring = False
        self._shielded = False
        self._old: dict[signal.Signals, Any] = {}

    def arm(self) -> None:
        """Before another measurement in the same process: signals are heard again."""
        if not self.requested:
            self._deferring = self._shielded = False

    def defer(self) -> None:
        self._deferring = True

    def shield(self) -> None:
        self._shielded = True

    def __enter__(self) -> "Interrupts":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._old[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._shielded:
            return
        if self._deferring and not self.requested and number == signal.SIGINT:
            self.requested = True
            return
        self._shielded = True
        self.requested = True
        raise Interrupted
