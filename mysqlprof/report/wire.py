"""The report's view of captured executes: which phase of which command took the client's time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mysqlprof.model import CellSpec, Scenario
from mysqlprof.report.wire_words import slowest_phase
from mysqlprof.scenario import matches
from mysqlprof.wire.model import WireCommand
from mysqlprof.wire.summary import Phase, phases, slowest, statement_commands

_SHOWN = 60


@dataclass(frozen=True)
class WireCell:
    """One cell's captured execute."""

    cell: str
    title: str
    role: str
    """"slow", "normal", or empty outside the pictured pair."""
    commands: tuple[WireCommand, ...]
    """Of the driver's connections, by time; of very many, those that took longest."""
    left_out: int
    """How many are not among them."""
    statement: tuple[WireCommand, ...]
    """Those that the measured statement consists of."""
    phases: tuple[Phase, ...]
    """Of the statement."""
    sentence: str

    def after_ms(self, command: WireCommand) -> float:
        """When a command began, since the connection's first."""
        return (command.started_s - self.commands[0].started_s) * 1e3


def wire_cells(
    rows: Sequence[WireCommand],
    cells: Sequence[CellSpec],
    titles: Mapping[str, str],
    scenario: Scenario,
) -> tuple[WireCell, ...]:
    """Captured cells, the pictured pair first."""
    picture = scenario.picture
    roles = {"slow": picture.slow, "normal": picture.normal} if picture else {}
    captured: dict[str, list[WireCommand]] = {}
    for row in rows:
        captured.setdefault(row.cell, []).append(row)
    found = []
    for cell in cells:
        if cell.id in captured:
            role = next((r for r, s in roles.items() if matches(cell.levels, s)), "")
            found.append(_wire_cell(cell.id, titles[cell.id], role, captured[cell.id]))
    order = {"slow": 0, "normal": 1, "": 2}
    return tuple(sorted(found, key=lambda cell: order[cell.role]))


def pictured(cells: Sequence[WireCell]) -> Sequence[WireCell]:
    """The pictured pair; all cells where none of it was captured."""
    return [cell for cell in cells if cell.role] or cells


def _wire_cell(cell: str, title: str, role: str, commands: list[WireCommand]) -> WireCell:
    statement = statement_commands(commands)
    shown = slowest(commands, _SHOWN)
    return WireCell(
        cell=cell,
        title=title,
        role=role,
        commands=tuple(sorted(shown, key=lambda command: command.started_s)),
        left_out=len(commands) - len(shown),
        statement=tuple(statement),
        phases=tuple(phases(statement)),
        sentence=slowest_phase(statement),
    )
