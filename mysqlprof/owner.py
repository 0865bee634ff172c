"""Which process started something, told in words that outlive it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Owner:
    """An orchestrator. Process ids are used again: start time and boot tell one from the next."""

    pid: int
    started: float
    boot: str

    @classmethod
    def myself(cls) -> Self:
        me = psutil.Process()
        return cls(me.pid, me.create_time(), _boot_id())

    @classmethod
    def from_words(cls, words: Mapping[str, str]) -> Self | None:
        """None when the words are missing or make no sense."""
        try:
            return cls(int(words["pid"]), float(words["started"]), words["boot"])
        except (KeyError, ValueError):
            return None

    def words(self) -> dict[str, str]:
        return {"pid": str(self.pid), "started": repr(self.started), "boot": self.boot}

    def of_this_boot(self) -> bool:
        return self.boot == _boot_id()

    def lives(self) -> bool:
        try:
            created = psutil.Process(self.pid).create_time()
        except psutil.Error:
            return False
        return self.of_this_boot() and abs(created - self.started) < 1.0


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
