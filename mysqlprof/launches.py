"""Which servers a plan needs. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from mysqlprof.model import CellSpec, LaunchSpec, Limits, Plan
from mysqlprof.scenario import file_name


@dataclass(frozen=True)
class Launches:
    specs: dict[str, LaunchSpec]
    """Server name -> how it is started, in the order of their cells."""
    of_cell: dict[str, str]
    """Cell id -> server name."""


def launches(plan: Plan, limits: Limits, images: Mapping[str, str]) -> Launches:
    """Cells that need the same start share a server; its name says what sets the first apart."""
    specs: dict[str, LaunchSpec] = {}
    of_cell: dict[str, str] = {}
    names: dict[tuple[str, str], str] = {}
    apart = _launch_factors(plan)
    for cell in plan.cells:
        own = "_".join([cell.role, *(file_name(cell.levels[factor]) for factor in apart)])
        name = names.setdefault((cell.role, _start(cell)), own)
        spec = LaunchSpec(
            role=cell.role,
            requested=plan.scenario.servers[cell.role].version,
            arguments={**plan.scenario.settings, **cell.launch},
            environment=cell.env,
            limits=limits,
            image=images.get(cell.role, ""),
            certificate=cell.certificate,
        )
        # Factors of which only some combinations are made may not show what sets them apart.
        alone, number = name, 2
        while specs.setdefault(name, spec) != spec:
            name, number = f"{alone}-{number}", number + 1
        of_cell[cell.id] = name
    return Launches(specs, of_cell)


def _launch_factors(plan: Plan) -> list[str]:
    """Factors, besides the server itself, whose levels change how mysqld is started."""
    found = []
    for factor in plan.scenario.factors:
        starts: dict[tuple[str, ...], set[str]] = {}
        for cell in plan.cells:
            others = tuple(level for name, level in cell.levels.items() if name != factor.name)
            starts.setdefault(others, set()).add(_start(cell))
        if factor.name != "server" and any(len(variants) > 1 for variants in starts.values()):
            found.append(factor.name)
    return found


def _start(cell: CellSpec) -> str:
    return repr((sorted(cell.env.items()), sorted(cell.launch.items()), cell.certificate))
