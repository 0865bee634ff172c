"""What is counted exactly, inside one execute, and where its wall time went.

The first part is a scenario's `[counters]`, the second what a run keeps of it.
"""

from typing import Literal

from pydantic import Field

from mysqlprof.frozen import Frozen

# --- scenario ------------------------------------------------------------------------------


class Probed(Frozen):
    """A function of the server."""

    name: str
    """As people write it: String::replace."""
    symbols: list[str] = Field(min_length=1)
    """Expressions for its mangled names, which differ from version to version."""


class CountedFunction(Probed):
    bytes_argument: int = Field(default=0, ge=0, le=6)
    """Which argument is the size that it is asked for: `this` is 1. 0: it is asked for none."""
    within: str = ""
    """Counted only while this earlier function runs; empty: wherever it is called from."""


class CountersPlan(Frozen):
    cells: list[dict[str, str]]
    """Selectors of the cells whose executes are counted."""
    executes: int = Field(default=3, ge=1)
    """Of each kind (counted, and watched for its wall time) in each cell."""
    execute: Probed
    """The window: functions, system calls and page faults count only inside it."""
    functions: list[CountedFunction]
    dispatch: Probed
    """From its entry on the server works for the client."""
    respond: Probed
    """Once it has returned the client has its answer."""
    phases: list[Probed] = []
    """Functions whose share of the command is told, from executes without the counting probes."""
    reasons: list["Reason"] = []
    """Why a thread was off the CPU: the first that fits. What none fits is told apart."""


class Reason(Frozen):
    label: str
    frames: str
    """Expression; it fits where it is found in any frame of the stack."""


# --- results -------------------------------------------------------------------------------


class CounterRow(Frozen):
    """One row of counters.csv: one counter in one execute. Empty numbers: not countable here."""

    cell: str
    execute: int
    counter: str
    calls: int | None = None
    bytes: int | None = None
    """Asked for in all calls together."""
    ns: int | None = None
    """Inside all calls together; the probes' own time is in it."""
    how: str
    """What was counted at; or what was looked for in vain."""


class Sizes(Frozen):
    """How many calls asked for how many bytes, in one execute."""

    cell: str
    counter: str
    calls: dict[int, int]
    """Exponent e -> calls that asked for at least 2**(e-1) and less than 2**e bytes."""


ClosureGroup = Literal["client", "on_cpu", "off_cpu", "unexplained"]


class ClosurePart(Frozen):
    group: ClosureGroup
    label: str
    kind: str = ""
    """Of on-CPU parts: the colour of their category (bug, kernel, libc, server, unknown)."""
    ms: float


class Closure(Frozen):
    """Where the client's time for one execute went: the parts sum to it."""

    cell: str
    client_ms: float
    server_ms: float
    """From the command's dispatch to its answer."""
    parts: list[ClosurePart]
    phases: dict[str, float]
    """Name -> ms within it; phases lie in one another and do not add up."""
    notes: list[str] = []

    @property
    def unexplained_ms(self) -> float:
        return sum(part.ms for part in self.parts if part.group == "unexplained")


class ProbeCost(Frozen):
    """Median elapsed time with probes over the one without, from executes next to each other. None
    of them is a timing."""

    cell: str
    counting: float | None = None
    watching: float | None = None


class Counted(Frozen):
    """The part of run.json; the counts themselves are in counters.csv."""

    sizes: list[Sizes] = []
    closures: list[Closure] = []
    costs: list[ProbeCost] = []
