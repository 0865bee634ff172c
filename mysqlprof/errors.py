"""What can go wrong, as the user meets it: one sentence, the next action, an exit code.

Raised anywhere, caught once, in `cli`.
"""


class MysqlprofError(Exception):
    """`message` is one sentence; `hint` is the next action (often a command to copy).

    Never raised itself: each kind below has its exit code. 1 is for gates that failed.
    """

    exit_code: int

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(MysqlprofError):
    """What was asked for cannot be meant: unknown name, impossible size, existing directory."""

    exit_code = 2


class EnvironmentLacks(MysqlprofError):
    """This host lacks a program, a permission or space; the hint says what to run."""

    exit_code = 3


class PartialData(MysqlprofError):
    """The run finished, but something that it should hold is missing; what there is was kept."""

    exit_code = 4


class ServerFailed(MysqlprofError):
    """A server or a container did not start, died, or is not the one that was meant."""

    exit_code = 6
