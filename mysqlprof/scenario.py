"""TOML -> Scenario -> Plan. Pure: the same scenario and seed give the same plan."""

import itertools
import random
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from mysqlprof.errors import UsageError
from mysqlprof.level import Level, merged
from mysqlprof.model import CellSpec, ClaimSpec, Factor, Plan, Scenario, TrialSpec
from mysqlprof.wire.protocol import COMMANDS

Selector = Mapping[str, str]


def names() -> list[str]:
    """The built-in scenarios."""
    folder = files("mysqlprof.scenarios")
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def load(name: str) -> Scenario:
    """A built-in scenario by name, or one of your own by the path of its TOML file."""
    if name in names():
        text = (files("mysqlprof.scenarios") / f"{name}.toml").read_text(encoding="utf-8")
        return parse(text, name)
    path = Path(name)
    if path.suffix == ".toml" and path.is_file():
        return parse(path.read_text(encoding="utf-8"), name)
    raise UsageError(
        f"there is no scenario {name!r}",
        f"built in: {', '.join(names())}; or give the path of a scenario's .toml file",
    )


def parse(text: str, origin: str) -> Scenario:
    """Validate a scenario's TOML text; every error names the place."""
    try:
        scenario = Scenario.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{origin} is not TOML: {error}", "correct the file") from error
    except ValidationError as error:
        first = error.errors()[0]
        table, *rest = first["loc"]
        # Of a workload pydantic names the kind next, which is no place in the file.
        place = [table, *(rest[1:] if table == "workload" else rest)]
        where = ".".join(map(str, place))
        raise UsageError(f"{origin}: {where}: {first['msg']}", "correct the file") from error
    _check_references(scenario, origin)
    return scenario


def cells(scenario: Scenario, *, toggle: str = "runtime") -> tuple[CellSpec, ...]:
    """All combinations of levels that are not excluded, in the order of the factors.

    With toggle="startup" the variables that levels set become mysqld arguments, so that each
    setting has a server of its own; otherwise they are switched on the running server.
    """
    found = []
    for combination in itertools.product(*(factor.levels.items() for factor in scenario.factors)):
        levels = {
            factor.name: name
            for factor, (name, _) in zip(scenario.factors, combination, strict=True)
        }
        if is_wanted(scenario, levels):
            found.append(
                _cell(scenario.factors, levels, [level for _, level in combination], toggle)
            )
    return tuple(found)


def is_wanted(scenario: Scenario, levels: Mapping[str, str]) -> bool:
    included = not scenario.include or any(matches(levels, rule) for rule in scenario.include)
    return included and not any(matches(levels, rule) for rule in scenario.exclude)


def matches(levels: Mapping[str, str], selector: Selector) -> bool:
    return all(levels.get(factor) == level for factor, level in selector.items())


def select(all_cells: tuple[CellSpec, ...], selector: Selector) -> list[CellSpec]:
    return [cell for cell in all_cells if matches(cell.levels, selector)]


def select_one(all_cells: tuple[CellSpec, ...], selector: Selector) -> CellSpec | None:
    """The cell that a selector names: the first, in the order of the factors' levels."""
    return next(iter(select(all_cells, selector)), None)


def plan(scenario: Scenario, *, seed: int, toggle: str = "runtime", profile: bool = True) -> Plan:
    """Every execution to be made, in order.

    Timed trials come in rounds: each round runs every cell once, in an order of its own, so that
    drift of the machine meets all cells alike. Profiled windows come last.
    """
    all_cells = cells(scenario, toggle=toggle)
    generator = random.Random(seed)
    warmups = tuple(
        TrialSpec(cell.id, "warmup", round_)
        for round_ in range(scenario.warmups)
        for cell in all_cells
    )
    rounds = [
        TrialSpec(cell.id, "timed", round_)
        for round_ in range(max(scenario.trials, scenario.max_trials))
        for cell in generator.sample(all_cells, k=len(all_cells))
    ]
    planned = scenario.trials * len(all_cells)
    profiled = [
        cell.id
        for cell in all_cells
        if profile and any(matches(cell.levels, chosen) for chosen in scenario.profile.cells)
    ]
    return Plan(
        scenario,
        all_cells,
        warmups,
        timed=tuple(rounds[:planned]),
        extra=tuple(rounds[planned:]),
        profiled=tuple(profiled),
        seed=seed,
    )


def _cell(
    factors: list[Factor], levels: dict[str, str], values: list[Level], toggle: str
) -> CellSpec:
    level = merged(values)
    launch, switched = level.launch, level.set
    if toggle == "startup":
        launch, switched = launch | switched, {}
    parts = [
        f"{factor.label}-{levels[factor.name]}" if factor.label else levels[factor.name]
        for factor in factors
    ]
    return CellSpec(
        id="_".join(map(file_name, parts)),
        levels=levels,
        env=level.env,
        launch=launch,
        set=switched,
        set_after_prepare=level.set_after_prepare,
        driver=level.driver,
        driver_name=level.driver_name,
        workload=level.workload,
        certificate=level.certificate,
        route=level.route or "direct",
        rtt_ms=level.rtt_ms,
        link=level.link,
    )


def file_name(text: str) -> str:
    """`text` in the characters that names of files and containers may have."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", text).strip("-")


def _check_references(scenario: Scenario, origin: str) -> None:
    """A selector that names nothing would make a claim that can never fail: refuse it."""
    if scenario.workload.kind == "none" or not scenario.trials:
        raise UsageError(f"{origin}: a scenario needs a workload and trials", "correct the file")
    levels = {factor.name: set(factor.levels) for factor in scenario.factors}
    if set(levels.get("server", ())) != set(scenario.servers):
        raise UsageError(f"{origin}: factor 'server' must have the levels {list(scenario.servers)}")
    contrasts = {contrast.name for contrast in scenario.contrasts}
    selectors: list[Selector] = [*scenario.include, *scenario.exclude, *scenario.profile.cells]
    selectors += [published.cell for published in scenario.published]
    if scenario.noise:
        selectors.append(scenario.noise.cell)
    selectors += scenario.counters.cells if scenario.counters else []
    selectors += _of_sweeps(scenario)
    if scenario.crossover:
        plan = scenario.crossover
        selectors += [{**plan.fix, plan.compare: level} for level in (plan.level, plan.base)]
    for contrast in scenario.contrasts:
        selectors += [contrast.numerator, contrast.denominator]
    for claim in scenario.claims:
        selectors += claim.cells
        if claim.counter:
            _check_counter(scenario, claim, origin)
            continue
        if claim.status:
            _check_status(claim, origin)
            continue
        for name in claim.contrasts:
            if name not in contrasts:
                raise UsageError(f"{origin}: claim {claim.id!r} names no contrast {name!r}")
        if (claim.above is None) == (claim.below is None):
            raise UsageError(f"{origin}: claim {claim.id!r} needs either `above` or `below`")
        subjects = (claim.contrasts, claim.category, claim.path, claim.wire, claim.metric)
        if sum(map(bool, subjects)) != 1:
            raise UsageError(
                f"{origin}: claim {claim.id!r} needs one of contrasts, category, path, wire,"
                " metric, counter or status"
            )
        if claim.wire and claim.wire not in COMMANDS.values():
            raise UsageError(
                f"{origin}: claim {claim.id!r}: there is no protocol command {claim.wire!r}"
            )
    for selector in selectors:
        for factor, level in selector.items():
            if level not in levels.get(factor, ()):
                raise UsageError(f"{origin}: no factor {factor!r} has a level {level!r}")


def _check_counter(scenario: Scenario, claim: ClaimSpec, origin: str) -> None:
    known = [f.name for f in scenario.counters.functions] if scenario.counters else []
    if claim.counter not in known:
        raise UsageError(
            f"{origin}: claim {claim.id!r} is about {claim.counter!r}, which is not in [counters]"
        )
    if claim.equals == "" or claim.contrasts or claim.category or claim.path:
        raise UsageError(
            f"{origin}: claim {claim.id!r} about a counter needs `equals`, and no other subject"
        )


def _check_status(claim: ClaimSpec, origin: str) -> None:
    others = (claim.contrasts, claim.category, claim.path, claim.wire)
    if not isinstance(claim.equals, int) or any(others) or not claim.cells:
        raise UsageError(
            f"{origin}: claim {claim.id!r} about a status variable needs `cells` and a number that"
            " it `equals`, and no other subject"
        )


def _of_sweeps(scenario: Scenario) -> list[Selector]:
    """The servers and levels that [triggers], [scaling] and [remedy_trials] name."""
    found: list[Selector] = []
    for plan in (scenario.triggers, scenario.scaling, scenario.remedy_trials):
        if plan:
            found += [{"server": plan.server}, plan.fix]
    if triggers := scenario.triggers:
        found += [arm.fix for arm in triggers.arms]
    if scaling := scenario.scaling:
        found += [{scaling.compare: scaling.affected}, {scaling.compare: scaling.unaffected}]
        found += [sweep.fix for sweep in scaling.sweeps]
    if remedies := scenario.remedy_trials:
        found += [arm.fix for arm in remedies.arms]
        found += [{"server": arm.server} for arm in remedies.arms if arm.server]
    return found
