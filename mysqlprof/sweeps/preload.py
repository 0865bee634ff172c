"""Whether a library that an arm preloads into mysqld is there."""

from mysqlprof import doctor, host
from mysqlprof.level import Level
from mysqlprof.model import BackendChoice
from mysqlprof.servers.backends import engine_answers


def gap_of(level: Level, backend: BackendChoice) -> str:
    """Why the arm cannot be measured here; empty where it can.

    The dynamic linker would only warn and go on, and the arm would measure something else.
    """
    library = level.env.get("LD_PRELOAD", "")
    if not library:
        return ""
    if backend == "docker" or (backend == "auto" and engine_answers()):
        return f"{library} would have to be in the server's image; --backend local measures it"
    if host.finds_library(library):
        return ""
    return f"{library} is not installed ({doctor.mend_of_allocator(library)})"
