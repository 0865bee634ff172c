"""Chunks of bytes cut into numbered lines, for the parsers that read line by line."""

from mysqlprof.formats.problems import Problems

LONGEST = 16 * 2**20
"""A line with more bytes is left out: no profile has one, and memory is to stay bounded."""


class LineReader:
    """Fed with chunks; `read` is called for each line, without its newline."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.number = 0
        """Of the line that is being read, from 1."""
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self.number += 1
            self.read(line)
        if len(self._rest) > LONGEST:
            self.problems.add(self.number + 1, "the line is too long", self._rest[:200])
            self._rest = b""

    def finish(self) -> None:
        """The end of the text: its last line may have no newline."""
        if self._rest:
            self.number += 1
            self.read(self._rest)
            self._rest = b""

    def read(self, line: bytes) -> None:
        raise NotImplementedError
