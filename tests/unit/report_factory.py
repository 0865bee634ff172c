"""Synthetic runs for the report's tests: invented numbers in the shape of real ones.

Nothing here was measured; no figure may be quoted.
"""

import random
from collections.abc import Mapping
from pathlib import Path

from mysqlprof.attribution import load_rules
from mysqlprof.matrix import derive, plan_of, rows
from mysqlprof.model import (
    Caveat,
    CellSpec,
    PlanRecord,
    ProfileInfo,
    Run,
    Scenario,
    ServerInfo,
    TrialResult,
)
from mysqlprof.scenario import cells as cells_of
from mysqlprof.scenario import load
from mysqlprof.stacks import FoldedStacks
from mysqlprof.statistics import THRESHOLDS
from mysqlprof.store import RunDirectory
from mysqlprof.verdict import Measured, judge_run

SLOW = "before_fixed_log-on_prepare-on"
NORMAL = "before_fixed_log-off_prepare-on"

_TRUNK = "start_thread;do_command(THD*);dispatch_command(THD*, COM_DATA const*)"
_EXECUTE = f"{_TRUNK};mysqld_stmt_execute(THD*, unsigned long)"
_REPLACE = (
    f"{_EXECUTE};Prepared_statement::set_parameters(String*);"
    "Prepared_statement::insert_params(String*);String::replace(unsigned int)"
)
_GROW = f"{_REPLACE};String::mem_realloc(unsigned long)"
_FAULT = "asm_exc_page_fault_[k];exc_page_fault_[k]"
_INSERT = f"{_EXECUTE};mysql_execute_command(THD*, bool);Sql_cmd_insert::execute(THD*)"

SLOW_STACKS = {
    f"{_REPLACE};__memmove_avx_unaligned": 90,
    f"{_GROW};my_realloc;__memmove_avx_unaligned": 270,
    f"{_GROW};my_realloc;__memmove_avx_unaligned;{_FAULT};clear_page_erms_[k]": 210,
    f"{_GROW};my_realloc;cfree;__munmap;do_syscall_64_[k];unmap_vmas_[k]": 130,
    f"{_INSERT};ha_innobase::write_row(unsigned char*)": 22,
    f"{_TRUNK};net_send_ok(THD*)": 3,
}
NORMAL_STACKS = {
    f"{_INSERT};ha_innobase::write_row(unsigned char*);row_ins_step(que_thr_t*)": 420,
    f"{_EXECUTE};Prepared_statement::set_parameters(String*)": 61,
    f"{_TRUNK};net_send_ok(THD*);do_syscall_64_[k]": 40,
    "start_thread;[unknown]": 5,
}


def folded(stacks: Mapping[str, int]) -> FoldedStacks:
    return FoldedStacks.parse(f"{stack} {count}" for stack, count in stacks.items())


def flame_svg(stacks: FoldedStacks) -> str:
    """A drawing in the manner of flamegraph.pl: its handlers, its script's entry points."""
    groups = []
    for index, (stack, count) in enumerate(sorted(stacks.items())):
        name = _escaped(stack[-1])
        title = f"{name} ({count} samples, {100 * count / stacks.total:.2f}%)"
        groups.append(
            f'<g class="func_g" onmouseover="s(\'{title}\')" onmouseout="c()" onclick="zoom(this)">'
            f'<title>{title}</title><rect x="{10 + 20 * index}" y="{60 + 16 * index}" width="18"'
            f' height="15.0" fill="rgb(230,100,40)" rx="2" ry="2" />'
            f'<text text-anchor="" x="13" y="70" font-size="12">{name}</text></g>'
        )
    return (
        '<?xml version="1.0" standalone="no"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" '
        '"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">\n'
        '<svg version="1.1" width="1200" height="300" onload="init(evt)" viewBox="0 0 1200 300" '
        'xmlns="http://www.w3.org/2000/svg">\n<style type="text/css">.func_g:hover {}</style>'
        '<script type="text/ecmascript"><![CDATA[\n'
        "var searching = 0; function init(evt) {} function zoom(g) {} function unzoom() {}\n"
        ']]></script><rect x="0" y="0" width="1200" height="300" fill="url(#background)" />'
        '<text id="unzoom" onclick="unzoom()" style="opacity:0.0">Reset Zoom</text>'
        f"{''.join(groups)}</svg>\n"
    )


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def _median_ms(cell: CellSpec) -> float:
    slow = cell.levels["slow_query_log"] == "on" and cell.levels["server_prepare"] == "on"
    if cell.role == "before" and slow:
        return 906.0 if cell.levels["allocator"] == "fixed" else 214.0
    return 21.4 if cell.levels["server_prepare"] == "on" else 27.9


def trials(cells: tuple[CellSpec, ...], count: int, slow: bool = True) -> list[TrialResult]:
    chance = random.Random(7)
    found = []
    for round_ in range(count):
        for cell in cells:
            middle = _median_ms(cell) if slow else 22.0
            found.append(
                TrialResult(
                    cell=cell.id,
                    trial=len(found),
                    round=round_,
                    kind="timed",
                    profiled=False,
                    elapsed_ms=round(middle * chance.lognormvariate(0, 0.06), 4),
                    prepare_ms=11.0,
                    rows_written=500,
                )
            )
    return found


def server(name: str, role: str, **changes: object) -> ServerInfo:
    plain = {
        "role": role,
        "name": name,
        "requested": "5.7.38" if role == "before" else "8.0.32",
        "version": "5.7.22" if role == "before" else "8.0.31",
        "backend": "local",
        "source": f"example:{role}-server:1",
        "sha256": "ab" * 32,
        "build_id": "cd" * 20,
        "substitution": "no image registry answers; nearest version with a package",
        "settings": {"slow_query_log": "OFF", "version": "5.7.22"},
        "environment": {"MALLOC_MMAP_THRESHOLD_": "131072"} if "fixed" in name else {},
    }
    return ServerInfo.model_validate(plain | changes)


def profile_info(cell: str, stacks: FoldedStacks) -> ProfileInfo:
    return ProfileInfo(
        cell=cell,
        event="cpu-clock",
        unit="samples",
        frequency_hz=999,
        call_graph="dwarf,16384",
        samples=stacks.total,
        lost=0,
        unresolved=0.012,
        unresolved_leaf=0.004,
        window_s=1.9,
        executes=3,
        perf_version="6.1.0",
        profiled_ms=[980.0, 990.0, 1001.0],
    )


def make_run(
    path: Path,
    *,
    trial_count: int = 7,
    slow: bool = True,
    profiles: Mapping[str, Mapping[str, int]] | None = None,
    scenario: Scenario | None = None,
    **changes: object,
) -> RunDirectory:
    """A run directory on disk; `changes` replace fields of its run.json."""
    scenario = scenario or load("bug-73056")
    cells = cells_of(scenario)
    if profiles is None:
        profiles = {SLOW: SLOW_STACKS, NORMAL: NORMAL_STACKS}
    stacks = {cell: folded(lines) for cell, lines in profiles.items()}
    infos = {cell: (profile_info(cell, found), found) for cell, found in stacks.items()}
    timed = trials(cells, trial_count, slow)
    names = {c.id: _server_name(c) for c in cells}
    judged = judge_run(Measured(scenario, cells, timed, names, infos), load_rules())
    run = Run(
        id="bug-73056-synthetic",
        tool_version="0.1.0",
        created="2025-11-20T15:40:05+00:00",
        status="complete",
        command=["mysqlprof", "reproduce", "bug-73056", "--out", "a run"],
        scenario=scenario.name,
        plan=PlanRecord(
            definition=scenario,
            seed=42,
            trials=scenario.trials,
            warmups=scenario.warmups,
            cells=list(cells),
        ),
        driver={"name": "connector-j", "version": "8.0.33"},
        workload={"parameters": 12000, "statement_bytes": 1834512},
        environment={"cpu_model": "Synthetic CPU", "cpus": 2, "kernel": "6.1.0"},
        servers=[server(n, n.split("_")[0]) for n in dict.fromkeys(names.values())],
        cells=judged.cells,
        contrasts=judged.contrasts,
        claims=judged.claims,
        verdict=judged.verdict,
        caveats=[Caveat(kind="substitution", text="5.7.22 stands in for 5.7.38")],
        thresholds=THRESHOLDS,
        elapsed_s={"setup": 11.2, "timed": 71.0, "profiled": 32.5},
    )
    run_dir = RunDirectory.create(path, force=False)
    run_dir.write_trials(timed, {cell.id: cell.levels for cell in cells})
    for info, found in infos.values():
        run_dir.write_profile(info, found, flame_svg(found) if found.total else None)
    run_dir.write_run(run.model_copy(update=changes))
    return run_dir


def _server_name(cell: CellSpec) -> str:
    fixed = cell.levels.get("allocator") == "fixed"
    return f"{cell.role}_fixed" if fixed else cell.role


MATRIX_SERVERS = {"5.7.38": "5.7.29", "8.0.32": "8.0.31"}
"""Asked for -> ran."""
MATRIX_DRIVERS = [f"connector-j:{v}" for v in ("5.1.49", "8.0.22", "8.0.33", "8.3.0")]


def make_matrix_run(
    path: Path,
    *,
    drivers: list[str] | None = None,
    servers: Mapping[str, str] = MATRIX_SERVERS,
    ratios: Mapping[tuple[str, str], float] | None = None,
    gaps: Mapping[str, str] | None = None,
    trial_count: int = 7,
    run_drivers: Mapping[str, Mapping[str, str]] | None = None,
    **changes: object,
) -> RunDirectory:
    """A matrix run on disk. `ratios` (driver, server asked for) replace 40 on 5.7 and 0.9
    elsewhere; `gaps` are drivers that could not run, with the reason."""
    drivers, gaps = drivers or MATRIX_DRIVERS, dict(gaps or {})
    bug = load("bug-73056")
    wanted = plan_of(bug, list(servers), drivers)
    definition = derive(bug.model_copy(update={"matrix": wanted}), trial_count)
    left_out = [{"driver": name} for name in gaps]
    cells = cells_of(definition.model_copy(update={"exclude": left_out}))
    chance = random.Random(11)
    base = {name: 20.0 * (1 + 0.15 * index) for index, name in enumerate(drivers)}
    timed = []
    for round_ in range(trial_count):
        for cell in cells:
            driver = cell.levels["driver"]
            usual = 40.0 + 5 * drivers.index(driver) if cell.role.startswith("5.7") else 0.9
            on = cell.levels["server_prepare"] == "on"
            ratio = (ratios or {}).get((driver, cell.role), usual) if on else 1.0
            timed.append(
                TrialResult(
                    cell=cell.id,
                    trial=len(timed),
                    round=round_,
                    kind="timed",
                    profiled=False,
                    elapsed_ms=round(base[driver] * ratio * chance.lognormvariate(0, 0.04), 4),
                    prepare_ms=11.0,
                    rows_written=500,
                )
            )
    names = {cell.id: cell.role for cell in cells}
    judged = judge_run(Measured(definition, cells, timed, names, {}), load_rules())
    run = Run(
        id="matrix-synthetic",
        tool_version="0.1.0",
        created="2025-11-20T15:40:05+00:00",
        status="complete",
        command=["mysqlprof", "matrix", "bug-73056", "--out", "a matrix"],
        scenario=definition.name,
        plan=PlanRecord(
            definition=definition, seed=42, trials=trial_count, warmups=1, cells=list(cells)
        ),
        drivers={name: dict(facts) for name, facts in (run_drivers or {}).items()},
        workload={"parameters": 12000},
        environment={"cpu_model": "Synthetic CPU", "cpus": 2},
        servers=[
            server(
                asked,
                asked,
                requested=asked,
                version=ran,
                substitution="" if asked == ran else "no image; nearest version with a package",
            )
            for asked, ran in servers.items()
        ],
        cells=judged.cells,
        contrasts=judged.contrasts,
        caveats=[Caveat(kind="substitution", text="5.7.29 stands in for 5.7.38")],
        thresholds=THRESHOLDS,
        elapsed_s={"setup": 11.2, "timed": 71.0},
    )
    run = run.model_copy(update={"matrix": rows(run, gaps)})
    run_dir = RunDirectory.create(path, force=False)
    run_dir.write_trials(timed, {cell.id: cell.levels for cell in cells})
    run_dir.write_run(run.model_copy(update=changes))
    return run_dir
