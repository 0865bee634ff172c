"""The view-model: what a report says, derived once from the run directory and used by all formats.

Values stay numbers here; renderers format and escape them.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from mysqlprof.model import (
    CellResult,
    CellSpec,
    ClaimResult,
    ContrastResult,
    Run,
    Scenario,
    ServerInfo,
    TrialResult,
)
from mysqlprof.report.counted import CountedView, read_counted
from mysqlprof.report.matrix import Matrix, matrix_of, with_versions
from mysqlprof.report.profiles import PathStep, ProfileView, path_steps, read_profiles
from mysqlprof.report.published import PublishedRow, published_rows
from mysqlprof.report.upgrade import UpgradeView, upgrade_of
from mysqlprof.report.wire import WireCell, wire_cells
from mysqlprof.scenario import matches
from mysqlprof.stacks import UNKNOWN, short_name
from mysqlprof.store import RunDirectory

_SHOWN = ("_per_s", "_ms", "_per_row", "_per_connection")
"""How the names of those figures end that tables have columns for."""
_PATH = 6
"""Frames of the hottest path that are shown at the top."""


@dataclass(frozen=True)
class CellView:
    result: CellResult
    title: str
    """In words: "before, fixed, log on, prepare on"."""
    times: tuple[float, ...]
    """Elapsed times of all timed trials, in order."""
    marked: bool
    """True for the numerators of headline contrasts: where slowness is looked for."""
    profile: ProfileView | None

    @property
    def id(self) -> str:
        return self.result.id


@dataclass(frozen=True)
class ContrastView:
    result: ContrastResult
    numerator_ms: float | None
    denominator_ms: float | None


@dataclass(frozen=True)
class Because:
    """Which function, on which path, with what share of the slow cell's samples."""

    cell: str
    steps: tuple[PathStep, ...]
    claimed: bool
    """True when the steps are a claim's path; else they are the hottest path found."""

    @property
    def culprit(self) -> PathStep | None:
        return self.steps[-1] if self.steps else None


@dataclass(frozen=True)
class ArticleRow:
    what: str
    category: str
    """Its label."""
    id: str
    percent: float
    measured: float | None
    """Share of the slow cell's samples in the category, 0..1."""


@dataclass(frozen=True)
class Report:
    run: Run
    scenario: Scenario
    cells: tuple[CellView, ...]
    factors: tuple[str, ...]
    contrasts: tuple[ContrastView, ...]
    headlines: tuple[ContrastView, ...]
    slow: ProfileView | None
    normal: ProfileView | None
    profiles: tuple[ProfileView, ...]
    """The pictured pair first."""
    because: Because | None
    article: tuple[ArticleRow, ...]
    published: tuple[PublishedRow, ...]
    gaps: tuple[str, ...]
    """What was planned and not measured."""
    wire: tuple[WireCell, ...]
    """Captured executes, the pictured pair first."""
    matrix: Matrix | None
    """Set in runs of the driver x server matrix, which have an answer of their own."""
    upgrade: UpgradeView | None = None
    """Set in runs that compare two versions."""
    counted: CountedView | None = None

    @property
    def command(self) -> str:
        return shlex.join(self.run.command)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The figures of trials that tables show: rates, latencies, what a unit of work took."""
        named = {name for cell in self.cells for name in cell.result.metrics}
        return tuple(sorted(name for name in named if name.endswith(_SHOWN)))

    @property
    def essential(self) -> tuple[ClaimResult, ...]:
        return tuple(claim for claim in self.run.claims if claim.essential)

    @property
    def unmet(self) -> tuple[ClaimResult, ...]:
        """The essential claims that keep the verdict from being `reproduced`."""
        return tuple(claim for claim in self.essential if claim.verdict != "holds")

    @property
    def distinct_servers(self) -> tuple[ServerInfo, ...]:
        """One per role, version and source: launches that differ only in settings are one."""
        unique = {(s.role, s.version, s.source, s.backend): s for s in reversed(self.run.servers)}
        return tuple(s for s in self.run.servers if s in unique.values())


def build(run_dir: RunDirectory) -> Report:
    """Read everything that a report needs from a run directory, and nothing else."""
    run = run_dir.read_run()
    profiles = read_profiles(run_dir)
    scenario = run.plan.definition
    matrix = matrix_of(run)
    if matrix:
        run = with_versions(run, matrix)
    contrasts = _contrasts(run)
    headlines = tuple(c for c in contrasts if c.result.headline) or contrasts[:2]
    picture = scenario.picture
    slow = profiles.get(_first_match(run.plan.cells, picture.slow)) if picture else None
    normal = profiles.get(_first_match(run.plan.cells, picture.normal)) if picture else None
    pair = [p for p in (slow, normal) if p is not None]
    if run.imported:
        slow = profiles.get(run.imported[0].cell)
    slow = slow or next(iter(profiles.values()), None)
    cells = _cells(run, run_dir.read_trials(), profiles, _looked_at(run, contrasts, headlines))
    in_order = [cell.profile for cell in cells if cell.profile]
    return Report(
        run=run,
        scenario=scenario,
        cells=cells,
        factors=_factors(run.plan.cells, varied_only=matrix is not None),
        contrasts=contrasts,
        headlines=headlines,
        slow=slow,
        normal=normal,
        profiles=(*pair, *(p for p in in_order if p not in pair)),
        because=_because(run, slow),
        article=_article(scenario, slow if slow in pair else None),
        published=published_rows(run),
        gaps=_gaps(run, profiles),
        wire=wire_cells(
            run_dir.read_wire(), run.plan.cells, {c.id: c.title for c in cells}, scenario
        ),
        matrix=matrix,
        upgrade=upgrade_of(run, run_dir),
        counted=read_counted(
            run,
            run_dir,
            {c.id: c.title for c in cells},
            [*(p.cell for p in (slow,) if p), *(c.id for c in cells if c.marked)],
        ),
    )


def _looked_at(
    run: Run, contrasts: tuple[ContrastView, ...], headlines: tuple[ContrastView, ...]
) -> tuple[ContrastView, ...]:
    """The contrasts whose numerators are marked; an upgrade suspects no cell beforehand."""
    if run.upgrade:
        return ()
    return contrasts if run.matrix else headlines


def _factors(cells: list[CellSpec], *, varied_only: bool) -> tuple[str, ...]:
    levels: dict[str, set[str]] = {}
    for cell in cells:
        for factor, level in cell.levels.items():
            levels.setdefault(factor, set()).add(level)
    return tuple(f for f, found in levels.items() if not varied_only or len(found) > 1)


def _first_match(cells: list[CellSpec], selector: Mapping[str, str]) -> str:
    return next((cell.id for cell in cells if matches(cell.levels, selector)), "")


def _cells(
    run: Run,
    trials: list[TrialResult],
    profiles: Mapping[str, ProfileView],
    headlines: tuple[ContrastView, ...],
) -> tuple[CellView, ...]:
    specs = {spec.id: spec for spec in run.plan.cells}
    results = {cell.id: cell for cell in run.cells}
    marked = {contrast.result.numerator for contrast in headlines}
    labels = {factor.name: factor.label for factor in run.plan.definition.factors}
    return tuple(
        CellView(
            result=results.get(cell_id) or _unmeasured(cell_id, specs.get(cell_id)),
            title=_title(specs[cell_id].levels, labels) if cell_id in specs else cell_id,
            times=tuple(t.elapsed_ms for t in trials if t.cell == cell_id and t.kind == "timed"),
            marked=cell_id in marked,
            profile=profiles.get(cell_id),
        )
        for cell_id in dict.fromkeys([*specs, *results, *profiles])
    )


def _title(levels: Mapping[str, str], labels: Mapping[str, str]) -> str:
    return ", ".join(f"{labels.get(f, '')} {level}".strip() for f, level in levels.items())


def _unmeasured(cell_id: str, spec: CellSpec | None) -> CellResult:
    return CellResult(
        id=cell_id,
        levels=spec.levels if spec else {},
        server=spec.role if spec else "",
        trials=0,
        median_ms=None,
        ci_low_ms=None,
        ci_high_ms=None,
    )


def _contrasts(run: Run) -> tuple[ContrastView, ...]:
    medians = {cell.id: cell.median_ms for cell in run.cells}
    return tuple(
        ContrastView(c, medians.get(c.numerator), medians.get(c.denominator)) for c in run.contrasts
    )


def _because(run: Run, slow: ProfileView | None) -> Because | None:
    """The path that a claim names, where that claim holds; else the hottest path."""
    if slow is None or not slow.total:
        return None
    held = {claim.id for claim in run.claims if claim.verdict == "holds"}
    for claim in run.plan.definition.claims:
        if claim.path and claim.id in held:
            return Because(slow.cell, path_steps(slow.stacks, claim.path), claimed=True)
    counts = slow.stacks.inclusive_counts()
    # Frames without a name would all be taken for one, with the share of all of them.
    named = [frame for frame in slow.hottest if frame != UNKNOWN]
    hottest = [
        PathStep(short_name(frame), counts.get(frame, 0) / slow.total) for frame in named[-_PATH:]
    ]
    return Because(slow.cell, tuple(hottest), claimed=False)


def _article(scenario: Scenario, slow: ProfileView | None) -> tuple[ArticleRow, ...]:
    shares = {c.id: c for c in slow.categories} if slow else {}
    return tuple(
        ArticleRow(
            what=figure.what,
            category=shares[figure.category].label
            if figure.category in shares
            else figure.category,
            id=figure.category,
            percent=figure.percent,
            measured=shares[figure.category].share if figure.category in shares else None,
        )
        for figure in scenario.article
    )


def _gaps(run: Run, profiles: Mapping[str, ProfileView]) -> tuple[str, ...]:
    """The run's own list; where it was killed before it could write one, what the plan asked for
    and the directory does not hold."""
    if run.missing or run.status == "complete":
        return tuple(run.missing)
    measured = {cell.id: cell.trials for cell in run.cells}
    gaps = []
    for cell in run.plan.cells:
        done = measured.get(cell.id, 0)
        if done < run.plan.trials:
            gaps.append(f"{cell.id}: {done} of {run.plan.trials} timed trials")
        planned = any(matches(cell.levels, s) for s in run.plan.definition.profile.cells)
        if planned and not run.matrix and cell.id not in profiles:
            gaps.append(f"{cell.id}: profile")
    return tuple(gaps)
