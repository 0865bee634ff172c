"""The nouns of an experiment. Frozen; no behaviour beyond deriving one fact from others.

Types that are read from or written to files are pydantic models; the rest are dataclasses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from mysqlprof.changes import CellComparison, Upgrade
from mysqlprof.counted_types import Counted, CountersPlan
from mysqlprof.frozen import Frozen
from mysqlprof.level import Level as Level
from mysqlprof.level import Route
from mysqlprof.link_types import Crossover, CrossoverPlan, LinkCheck
from mysqlprof.sweep_types import (
    RemedyPlan,
    RemedyRow,
    Scaling,
    ScalingPlan,
    TriggerPlan,
    TriggerRow,
)
from mysqlprof.workload_spec import WorkloadSpec

SCHEMA_VERSION = 1

Verdict = Literal["reproduced", "not_reproduced", "inconclusive", "measured"]
"""The last is for scenarios that claim nothing: all that they compare was measured."""
ClaimVerdict = Literal["holds", "does_not_hold", "cannot_tell"]
RunStatus = Literal["running", "complete", "interrupted", "failed"]
BackendName = Literal["docker", "local"]
BackendChoice = Literal["auto", "docker", "local"]
DriverName = Literal["connector-j", "python", "go", "node", "sharding-jdbc", "sysbench", "connect"]


# --- scenario: what is varied, what is measured, what is claimed ---------------------------


class Factor(Frozen):
    name: str
    label: str = ""
    """Prefix in cell ids; empty where the level's name speaks for itself."""
    levels: dict[str, Level]


class ServerRole(Frozen):
    version: str
    note: str = ""


class Contrast(Frozen):
    """A ratio of median elapsed times: numerator cell over denominator cell."""

    name: str
    text: str
    numerator: dict[str, str]
    denominator: dict[str, str]
    headline: bool = False


class ClaimSpec(Frozen):
    """A sentence with a measurable condition. Exactly one subject: contrasts, category, path,
    wire, metric, counter or status.

    It holds when the whole interval lies on the right side of the bound, does not hold when
    the whole interval lies on the wrong side, and cannot be told otherwise. A count holds when it
    equals what was predicted in every execute; such claims are judged only where it was counted.
    """

    id: str
    text: str
    contrasts: list[str] = []
    cells: list[dict[str, str]] = []
    category: str = ""
    path: list[str] = []
    wire: str = ""
    """A protocol command: of the time that the client spends on the statement's commands, the
    share spent waiting for the first byte of the response to this one. Judged only in runs that
    were asked for it."""
    metric: str = ""
    """A figure of the cells' trials that is a share, `link_utilisation`: their median."""
    counter: str = ""
    """A function of `[counters]`."""
    measure: Literal["calls", "bytes"] = "calls"
    equals: int | str = ""
    """How many in one execute: a number, or the name of a fact of the workload."""
    within: float = 0.0
    """How far off a count may be, as a part of the prediction."""
    status: str = ""
    """A status variable of the server, that every timed trial must move by what it `equals`."""
    above: float | None = None
    below: float | None = None
    essential: bool = True
    """Essential claims decide the verdict; the others are reported only."""


class ProfilePlan(Frozen):
    cells: list[dict[str, str]] = []
    """Selectors of the cells to profile; an empty list profiles none."""
    min_samples: int = 500
    """Executes are repeated inside the window until so many samples are expected."""
    max_executes: int = 200
    max_seconds: float = 12.0


class Picture(Frozen):
    """A pair of profiled cells that the report sets side by side."""

    slow: dict[str, str]
    normal: dict[str, str]


class ArticleFigure(Frozen):
    """A published figure to set beside a measured one."""

    category: str
    percent: float
    what: str


class ArticleTime(Frozen):
    """A published time of one driver on one server."""

    driver: str
    server: str
    server_prepare: bool
    elapsed_ms: float


class PublishedTime(Frozen):
    """A published time, to set beside the one of a cell."""

    what: str
    """In the words of who published it."""
    cell: dict[str, str]
    elapsed_ms: float
    units: int = 0
    """Of the work that took so long; 0 where it was not told: then only ratios compare."""
    note: str = ""
    """What the cell has in place of what was published."""


class NoiseCheck(Frozen):
    """One cell against itself, before anything is timed."""

    cell: dict[str, str]
    trials: int = Field(ge=3)
    """On either side."""
    visible: float = Field(gt=1)
    """The ratio that should be visible on a machine quiet enough for the scenario's claims."""


class MatrixPlan(Frozen):
    """What `matrix` varies (servers and drivers) and what it holds still."""

    servers: list[str]
    drivers: list[str]
    fix: dict[str, str]
    """Factor -> level, for all factors but the server and the compared one."""
    compare: str
    """The factor whose `slow` level is set against its `normal` one on each server and driver."""
    slow: str
    normal: str
    slow_above: float
    """A ratio whose whole interval lies above it is called slow."""
    normal_below: float
    regime: str
    """One sentence: under which conditions the figures hold."""
    article: list[ArticleTime] = []


class BisectPlan(Frozen):
    """What `bisect` looks for in each version: the scenario's symptom, as one ratio."""

    fix: dict[str, str]
    """Factor -> level, for all factors but the server and the compared one."""
    compare: str
    """The factor whose `shows` level is set against its `absent` one."""
    shows: str
    absent: str
    above: float
    """The symptom shows where the ratio's whole interval lies above it, and is absent where the
    whole interval lies below."""
    category: str
    """Of the attribution: its share is printed beside each point."""


class Scenario(Frozen):
    name: str
    title: str
    summary: str
    """What a reader must know, in two or three sentences."""
    reference: str = ""
    cause: str = ""
    """One sentence, used by the report once the claims hold."""
    remedies: list[str] = []
    workload: WorkloadSpec
    driver: str = "connector-j"
    """What reaches the servers unless the user says otherwise, as --driver names it."""
    trials: int = Field(ge=0)
    max_trials: int = 0
    """Rounds may be added up to so many trials a cell while a ratio cannot be told."""
    warmups: int = Field(ge=0)
    servers: dict[str, ServerRole]
    settings: dict[str, str] = {}
    """mysqld arguments common to all cells."""
    hosts: Literal[1, 2] = 1
    """2: servers and clients in network namespaces of their own, joined by a link."""
    factors: list[Factor]
    include: list[dict[str, str]] = []
    """Selectors of the combinations to keep; empty: all."""
    exclude: list[dict[str, str]] = []
    contrasts: list[Contrast]
    claims: list[ClaimSpec]
    profile: ProfilePlan = ProfilePlan()
    picture: Picture | None = None
    article: list[ArticleFigure] = []
    published: list[PublishedTime] = []
    """The first is what ratios are told against."""
    noise: NoiseCheck | None = None
    matrix: MatrixPlan | None = None
    bisect: BisectPlan | None = None
    counters: CountersPlan | None = None
    triggers: TriggerPlan | None = None
    scaling: ScalingPlan | None = None
    remedy_trials: RemedyPlan | None = None
    crossover: CrossoverPlan | None = None


# --- plan ----------------------------------------------------------------------------------


class CellSpec(Frozen):
    id: str
    levels: dict[str, str]
    """Factor name -> level name; always has "server", but for imported profiles."""
    env: dict[str, str] = {}
    launch: dict[str, str] = {}
    set: dict[str, str] = {}
    set_after_prepare: dict[str, str] = {}
    driver: dict[str, str | int | bool] = {}
    driver_name: str = ""
    workload: dict[str, int] = {}
    certificate: str = ""
    route: Route = "direct"
    rtt_ms: float = 0.0
    link: str = ""

    @property
    def role(self) -> str:
        return self.levels.get("server", "")


TrialKind = Literal["warmup", "noise", "timed", "profiled", "probed", "reference"]


@dataclass(frozen=True)
class TrialSpec:
    """One execution to be made. `round` groups timed trials that were interleaved together."""

    cell: str
    kind: TrialKind
    round: int


@dataclass(frozen=True)
class Plan:
    scenario: Scenario
    cells: tuple[CellSpec, ...]
    warmups: tuple[TrialSpec, ...]
    timed: tuple[TrialSpec, ...]
    extra: tuple[TrialSpec, ...]
    """Further rounds, run only while a ratio that the verdict needs cannot be told."""
    profiled: tuple[str, ...]
    """Ids of the cells to profile after all timed trials."""
    seed: int

    def cell(self, cell_id: str) -> CellSpec:
        return next(c for c in self.cells if c.id == cell_id)


# --- servers -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where on the network a program runs: this host's loopback unless it says otherwise."""

    prefix: tuple[str, ...] = ()
    """Put before a command, it starts the program there and becomes it: the process id stays."""
    address: str = "127.0.0.1"
    """By which its peers reach it."""

    @property
    def apart(self) -> bool:
        return bool(self.prefix)


@dataclass(frozen=True)
class Endpoint:
    """Where and as whom a driver logs in. The password never reaches a command line."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    socket: str = ""
    apart: bool = False
    """TCP reaches it only from its own network; this process can use the socket alone."""
    client: Place = Place()
    """Where a driver must run to reach it."""
    authority: str = ""
    """PEM file of who signed its certificate; empty where that is the server's own affair."""
    client_certificate: str = ""
    """PEM file with which a client may prove itself, signed by the same."""
    client_key: str = ""


@dataclass(frozen=True)
class Limits:
    cpus: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class LaunchSpec:
    """A server to be started. Two cells with equal launch specs share one server."""

    role: str
    requested: str
    """Version or, with `image`, merely the name it goes by until it has been asked."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = Limits()
    image: str = ""
    """A user's own image reference instead of the catalog's."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Option -> file of which the server gets a private copy: ssl_cert, ssl_key..."""
    place: Place = Place()
    certificate: str = ""
    """Kind of key; the files are issued when it is launched."""


class ServerInfo(Frozen):
    """What was really run, as read back from the server and its origin."""

    role: str
    name: str
    """Unique in the run: role, or role and the launch-time levels."""
    requested: str
    version: str
    version_comment: str = ""
    backend: BackendName
    source: str
    """Image reference or package coordinates."""
    sha256: str = ""
    """Of the package archive; empty for a pulled image."""
    digest: str = ""
    """Repository digest of a pulled image, or the image id of one built here."""
    build_id: str = ""
    """GNU build id of the mysqld binary; empty where it carries none."""
    server_uuid: str = ""
    substitution: str = ""
    """Why `version` is not `requested`; empty when they are equal."""
    environment: dict[str, str] = {}
    arguments: dict[str, str] = {}
    limits: dict[str, float] = {}
    ready_s: float = 0.0
    settings: dict[str, str] = {}


# --- measurements and results --------------------------------------------------------------


class TrialResult(Frozen):
    """One row of trials.csv."""

    cell: str
    trial: int
    round: int
    kind: TrialKind
    profiled: bool
    elapsed_ms: float
    """The work alone, on the client's monotonic clock."""
    prepare_ms: float
    rows_written: int | None
    """None where the driver does not say."""
    status: dict[str, int] = {}
    """Server-side status deltas over the work."""
    metrics: dict[str, float] = {}
    """Further figures of the driver's, with their unit in the name: `latency_p95_ms`."""


class ProfileInfo(Frozen):
    """profiles/CELL.json."""

    cell: str
    event: str
    unit: str
    """What one count is worth: "samples"; of an imported profile, see ImportedProfile.unit."""
    frequency_hz: int
    call_graph: str
    samples: int
    lost: int
    unresolved: float
    """Share of samples with at least one frame without a symbol, 0..1."""
    unresolved_leaf: float
    window_s: float
    executes: int
    """Trials in the window; run.json's `workload.units_per_trial` says what each was."""
    perf_version: str
    profiled_ms: list[float] = []
    """Elapsed time of each profiled execute: compared with the timed ones, it is the cost of
    recording."""


class CellResult(Frozen):
    id: str
    levels: dict[str, str]
    server: str
    """ServerInfo.name."""
    trials: int
    median_ms: float | None
    ci_low_ms: float | None
    ci_high_ms: float | None
    prepare_ms: float | None = None
    profiled_ms: float | None = None
    recording_cost: float | None = None
    """Median profiled over median unprofiled elapsed time."""
    metrics: dict[str, float] = {}
    """Medians of the timed trials' metrics."""


class ContrastResult(Frozen):
    name: str
    text: str
    numerator: str
    denominator: str
    ratio: float | None
    ci_low: float | None
    ci_high: float | None
    visible_ratio: float | None = None
    """The smallest ratio that these trials would have shown in four of five runs."""
    headline: bool = False


class ClaimResult(Frozen):
    id: str
    text: str
    verdict: ClaimVerdict
    measured: str
    expected: str
    reason: str = ""
    """Why it cannot be told."""
    essential: bool = True


MatrixVerdict = Literal["slow", "normal", "cannot_tell", "not_measured"]


class MatrixRow(Frozen):
    """One driver on one server, with server-side prepare or without. A row of matrix.csv."""

    server: str
    """As asked for."""
    version: str
    """That really ran; empty where none did."""
    driver: str
    server_prepare: bool
    trials: int = 0
    median_ms: float | None = None
    ci_low_ms: float | None = None
    ci_high_ms: float | None = None
    ratio: float | None = None
    """Server-side over client-side prepare, same driver and server."""
    ratio_low: float | None = None
    ratio_high: float | None = None
    verdict: MatrixVerdict
    """Of the ratio, in rows with server-side prepare; the others are its measure, so "normal"."""
    article_ms: float | None = None
    gap: str = ""
    """Why it was not measured: the driver is not installed, the server did not start."""


PointVerdict = Literal["shows", "absent", "cannot_tell"]


class BisectPoint(Frozen):
    """One version that was measured, in the order of the search."""

    version: str
    verdict: PointVerdict
    ratio: float | None
    ci_low: float | None
    ci_high: float | None
    trials: int
    share: float | None
    """Of the samples of the cell that would show it, inclusive, in the plan's category."""
    why: str
    """Why this version was measured: "an end", "the middle of 3 between 5.7.29 and 8.0.31"..."""


class Bisect(Frozen):
    bad: str
    """As asked for."""
    good: str
    candidates: list[str]
    """Versions from bad to good that can be run here, oldest first."""
    points: list[BisectPoint]
    last_bad: str = ""
    first_good: str = ""
    answer: str
    """One sentence."""


class KnownPath(Frozen):
    """The path of a built-in scenario, looked for in an imported profile."""

    scenario: str
    title: str
    share: float
    """Of the weight whose stacks follow the path, 0..1."""
    above: float
    """From where on the scenario itself calls it its path."""

    @property
    def sentence(self) -> str:
        if not self.share:
            return f"Does not show the path of {self.title}."
        if self.share > self.above:
            return f"Shows the path of {self.title}: {100 * self.share:.1f} % of the profile."
        return (
            f"Has the path of {self.title} in {100 * self.share:.1f} % of the profile;"
            f" the scenario calls it shown above {100 * self.above:g} %."
        )


class ImportedProfile(Frozen):
    """A profile that was recorded elsewhere, and how it was read."""

    cell: str
    file: str
    """The file's name, without its directory; "-" for standard input."""
    sha256: str
    """Of the file as it was given."""
    format: str
    event: str
    unit: str
    """Of the weights: "samples", "ns", "periods" or "counts"."""
    samples: int
    """0 where the format does not say how many there were."""
    weight: int
    other_events: dict[str, int] = {}
    """Samples of events (entries of maps) in the same file that are not in this profile."""
    unreadable: int = 0
    """Lines that were left out."""
    known: list[KnownPath] = []


class AttributionRow(Frozen):
    """One row of attribution.csv. `function` is empty in a category's own row.

    In a cell, `samples` over the category rows sum to the profile's total.
    """

    cell: str
    category: str
    function: str
    samples: int
    self_share: float
    inclusive_samples: int
    inclusive_share: float


class Caveat(Frozen):
    """Something a reader must know before believing a number."""

    kind: str
    text: str
    partial: bool = False
    """True when data that the plan wanted is missing: the run exits with 4."""


class Gap(Frozen):
    """Cells that could not be measured here, and why; the others are as good without them."""

    cells: list[str]
    why: str
    remedy: str = ""


class PlanRecord(Frozen):
    """The plan as executed: the scenario with the user's overrides, and the order's seed."""

    definition: Scenario
    seed: int
    trials: int
    warmups: int
    cells: list[CellSpec]


class Run(Frozen):
    """run.json: everything a report needs besides the profiles and the trials."""

    schema_version: int = SCHEMA_VERSION
    id: str
    tool_version: str
    created: str
    """ISO 8601, UTC."""
    status: RunStatus
    missing: list[str] = []
    """What a run cut short, or a failed cell, did not get to."""
    gaps: list[Gap] = []
    command: list[str] = []
    scenario: str
    plan: PlanRecord
    driver: dict[str, str] = {}
    """Of cells that name none: name, version, what runs it."""
    drivers: dict[str, dict[str, str]] = {}
    """The same for each driver that cells do name."""
    workload: dict[str, Any] = {}
    """Parameters, statement bytes, the prediction: what the workload was in numbers."""
    workloads: dict[str, dict[str, Any]] = {}
    """The same for each cell that has a size of its own."""
    environment: dict[str, Any] = {}
    servers: list[ServerInfo] = []
    cells: list[CellResult] = []
    contrasts: list[ContrastResult] = []
    claims: list[ClaimResult] = []
    matrix: list[MatrixRow] = []
    bisect: Bisect | None = None
    comparison: list[CellComparison] = []
    upgrade: Upgrade | None = None
    counted: Counted | None = None
    imported: list[ImportedProfile] = []
    """Set in runs that hold profiles recorded elsewhere, and nothing else."""
    triggers: list[TriggerRow] = []
    scaling: Scaling | None = None
    remedies: list[RemedyRow] = []
    links: list[LinkCheck] = []
    crossover: Crossover | None = None
    verdict: Verdict = "inconclusive"
    caveats: list[Caveat] = []
    thresholds: dict[str, float] = {}
    elapsed_s: dict[str, float] = {}
    """Seconds spent by step: setup, timed, profiled."""
