"""Child processes that must not outlive this one."""

import ctypes
import signal

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def end_with_parent() -> None:
    """For `preexec_fn`: SIGTERM for the child when its parent ends, however that happens.

    An orchestrator that is killed with SIGKILL has no chance to stop what it started.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
