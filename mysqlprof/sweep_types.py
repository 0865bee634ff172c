"""What a scenario has `triggers`, `scale` and `remedies` measure, and the rows of their answers."""

from typing import Literal

from pydantic import Field

from mysqlprof.frozen import Frozen
from mysqlprof.level import Level


class SweepPlan(Frozen):
    """What the three have in common: one server, held still but for one thing at a time."""

    server: str = "before"
    """Role."""
    fix: dict[str, str] = {}
    """Factor -> level; a factor that is not named is left as the server has it."""
    workload: dict[str, int] = {}
    """Sizes in place of the scenario's: {"value_bytes": 20}."""
    trials: int = Field(ge=3)
    warmups: int = Field(default=1, ge=0)
    regime: str
    """One sentence: under which conditions the figures hold."""


class Arm(Level):
    """One thing that is changed, and its name."""

    name: str
    fix: dict[str, str] = {}
    """Factor -> level, in place of the plan's."""


BASELINE = "all off"
"""The trigger table's measure."""

# --- triggers ------------------------------------------------------------------------------


class TriggerArm(Arm):
    hope: str = ""
    """What somebody may hope to gain by it: "raising long_query_time". Empty: a switch that is
    suspected of bringing the symptom out."""


class Condition(Frozen):
    """A state of a server in which the symptom can show at all."""

    name: str
    when: dict[str, list[str]]
    """System variable -> the values that arm it; all variables must agree."""
    versions: str = ""
    """Of these only, as Python packages write it: ">=8.0". Empty: all."""


class TriggerPlan(SweepPlan):
    baseline: Level
    """All switches off; every arm is applied on top of it."""
    control: Arm | None = None
    """Applied to the baseline, what surely has no symptom. A baseline that is slow against it is
    slow with all switches off, so that no switch can show anything."""
    fires_above: float
    """A switch fires where the whole interval of its ratio to the baseline lies above, and has no
    effect where the whole interval lies below."""
    arms: list[TriggerArm] = Field(min_length=1)
    conditions: list[Condition] = []


TriggerVerdict = Literal["control", "baseline", "fires", "no_effect", "cannot_tell", "not_measured"]


class TriggerRow(Frozen):
    """One switch alone. A row of triggers.csv; the control and the baseline come first.

    A baseline that fires is slow with all switches off.
    """

    name: str
    verdict: TriggerVerdict
    trials: int = 0
    median_ms: float | None = None
    ci_low_ms: float | None = None
    ci_high_ms: float | None = None
    ratio: float | None = None
    """To the baseline; the baseline's to the control."""
    ratio_low: float | None = None
    ratio_high: float | None = None
    hope: str = ""
    """TriggerArm.hope."""
    changes: str = ""
    """What was switched, as one would write it: "slow_query_log=ON"."""
    sentence: str = ""
    gap: str = ""
    """Why it was not measured."""


# --- scaling -------------------------------------------------------------------------------

SizeName = Literal["rows", "columns", "value_bytes"]


class SizeSweep(Frozen):
    """One size varied, the others held still."""

    factor: SizeName
    values: list[int] = Field(min_length=2)
    workload: dict[str, int] = {}
    """The sizes held still, in place of the plan's."""
    fix: dict[str, str] = {}
    """Factor -> level, in place of the plan's."""


class AllocatorArms(Frozen):
    """The same work with one allocator after the other."""

    factor: str
    """The scenario's factor whose levels are arms, too."""
    workload: dict[str, int] = {}
    more: list[Arm] = []
    """Besides the factor's levels; a library that LD_PRELOAD names must be installed."""
    min_samples: int = 400
    """Of each profile that the kernel's share is read from."""


class ScalingPlan(SweepPlan):
    compare: str
    """The factor whose `affected` level is set against its `unaffected` one at every size."""
    affected: str
    unaffected: str
    hurts_above: float
    """It hurts from the size on where ratio (affected : unaffected) stays above this..."""
    hurts_ms: float
    """...and where the difference stays above this."""
    sweeps: list[SizeSweep] = Field(min_length=1)
    allocators: AllocatorArms | None = None


class SweepPoint(Frozen):
    """One size of one sweep. A row of scaling.csv."""

    sweep: str
    """SizeSeries.name."""
    factor: SizeName
    value: int
    rows: int
    columns: int
    value_bytes: int
    parameters: int | None = None
    text_bytes: int | None = None
    """Of the statement as a log shows it."""
    affected_cell: str
    unaffected_cell: str
    trials: int = 0
    affected_ms: float | None = None
    affected_low_ms: float | None = None
    affected_high_ms: float | None = None
    unaffected_ms: float | None = None
    unaffected_low_ms: float | None = None
    unaffected_high_ms: float | None = None
    ratio: float | None = None
    """Affected : unaffected."""
    ratio_low: float | None = None
    ratio_high: float | None = None
    extra_ms: float | None = None
    """Affected - unaffected."""
    extra_low_ms: float | None = None
    exponent: float | None = None
    """Of the affected time, from the size before to this one."""
    exponent_low: float | None = None
    exponent_high: float | None = None


class Kink(Frozen):
    """Where the local exponent changes by more than chance and a smooth curve would allow."""

    value: int
    """Of the sweep's factor."""
    value_low: int
    """Nearest sizes measured before and after: the kink lies between them."""
    value_high: int
    text_bytes: int | None
    text_low_bytes: int | None
    text_high_bytes: int | None
    before: float
    """Local exponent."""
    after: float
    change_low: float
    """Interval of after - before."""
    change_high: float


class SizeSeries(Frozen):
    name: str
    """"rows, allocator fixed"."""
    factor: SizeName
    points: list[SweepPoint]
    kinks: list[Kink] = []
    sentences: list[str] = []


class AllocatorRow(Frozen):
    """One allocator. A row of allocators.csv."""

    name: str
    trials: int = 0
    affected_ms: float | None = None
    affected_low_ms: float | None = None
    affected_high_ms: float | None = None
    unaffected_ms: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    minor_faults: float | None = None
    """Page faults of mysqld over an affected execute, median."""
    kernel_share: float | None = None
    """Of the affected execute's samples, those that end in the kernel."""
    samples: int = 0
    gap: str = ""


class Scaling(Frozen):
    series: list[SizeSeries] = []
    allocators: list[AllocatorRow] = []
    trials_ms: dict[str, list[float]] = {}
    """Cell -> every timed trial, for the plot."""


# --- remedies ------------------------------------------------------------------------------


class RemedyArm(Arm):
    server: str = ""
    """Role, where the remedy is another server."""
    cost: str
    """What you give up, in words."""
    stars: int = Field(default=0, ge=0, le=5)
    """Of the original report; 0: not named there."""


class RemedyPlan(SweepPlan):
    untreated: Level
    """What every remedy is applied to."""
    helps_above: float
    """A remedy helps where the whole interval of its gain lies above, does nothing where it lies
    below, and makes it worse where it lies below the inverse."""
    arms: list[RemedyArm] = Field(min_length=1)


RemedyVerdict = Literal[
    "untreated", "helps", "does_nothing", "makes_it_worse", "cannot_tell", "not_measured"
]


class RemedyRow(Frozen):
    """One remedy. A row of remedies.csv; the best first, the untreated at its place."""

    rank: int | None
    """Among those that help. Equal where the times cannot be told apart."""
    name: str
    verdict: RemedyVerdict
    statements: int = 1
    """That the rows were sent in."""
    rows: int = 0
    """In all."""
    trials: int = 0
    median_ms: float | None = None
    """For all rows."""
    ci_low_ms: float | None = None
    ci_high_ms: float | None = None
    gain: float | None = None
    """Untreated : treated."""
    gain_low: float | None = None
    gain_high: float | None = None
    cost: str = ""
    stars: int = 0
    gap: str = ""
