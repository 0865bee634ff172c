"""`bisect`: the first version that no longer shows a scenario's symptom.

Each version is measured by itself; what was measured is added to one run, so that the report has
all trials and profiles side by side. Nothing is assumed of a version that was not measured.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from packaging.version import Version

from mysqlprof import scenario
from mysqlprof.attribution import attribute
from mysqlprof.drivers.base import Driver
from mysqlprof.drivers.registry import open_driver
from mysqlprof.errors import UsageError
from mysqlprof.interrupts import Interrupts
from mysqlprof.model import (
    AttributionRow,
    Bisect,
    BisectPlan,
    BisectPoint,
    Caveat,
    ClaimSpec,
    Contrast,
    Factor,
    Level,
    PointVerdict,
    ProfileInfo,
    ProfilePlan,
    Run,
    Scenario,
    ServerInfo,
    ServerRole,
    TrialResult,
)
from mysqlprof.progress import Progress
from mysqlprof.reproduce import measure, write_reports
from mysqlprof.request import Request, customised, prepare
from mysqlprof.rules import load_rules
from mysqlprof.servers import catalog
from mysqlprof.servers.backends import open_backend
from mysqlprof.servers.base import Backend
from mysqlprof.stacks import FoldedStacks
from mysqlprof.store import RunDirectory
from mysqlprof.verdict import Measured, judge_run
from mysqlprof.workdir import work_directory

_TRIALS = 7
_MAX_TRIALS = 21
_POINT_VERDICTS: dict[str, PointVerdict] = {
    "holds": "shows",
    "does_not_hold": "absent",
    "cannot_tell": "cannot_tell",
}


def bisect(
    request: Request,
    bad: str,
    good: str,
    progress: Progress,
    interrupts: Interrupts,
    *,
    every: bool = False,
) -> tuple[Run, Path]:
    """Search from `bad` (older) to `good`, or with `every` measure all versions between.

    Interrupted, it answers from the points until then. A server that fails ends the search with
    its error; the points until then are on disk.
    """
    definition = customised(scenario.load(request.scenario), request)
    if definition.bisect is None:
        raise UsageError(
            f"scenario {definition.name!r} has no [bisect]",
            "add one to its TOML file, as bug-73056 has it",
        )
    first = prepare(derive(definition, [bad], request), request, progress)
    with (
        open_driver(first.driver) as driver,
        open_backend(request.backend, first.options.run_id, progress.step) as backend,
    ):
        candidates = candidates_of(bad, good, backend.provides)
        progress.note(f"versions that can be run here: {', '.join(candidates)}")
        run_dir = RunDirectory.create(first.out, force=request.force)
        search_ = _Search(definition, request, candidates, run_dir, backend, driver, progress)
        search_.go(interrupts, (bad, good), every)
    progress.step("writing the report")
    write_reports(run_dir)
    return run_dir.read_run(), run_dir.path


class _Search:
    """The points measured so far, and the one run that they make up together."""

    def __init__(
        self,
        definition: Scenario,
        request: Request,
        candidates: list[str],
        run_dir: RunDirectory,
        backend: Backend,
        driver: Driver,
        progress: Progress,
    ) -> None:
        self._definition = definition
        self._request = request
        self._candidates = candidates
        self._run_dir = run_dir
        self._backend = backend
        self._driver = driver
        self._progress = progress
        self._rules = load_rules()
        self._points: list[BisectPoint] = []
        self._runs: list[Run] = []
        self._trials: list[TrialResult] = []
        self._profiles: dict[str, tuple[ProfileInfo, FoldedStacks]] = {}

    def go(self, interrupts: Interrupts, asked: tuple[str, str], every: bool) -> None:
        def probe(version: str, why: str) -> BisectPoint | None:
            if interrupts.requested:
                return None
            point = self._measure(version, why, interrupts)
            self._write(asked)
            return point

        if every:
            for version in self._candidates:
                probe(version, "every version")
        else:
            search(self._candidates, probe)

    def _measure(self, version: str, why: str, interrupts: Interrupts) -> BisectPoint | None:
        """One version in a run of its own, whose trials and profiles are then added to ours."""
        self._progress.note(f"MySQL {version} ({why})")
        with work_directory("bisect") as folder:
            request = dataclasses.replace(self._request, out=folder / "run")
            definition = derive(self._definition, [version], request)
            prepared = prepare(definition, request, self._progress)
            drivers = {"": self._driver}
            run, run_dir = measure(
                prepared, drivers, self._backend, request, self._progress, interrupts
            )
            self._runs.append(run)
            self._trials += run_dir.read_trials()
            for info in run_dir.profiles():
                stacks = run_dir.read_stacks(info.cell)
                self._profiles[info.cell] = (info, stacks)
                self._run_dir.write_profile(info, stacks, run_dir.read_svg(info.cell))
        point = self._point(run, version, why)
        self._points.append(point)
        self._progress.note(f"MySQL {version}: {words(point)}")
        return point

    def _point(self, run: Run, version: str, why: str) -> BisectPoint:
        contrast, claim = run.contrasts[0], run.claims[0]
        profile = self._profiles.get(contrast.numerator)
        share = None
        if profile and self._definition.bisect:
            found = attribute(profile[1], self._rules)
            share = found.inclusive(self._definition.bisect.category) / found.total
        return BisectPoint(
            version=version,
            verdict=_POINT_VERDICTS[claim.verdict],
            ratio=contrast.ratio,
            ci_low=contrast.ci_low,
            ci_high=contrast.ci_high,
            trials=run.cells[0].trials,
            share=share,
            why=why,
        )

    def _write(self, asked: tuple[str, str]) -> None:
        """The run of all points so far, judged anew, on disk."""
        versions = sorted((p.version for p in self._points), key=Version)
        definition = derive(self._definition, versions, self._request)
        cells = scenario.cells(definition, toggle=self._request.toggle)
        servers: list[ServerInfo] = [s for run in self._runs for s in run.servers]
        names = {cell.id: cell.server for run in self._runs for cell in run.cells}
        judged = judge_run(
            Measured(definition, cells, self._trials, names, self._profiles), self._rules
        )
        last_bad, first_good = ends(self._points)
        latest = self._runs[-1]
        caveats = [c for run in self._runs for c in run.caveats if c.kind not in _JUDGED_KINDS]
        run = latest.model_copy(
            update={
                "plan": latest.plan.model_copy(
                    update={"definition": definition, "cells": list(cells)}
                ),
                "missing": [text for run in self._runs for text in run.missing],
                "servers": servers,
                "cells": judged.cells,
                "contrasts": judged.contrasts,
                "claims": judged.claims,
                "verdict": "reproduced" if last_bad else "not_reproduced",
                "caveats": [*_unique(caveats), *judged.caveats],
                "elapsed_s": _summed([run.elapsed_s for run in self._runs]),
                "bisect": Bisect(
                    bad=asked[0],
                    good=asked[1],
                    candidates=self._candidates,
                    points=self._points,
                    last_bad=last_bad,
                    first_good=first_good,
                    answer=answer(self._candidates, self._points),
                ),
            }
        )
        self._run_dir.write_trials(self._trials, {c.id: c.levels for c in cells})
        rows: list[AttributionRow] = []
        for cell, (_, stacks) in self._profiles.items():
            rows += attribute(stacks, self._rules).to_rows(cell)
        self._run_dir.write_attribution(rows)
        self._run_dir.write_run(run)
        self._run_dir.write_sums()


# --- what is measured in each version ---


def derive(definition: Scenario, versions: list[str], request: Request) -> Scenario:
    """Two cells a version: with what brings the symptom out, and without."""
    plan = definition.bisect
    assert plan is not None  # bisect() has seen to it
    factors = [Factor(name="server", levels={version: Level() for version in versions})]
    for factor in definition.factors:
        if factor.name == plan.compare:
            factors.append(factor)
        elif factor.name != "server":
            level = plan.fix[factor.name]
            factors.append(factor.model_copy(update={"levels": {level: factor.levels[level]}}))
    trials = request.trials or (definition.trials if request.quick else _TRIALS)
    return definition.model_copy(
        update={
            "title": f"Which version fixed it? {definition.title}",
            "trials": trials,
            "max_trials": request.trials or max(trials, _MAX_TRIALS),
            "servers": {version: ServerRole(version=version) for version in versions},
            "factors": factors,
            "exclude": [],
            "contrasts": [_contrast(plan, version) for version in versions],
            "claims": [_claim(plan, version) for version in versions],
            "profile": definition.profile.model_copy(update={"cells": [{plan.compare: plan.shows}]})
            if request.profile
            else ProfilePlan(),
            "picture": None,
            "article": [],
            "matrix": None,
        }
    )


def _contrast(plan: BisectPlan, version: str) -> Contrast:
    return Contrast(
        name=f"symptom_{version}",
        text=f"{plan.compare} {plan.shows} : {plan.absent}, MySQL {version}",
        numerator={"server": version, plan.compare: plan.shows},
        denominator={"server": version, plan.compare: plan.absent},
    )


def _claim(plan: BisectPlan, version: str) -> ClaimSpec:
    return ClaimSpec(
        id=f"shows_{version}",
        text=f"MySQL {version} shows the symptom",
        contrasts=[f"symptom_{version}"],
        above=plan.above,
    )


# --- the search ---


def search(
    candidates: list[str], probe: Callable[[str, str], BisectPoint | None]
) -> list[BisectPoint]:
    """Binary search over `candidates`, oldest first: the points in the order they were measured.

    Both ends are measured first. A point that cannot be told is no guide: the search goes on with
    the others between the last version that shows the symptom and the first that does not.
    `probe` answers None when it was told to stop.
    """
    points: list[BisectPoint] = []
    for version, why in ((candidates[0], "the older end"), (candidates[-1], "the newer end")):
        point = probe(version, why)
        if point is None:
            return points
        points.append(point)
    while True:
        last_bad, first_good = ends(points)
        measured = {point.version for point in points}
        left = [
            v
            for v in candidates
            if v not in measured and last_bad and first_good and _between(last_bad, v, first_good)
        ]
        if not left:
            return points
        why = f"in the middle of {len(left)} between {last_bad} and {first_good}"
        point = probe(left[len(left) // 2], why)
        if point is None:
            return points
        points.append(point)


def ends(points: list[BisectPoint]) -> tuple[str, str]:
    """(last version that shows the symptom, first that does not); empty where there is none.

    "First good" is the oldest one without the symptom that is newer than every bad one.
    """
    bad = sorted(Version(p.version) for p in points if p.verdict == "shows")
    last_bad = bad[-1] if bad else None
    good = sorted(
        Version(p.version)
        for p in points
        if p.verdict == "absent" and (last_bad is None or Version(p.version) > last_bad)
    )
    return str(last_bad) if last_bad else "", str(good[0]) if good else ""


def _between(low: str, version: str, high: str) -> bool:
    return Version(low) < Version(version) < Version(high)


def answer(candidates: list[str], points: list[BisectPoint]) -> str:
    """One sentence; what was not measured, or could not be told, is part of it."""
    last_bad, first_good = ends(points)
    verdicts = {point.version: point.verdict for point in points}
    if not last_bad:
        return f"None of the versions that were measured shows the symptom: {', '.join(verdicts)}."
    if not first_good:
        return f"Every version that was measured and could be told shows it, up to {last_bad}."
    unknown = [v for v in candidates if _between(last_bad, v, first_good)]
    doubt = f"; {', '.join(unknown)} between them cannot be told" if unknown else ""
    return (
        f"{last_bad} is the last version that shows it, {first_good} the first that does not,"
        f" among the {len(candidates)} versions that can be run here{doubt}."
    )


def candidates_of(bad: str, good: str, runnable: Callable[[str], bool]) -> list[str]:
    """Catalog versions from bad to good that this host can run, oldest first."""
    catalog.find(bad)
    catalog.find(good)
    if Version(bad) >= Version(good):
        raise UsageError(
            f"--bad {bad} is not older than --good {good}",
            "bisect looks for the version that fixed it: give the older one as --bad",
        )
    found = [
        entry.version
        for entry in catalog.entries()
        if Version(bad) <= Version(entry.version) <= Version(good) and runnable(entry.version)
    ]
    if len(found) < 2:
        have = ", ".join(found) or "none"
        raise UsageError(
            f"fewer than two versions between {bad} and {good} can be run here: {have}",
            "choose ends that are further apart (`mysqlprof servers list`)",
        )
    return found


def words(point: BisectPoint) -> str:
    """A point's outcome for the terminal."""
    said = {
        "shows": "shows the symptom",
        "absent": "does not show it",
        "cannot_tell": "cannot be told",
    }
    if point.ratio is None:
        return said[point.verdict]
    share = "" if point.share is None else f", {point.share * 100:.0f} % of the samples"
    return (
        f"{said[point.verdict]}: {point.ratio:.2f}x"
        f" [{point.ci_low:.2f}, {point.ci_high:.2f}]{share}"
    )


_JUDGED_KINDS = frozenset(
    {"noise", "unresolved", "few_samples", "lost_samples", "first_trial", "drift", "outliers"}
    | {"throttling"}
)
"""Caveats that judging all points together finds anew."""


def _unique(caveats: list[Caveat]) -> list[Caveat]:
    return list({(c.kind, c.text): c for c in caveats}.values())


def _summed(parts: list[dict[str, float]]) -> dict[str, float]:
    steps = dict.fromkeys(step for part in parts for step in part)
    return {step: round(sum(part.get(step, 0.0) for part in parts), 2) for step in steps}
