"""`scale`: how the symptom grows with rows, columns and bytes, and with which allocator."""

from pathlib import Path

from mysqlprof import scenario
from mysqlprof.errors import UsageError
from mysqlprof.interrupts import Interrupts
from mysqlprof.level import Level, merged
from mysqlprof.model import Contrast, Factor, ProfilePlan, Run, Scenario
from mysqlprof.progress import Progress
from mysqlprof.request import Request
from mysqlprof.sweep_types import Scaling, ScalingPlan, SizeSweep
from mysqlprof.sweeps.allocators import AllocatorPlace, allocator_rows
from mysqlprof.sweeps.analysis import Analysis, derive, held, no_section, run_alone, sized
from mysqlprof.sweeps.growth import Curve, Measurements, Place, series_of
from mysqlprof.sweeps.preload import gap_of
from mysqlprof.verdict import Measured
from mysqlprof.workload_spec import PreparedInsertSpec

POINT = "point"
_SIZES = ("rows", "columns", "value_bytes")


def scale(request: Request, progress: Progress, interrupts: Interrupts) -> tuple[Run, Path]:
    """Measure every size, and every allocator, that the scenario's [scaling] names."""
    analysis = analysis_of(scenario.load(request.scenario), request)
    return run_alone(analysis, request, progress, interrupts)


def analysis_of(definition: Scenario, request: Request) -> Analysis:
    """Raises UsageError where the scenario has no [scaling]."""
    plan = definition.scaling
    if plan is None:
        raise no_section(definition, "scaling")
    points = _Points(sized(definition, plan, request), plan)
    curves = [points.curve(sweep) for sweep in plan.sweeps]
    allocators = points.allocators(request)
    derived = _derived(points, allocators, request)

    def judged(run: Run, found: Measured) -> Run:
        measured = Measurements(run, found, POINT, plan)
        return run.model_copy(
            update={
                "scaling": Scaling(
                    series=[series_of(curve, measured) for curve in curves],
                    allocators=allocator_rows(allocators, measured, found.profiles),
                    trials_ms={cell.id: measured.timed_ms(cell.id) for cell in run.cells},
                )
            }
        )

    return Analysis(derived, judged)


class _Points:
    """Levels of the factor POINT: what is held still, and a size. Equal ones are measured once."""

    def __init__(self, definition: Scenario, plan: ScalingPlan) -> None:
        self.definition = definition
        self.plan = plan
        self.levels: dict[str, Level] = {}
        self._sizes = _sizes_of(definition)
        self._varying = {factor for sweep in plan.sweeps for factor in sweep.fix}
        if plan.allocators:
            self._varying.add(plan.allocators.factor)

    def curve(self, sweep: SizeSweep) -> Curve:
        fix = self.plan.fix | sweep.fix
        places = []
        for value in sorted(set(sweep.values)):
            sizes = self._sizes | sweep.workload | {sweep.factor: value}
            place = self._add(self._label(fix), held(self.definition, fix), sizes)
            places.append(Place(place, value, sizes))
        said = [f"{factor} {fix[factor]}" for factor in sorted(self._varying & set(fix))]
        return Curve(
            ", ".join([sweep.factor.replace("_", " "), *said]), sweep.factor, tuple(places)
        )

    def allocators(self, request: Request) -> list[AllocatorPlace]:
        arms = self.plan.allocators
        if arms is None:
            return []
        sizes = self._sizes | arms.workload
        factor = next(f for f in self.definition.factors if f.name == arms.factor)
        places = []
        for name in factor.levels:
            fix = self.plan.fix | {arms.factor: name}
            level = held(self.definition, fix)
            places.append(AllocatorPlace(name, self._add(self._label(fix), level, sizes)))
        others = {k: v for k, v in self.plan.fix.items() if k != arms.factor}
        for arm in arms.more:
            gap = gap_of(arm, request.backend)
            level = merged([held(self.definition, others | arm.fix), arm])
            place = "" if gap else self._add(arm.name, level, sizes)
            places.append(AllocatorPlace(arm.name, place, gap))
        return places

    def _label(self, fix: dict[str, str]) -> str:
        return " ".join(fix[factor] for factor in sorted(self._varying & set(fix)))

    def _add(self, label: str, level: Level, sizes: dict[str, int]) -> str:
        size = "x".join(str(sizes[name]) for name in _SIZES)
        name = f"{label} {size}".strip()
        self.levels[name] = merged([level, Level(workload=sizes)])
        return name


def _sizes_of(definition: Scenario) -> dict[str, int]:
    work = definition.workload
    if isinstance(work, PreparedInsertSpec):
        return {name: getattr(work, name) for name in _SIZES}
    raise UsageError(
        f"sizes are varied of an insert, and the workload of {definition.name} is {work.kind}",
        "give the scenario a workload of the kind prepared-insert",
    )


def _derived(points: _Points, allocators: list[AllocatorPlace], request: Request) -> Scenario:
    plan, definition = points.plan, points.definition
    compared = next(f for f in definition.factors if f.name == plan.compare)
    sides = {name: compared.levels[name] for name in (plan.unaffected, plan.affected)}
    profiled = [
        {POINT: place.level, plan.compare: plan.affected} for place in allocators if place.level
    ]
    samples = plan.allocators.min_samples if plan.allocators else 0
    return derive(
        definition,
        plan,
        request,
        title=f"How does it scale? {definition.title}",
        roles=[plan.server],
        factors=[
            Factor(name=POINT, levels=points.levels),
            compared.model_copy(update={"levels": sides}),
        ],
        contrasts=[
            Contrast(
                name=level,
                text=f"{plan.compare} {plan.affected} : {plan.unaffected}, {level}",
                numerator={POINT: level, plan.compare: plan.affected},
                denominator={POINT: level, plan.compare: plan.unaffected},
            )
            for level in points.levels
        ],
        exclude=[],
        profile=ProfilePlan(cells=profiled, min_samples=samples) if request.profile else None,
    )
