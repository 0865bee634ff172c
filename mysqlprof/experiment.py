"""run_plan(): the only place that knows the order of steps.

Start the servers, prove that they are the ones meant, prepare the table, warm up, run the timed
trials interleaved, then the profiled windows, then judge. Everything is on disk before the next
trial starts; whatever happens, what was measured stays readable.
"""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pymysql

from mysqlprof import __version__
from mysqlprof.attribution import Rules, attribute, load_rules
from mysqlprof.builders import different_builders
from mysqlprof.capturing import Captures, Subject, captured_cells
from mysqlprof.closure import on_cpu_shares
from mysqlprof.counters import Counters, StolenTime
from mysqlprof.counting import CellCounts, bcc_python, count_cell, merged, off_cpu_graph
from mysqlprof.crossover import crossover_of
from mysqlprof.drivers.base import Driver, DriverFailed, Refused
from mysqlprof.drivers.refusals import gap_of
from mysqlprof.errors import EnvironmentLacks, PartialData, ServerFailed
from mysqlprof.interrupts import Interrupted, Interrupts
from mysqlprof.launches import launches
from mysqlprof.level import Route
from mysqlprof.link_types import LinkCheck
from mysqlprof.model import (
    Caveat,
    CellSpec,
    Gap,
    Limits,
    Plan,
    PlanRecord,
    ProfileInfo,
    Run,
    RunStatus,
    ServerInfo,
    TrialResult,
    TrialSpec,
)
from mysqlprof.noise import noise_caveat, noise_plan
from mysqlprof.probes.perf import PerfOptions
from mysqlprof.profiling import flame_graph, named, record_profile
from mysqlprof.progress import Progress, TrialClock
from mysqlprof.routes import Hosts, Way, open_hosts
from mysqlprof.scenario import matches
from mysqlprof.servers.admin import Admin, is_connection_lost
from mysqlprof.servers.base import Backend, Server
from mysqlprof.stacks import FoldedStacks
from mysqlprof.statistics import THRESHOLDS
from mysqlprof.store import RunDirectory
from mysqlprof.verdict import Measured, judge_run, ratios_undecided
from mysqlprof.workloads.base import Workload, amount, stored_facts


@dataclass(frozen=True)
class RunOptions:
    run_id: str
    command: list[str]
    environment: Mapping[str, Any]
    limits: Limits = Limits()
    images: Mapping[str, str] = field(default_factory=dict)
    """Role -> image reference of the user's own."""
    perf: PerfOptions | None = None
    """None: measure times only."""
    evidence: frozenset[str] = frozenset()
    """What is gathered after the profiles: names of request.EVIDENCE."""
    complete: Callable[[Run, Measured], Run] = lambda run, _: run
    """Adds what is derived from the whole run, each time before it is written."""
    check_servers: Callable[[Sequence[ServerInfo]], None] = lambda _: None
    """Raises where the servers that were started must not be compared."""
    refusals: dict[str, str] | None = None
    """Takes, by cell, why its driver failed on a server that lives: such a cell is then left out.
    None: such a failure ends the run."""
    undecided: Callable[[Measured], bool] = lambda _: False
    """Whether more rounds are wanted, besides those that claims need."""


@dataclass
class _Running:
    """One server while the run lasts."""

    server: Server
    admin: Admin
    info: ServerInfo
    tables_of: Workload
    """Whose tables are there."""
    log: str = ""
    death: str = ""
    """Why it cannot be used any more; empty while it can."""


@dataclass(frozen=True)
class Bench:
    """Everything that a plan is executed with."""

    plan: Plan
    workload: Workload
    """Of cells that have none of their own."""
    backend: Backend
    drivers: Mapping[str, Driver]
    """By the names that cells give; "" is the driver of cells that name none. One that could not be
    opened is left out: its cells are gaps."""
    run_dir: RunDirectory
    options: RunOptions
    progress: Progress
    interrupts: Interrupts
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    """By cell."""
    gaps: Sequence[Gap] = ()
    """Known beforehand."""


def run_plan(bench: Bench) -> Run:
    """Execute the plan and return the judged run, which is also on disk.

    A server that dies takes its cells with it: the rest goes on, the run's status is "failed".
    Raises what prevents the run from starting at all; afterwards problems become caveats.
    """
    return _Experiment(bench).run()


def _gap_caveat(gap: Gap) -> Caveat:
    remedy = f"; what would allow it: {gap.remedy}" if gap.remedy else ""
    return Caveat(kind="not_measured_here", text=f"{', '.join(gap.cells)}: {gap.why}{remedy}")


class _Experiment:
    def __init__(self, bench: Bench) -> None:
        self._plan = bench.plan
        self._workload = bench.workload
        self._workloads = bench.workloads
        self._backend = bench.backend
        self._drivers = bench.drivers
        self._run_dir = bench.run_dir
        self._options = bench.options
        self._progress = bench.progress
        self._interrupts = bench.interrupts
        self._rules: Rules = load_rules()
        self._created = datetime.now(UTC).isoformat(timespec="seconds")
        self._launches = launches(bench.plan, bench.options.limits, bench.options.images)
        self._servers: dict[str, _Running] = {}
        self._ways: dict[str, Way] = {}
        self._links: list[LinkCheck] = []
        self._gaps = list(bench.gaps)
        self._trials: list[TrialResult] = []
        self._profiles: dict[str, tuple[ProfileInfo, FoldedStacks]] = {}
        self._captures = Captures(bench.run_dir) if "wire" in bench.options.evidence else None
        self._counts: list[CellCounts] = []
        self._caveats: list[Caveat] = []
        self._elapsed_s: dict[str, float] = {}
        self._clock = TrialClock()
        self._refusals = {} if bench.options.refusals is None else bench.options.refusals

    # --- the order of steps ---

    def run(self) -> Run:
        self._interrupts.arm()
        self._write("running")
        steal = StolenTime()
        status: RunStatus = "complete"
        with ExitStack() as stack:
            try:
                with self._timed("setup"):
                    self._start_servers(stack)
                self._interrupts.defer()
                with self._timed("warmup"):
                    self._run_trials(self._plan.warmups)
                    self._check_noise()
                with self._timed("timed"):
                    self._run_trials(self._plan.timed)
                    self._run_more_rounds()
                with self._timed("profiled"):
                    self._profile_cells()
                with self._timed("evidence"):
                    self._gather_evidence()
                self._check_identities()
            except Interrupted:
                status = "interrupted"
            except BaseException:
                self._save_logs()
                self._write("failed")
                self._run_dir.write_sums()
                raise
            self._interrupts.shield()
            self._save_logs()
        if self._interrupts.requested:
            status = "interrupted"
        elif any(running.death for running in self._servers.values()):
            status = "failed"
        self._caveats += steal.caveats()
        run = self._write(status)
        self._run_dir.write_sums()
        return run

    def _start_servers(self, stack: ExitStack) -> None:
        hosts = stack.enter_context(open_hosts(self._plan.scenario.hosts, self._progress.step))
        if hosts.lacking:
            text = f"server and client share this host's loopback: {hosts.lacking.message}"
            self._caveats.append(Caveat(kind="network", text=text))
        for name, spec in self._launches.specs.items():
            self._progress.step(f"starting {name}: MySQL {spec.requested or spec.image}")
            server = stack.enter_context(self._backend.launch(hosts.equipped(spec), name))
            try:
                admin = Admin(server.endpoint)
                stack.callback(admin.close)
                for statement in self._workload.setup:
                    admin.query(statement)
                info = server.info()
            except (pymysql.MySQLError, OSError) as error:
                why = server.why_dead() or error
                raise ServerFailed(f"{name}: {why}", server.log_tail()) from error
            self._servers[name] = _Running(server, admin, info, self._workload)
            asked = f" (asked for {info.requested})" if info.substitution else ""
            self._progress.note(
                f"{name}: MySQL {info.version}{asked}, ready in {info.ready_s:.1f} s"
            )
        infos = [running.info for running in self._servers.values()]
        self._options.check_servers(infos)
        self._caveats += different_builders(infos)
        for text in dict.fromkeys(r.info.substitution for r in self._servers.values()):
            if text:
                self._caveats.append(Caveat(kind="substitution", text=text))
        self._open_ways(hosts)

    def _open_ways(self, hosts: Hosts) -> None:
        """One for each server and route that cells take; what cannot be had is a gap."""
        cells: dict[tuple[str, Route, float, str], list[str]] = {}
        for cell in self._plan.cells:
            key = (self._launches.of_cell[cell.id], cell.route, cell.rtt_ms, cell.link)
            cells.setdefault(key, []).append(cell.id)
        for (name, route, rtt_ms, link), ids in cells.items():
            if route != "direct":
                self._progress.step(f"opening the {route} to {name}")
            endpoint = self._servers[name].server.endpoint
            try:
                way = hosts.way(route, endpoint, self._launches.specs[name], rtt_ms, link)
            except EnvironmentLacks as error:
                lost = f"{link} link" if link and route == "direct" else route
                self._add_gap(Gap(cells=ids, why=f"no {lost}: {error.message}", remedy=error.hint))
                continue
            self._ways |= dict.fromkeys(ids, way)
            if way.product:
                text = f"{', '.join(ids)}: through {way.product}"
                self._caveats.append(Caveat(kind="on_the_way", text=text))
        if not self._ways:
            raise EnvironmentLacks(self._gaps[0].why, self._gaps[0].remedy)
        self._links = [line.check for line in hosts.lines]
        texts = [text for check in self._links for text in check.caveats]
        self._caveats += [Caveat(kind="link", text=text) for text in texts]

    def _add_gap(self, gap: Gap) -> None:
        self._gaps.append(gap)
        self._progress.note(f"{', '.join(gap.cells)}: not measured: {gap.why}")

    def _is_gap(self, cell_id: str) -> bool:
        return any(cell_id in gap.cells for gap in self._gaps)

    def _cannot_run(self, cell_id: str) -> bool:
        return self._is_gap(cell_id) or bool(self._server_of(cell_id).death)

    def _check_noise(self) -> None:
        """One cell against itself: what could be told apart at all, before anything is compared."""
        wanted = self._plan.scenario.noise
        if wanted is None or self._interrupts.requested:
            return
        specs = noise_plan(wanted, self._plan)
        self._run_trials(specs)
        caveat = noise_caveat(wanted, [t for t in self._trials if t.kind == "noise"])
        self._progress.note(caveat.text)
        self._caveats.append(caveat)

    def _run_trials(self, trials: tuple[TrialSpec, ...]) -> None:
        for number, spec in enumerate(trials):
            if self._interrupts.requested:
                return
            if self._cannot_run(spec.cell):
                continue
            left = self._clock.estimate([later.cell for later in trials[number:]])
            self._progress.trial(number, len(trials), spec.cell, left)
            with self._clock.of(spec.cell), self._server_may_die(spec.cell):
                self._trial(spec, nullcontext())

    def _run_more_rounds(self) -> None:
        """While a ratio that the verdict needs cannot be told, add rounds, as many as planned."""
        rounds = 0
        for _, specs in itertools.groupby(self._plan.extra, key=lambda spec: spec.round):
            dead = any(running.death for running in self._servers.values())
            if dead or self._interrupts.requested or not self._ratios_undecided():
                break
            self._progress.step("the intervals are still too wide: one more round")
            self._run_trials(tuple(specs))
            rounds += 1
        if rounds:
            text = f"{rounds} more rounds than planned were run, since intervals were too wide"
            self._caveats.append(Caveat(kind="more_rounds", text=text))

    def _ratios_undecided(self) -> bool:
        measured = self._measured()
        if self._options.undecided(measured):
            return True
        return ratios_undecided(self._plan.scenario, judge_run(measured, self._rules))

    def _profile_cells(self) -> None:
        perf = self._options.perf
        if perf is None:
            return
        for number, cell_id in enumerate(self._plan.profiled):
            if self._interrupts.requested:
                return
            if self._cannot_run(cell_id):
                continue
            self._progress.trial(number, len(self._plan.profiled), f"profile {cell_id}", None)
            with self._server_may_die(cell_id):
                try:
                    self._profile(self._plan.cell(cell_id), perf)
                except (PartialData, EnvironmentLacks) as error:
                    self._caveats.append(
                        Caveat(
                            kind="profile",
                            text=f"{cell_id}: no {self._lacking(cell_id)}: {error.message}",
                            partial=True,
                        )
                    )

    def _lacking(self, cell_id: str) -> str:
        return "flame graph" if cell_id in self._profiles else "profile"

    def _gather_evidence(self) -> None:
        if self._captures:
            self._capture_cells(self._captures)
        if "counters" in self._options.evidence:
            self._count_cells()

    # --- further evidence: the wire ---

    def _capture_cells(self, captures: Captures) -> None:
        cells = captured_cells(self._plan)
        if not cells:
            text = "no claim of the scenario is about the wire: nothing was captured"
            self._caveats.append(Caveat(kind="wire", text=text))
        for number, cell in enumerate(cells):
            if self._interrupts.requested:
                return
            if self._cannot_run(cell.id):
                continue
            self._progress.trial(number, len(cells), f"capture {cell.id}", None)
            subject = Subject(cell.id, self._ways[cell.id].captured, self._trial)
            with self._server_may_die(cell.id):
                self._caveats += captures.add(subject)

    # --- one trial ---

    def _trial(self, spec: TrialSpec, window: AbstractContextManager[None]) -> TrialResult:
        """Clear the last one's rows, set the switches, prepare anew, execute, check what arrived.

        Each trial has a connection and a statement of its own: the server decides at prepare
        whether it will rebuild the text, and a statement's first executes leave memory behind
        that would spare the later ones the growth.
        """
        cell = self._plan.cell(spec.cell)
        running = self._server_of(cell.id)
        admin = running.admin
        workload = self._workload_of(cell.id)
        self._clear(running, workload)
        for name, value in cell.set.items():
            admin.set_global(name, value)
        way = self._ways[cell.id]
        driver = self._drivers[cell.driver_name]
        counted = workload.counters
        task = workload.task(self._trials_on(running))
        with way.ready(), driver.session(way.endpoint, task, cell.driver) as session:
            for name, value in cell.set_after_prepare.items():
                admin.set_global(name, value)
            before = Counters.before(admin, running.server.pid, counted)
            on_the_way = way.readings()
            with window:
                executions = [session.execute() for _ in range(workload.executes)]
            after = Counters.read(admin, running.server.pid, counted)
            spent = {name: value - on_the_way[name] for name, value in way.readings().items()}
            prepare_ms = session.prepare_ms
        self._check_arrival(cell, admin)
        elapsed_ms = sum(execution.elapsed_ms for execution in executions)
        status = after.since(before)
        metrics = {**executions[-1].metrics, **spent}
        metrics |= way.figures(elapsed_ms, workload.units, spent)
        metrics |= workload.figures(elapsed_ms, status, metrics)
        result = TrialResult(
            cell=cell.id,
            trial=sum(t.cell == cell.id and t.kind == spec.kind for t in self._trials),
            round=spec.round,
            kind=spec.kind,
            profiled=spec.kind == "profiled",
            elapsed_ms=elapsed_ms,
            prepare_ms=prepare_ms,
            rows_written=_total([execution.affected_rows for execution in executions]),
            status=status,
            metrics=metrics,
        )
        self._check_counters(cell, result)
        self._trials.append(result)
        self._run_dir.write_trials(self._trials, {c.id: c.levels for c in self._plan.cells})
        return result

    def _trials_on(self, running: _Running) -> int:
        return sum(self._server_of(trial.cell) is running for trial in self._trials)

    def _workload_of(self, cell_id: str) -> Workload:
        return self._workloads.get(cell_id, self._workload)

    @staticmethod
    def _clear(running: _Running, workload: Workload) -> None:
        """What the last trial left; another workload's tables are made anew."""
        same = running.tables_of is workload
        for statement in workload.reset if same else workload.setup:
            running.admin.query(statement)
        running.tables_of = workload

    def _check_arrival(self, cell: CellSpec, admin: Admin) -> None:
        arrival = self._workload_of(cell.id).arrival
        failure = arrival.failure(admin.query(arrival.query)[0]) if arrival else ""
        if failure:
            raise ServerFailed(
                f"{cell.id}: {failure}",
                "the timing would mean nothing; this is a bug in the driver or in mysqlprof",
            )

    def _check_counters(self, cell: CellSpec, result: TrialResult) -> None:
        workload = self._workload_of(cell.id)
        wrong = workload.disagreement(cell.driver, result.status, result.metrics)
        if wrong:
            raise ServerFailed(
                f"{cell.id}: {wrong}",
                "the driver did not do what the cell says; check its options",
            )

    # --- one profile ---

    def _profile(self, cell: CellSpec, perf: PerfOptions) -> None:
        running = self._server_of(cell.id)
        info, stacks = record_profile(
            cell.id,
            running.server.pid,
            perf,
            self._plan.scenario.profile,
            execute=self._trial,
            stop=lambda: self._interrupts.requested,
        )
        self._profiles[cell.id] = (info, stacks)
        svg = None
        try:
            work = amount(self._workload_of(cell.id), info.executes)
            svg = flame_graph(info, stacks, cell.levels, running.info.version, work)
        finally:  # a picture that cannot be drawn does not cost the profile
            self._run_dir.write_profile(info, stacks, svg)
            self._write_attribution()

    # --- further evidence: exact counts ---

    def _count_cells(self) -> None:
        plan = self._plan.scenario.counters
        if plan is None:
            text = f"scenario {self._plan.scenario.name} has no [counters]: nothing was counted"
            self._caveats.append(Caveat(kind="counters", text=text))
            return
        try:
            python = bcc_python()
        except EnvironmentLacks as error:
            text = f"nothing was counted: {error.message}; `mysqlprof doctor` says what mends it"
            self._caveats.append(Caveat(kind="counters", text=text, partial=True))
            return
        chosen = [
            cell
            for cell in self._plan.cells
            if any(matches(cell.levels, selector) for selector in plan.cells)
        ]
        for number, cell in enumerate(chosen):
            if self._interrupts.requested:
                return
            running = self._server_of(cell.id)
            if self._cannot_run(cell.id):
                continue
            self._progress.trial(number, len(chosen), f"count {cell.id}", None)
            profile = self._profiles.get(cell.id)
            with self._server_may_die(cell.id):
                counts = count_cell(
                    cell.id,
                    running.server.pid,
                    plan,
                    python,
                    execute=self._trial,
                    shares=on_cpu_shares(profile[1], plan.dispatch.name, self._rules)
                    if profile
                    else [],
                )
                self._keep_counts(cell, counts, running.info.version)

    def _keep_counts(self, cell: CellSpec, counts: CellCounts, version: str) -> None:
        self._counts.append(counts)
        self._caveats += counts.caveats
        self._run_dir.write_counters([row for c in self._counts for row in c.rows])
        svg = None
        try:
            svg = off_cpu_graph(counts, named(cell.levels, version))
        except (PartialData, EnvironmentLacks) as error:
            text = f"{cell.id}: no flame graph of the time off the CPU: {error.message}"
            self._caveats.append(Caveat(kind="counters", text=text, partial=True))
        if counts.watched:
            self._run_dir.write_off_cpu(cell.id, counts.off_cpu, svg)

    def _write_attribution(self) -> None:
        rows = []
        for cell_id, (_, stacks) in self._profiles.items():
            rows += attribute(stacks, self._rules).to_rows(cell_id)
        self._run_dir.write_attribution(rows)

    # --- servers: identity, death, logs ---

    def _server_of(self, cell_id: str) -> _Running:
        return self._servers[self._launches.of_cell[cell_id]]

    @contextmanager
    def _server_may_die(self, cell_id: str) -> Iterator[None]:
        """A dead server ends its own cells, not the run. Other errors pass."""
        running = self._server_of(cell_id)
        try:
            yield
        except (DriverFailed, pymysql.MySQLError, OSError) as error:
            if isinstance(error, pymysql.MySQLError) and not is_connection_lost(error):
                raise ServerFailed(
                    f"{running.info.name}: {error}", running.server.log_tail()
                ) from error
            death = self._death_of(running)
            if not death and self._may_be_left_out(error):
                self._refusals[cell_id] = str(error)
                self._add_gap(gap_of(cell_id, error))
                return
            if not death:
                raise ServerFailed(
                    f"{running.info.name}: {error}", running.server.log_tail(5)
                ) from error
            running.death = death
            running.log = running.server.log_tail(200)
            name, version = running.info.name, running.info.version
            tail = running.server.log_tail(3).replace("\n", " | ")
            text = f"{name} (MySQL {version}) died: {death}; the end of its log: {tail}"
            self._caveats.append(Caveat(kind="server_died", text=text, partial=True))
            self._progress.note(text)

    def _may_be_left_out(self, error: Exception) -> bool:
        """Whoever cannot even connect never can; other failures only where they are asked about."""
        return isinstance(error, Refused) or (
            isinstance(error, DriverFailed) and self._options.refusals is not None
        )

    @staticmethod
    def _death_of(running: _Running) -> str:
        """The connection breaks a moment before the process is seen to have ended."""
        end = time.monotonic() + 5
        while time.monotonic() < end:
            death = running.server.why_dead()
            if death:
                return death
            time.sleep(0.05)
        return ""

    def _check_identities(self) -> None:
        """The server that was measured must be the one that was started."""
        for name, running in self._servers.items():
            if running.death:
                continue
            try:
                found = running.admin.query("SELECT @@GLOBAL.server_uuid")[0][0]
            except (pymysql.MySQLError, OSError):
                running.death = running.server.why_dead() or "it does not answer any more"
                continue
            if found != running.info.server_uuid:
                raise ServerFailed(
                    f"{name} has server_uuid {found}, but {running.info.server_uuid} was started",
                    "something else took its port; measure again",
                )

    def _save_logs(self) -> None:
        for name, running in self._servers.items():
            self._run_dir.write_log(
                f"{name}.log", (running.log or running.server.log_tail(200)) + "\n"
            )

    # --- results ---

    @contextmanager
    def _timed(self, step: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self._elapsed_s[step] = round(time.monotonic() - started, 2)

    def _measured(self) -> Measured:
        return Measured(
            self._plan.scenario,
            self._plan.cells,
            self._trials,
            self._launches.of_cell,
            self._profiles,
            wire=self._captures.commands if self._captures else None,
            counters=[row for counts in self._counts for row in counts.rows]
            if "counters" in self._options.evidence and self._plan.scenario.counters
            else None,
            facts=self._workload.facts(),
        )

    def _missing(self, status: RunStatus) -> list[str]:
        missing: list[str] = []
        if status == "running":
            return missing
        for cell in self._plan.cells:
            done = sum(t.cell == cell.id and t.kind == "timed" for t in self._trials)
            if self._is_gap(cell.id):
                continue  # a caveat says why
            if done < self._plan.scenario.trials:
                missing.append(f"{cell.id}: {done} of {self._plan.scenario.trials} timed trials")
        if self._options.perf is None:
            if self._plan.scenario.profile.cells:
                missing.append("profiles: not asked for")
        else:
            missing += [
                f"{cell}: profile"
                for cell in self._plan.profiled
                if cell not in self._profiles and not self._is_gap(cell)
            ]
        return missing + (self._captures.missing(self._plan) if self._captures else [])

    def _rates_bps(self) -> dict[str, int]:
        return {check.link: check.rate_bps for check in self._links if check.rate_bps}

    def _write(self, status: RunStatus) -> Run:
        judged = judge_run(self._measured(), self._rules)
        run = Run(
            id=self._options.run_id,
            tool_version=__version__,
            created=self._created,
            status=status,
            missing=self._missing(status),
            gaps=self._gaps,
            command=self._options.command,
            scenario=self._plan.scenario.name,
            plan=PlanRecord(
                definition=self._plan.scenario,
                seed=self._plan.seed,
                trials=self._plan.scenario.trials,
                warmups=self._plan.scenario.warmups,
                cells=list(self._plan.cells),
            ),
            driver=self._drivers[""].describe() if "" in self._drivers else {},
            drivers={name: d.describe() for name, d in self._drivers.items() if name},
            workload=stored_facts(self._workload),
            workloads={cell: stored_facts(own) for cell, own in self._workloads.items()},
            environment=dict(self._options.environment),
            servers=[running.info for running in self._servers.values()],
            cells=judged.cells,
            contrasts=judged.contrasts,
            claims=judged.claims,
            verdict=judged.verdict,
            counted=merged(self._counts) if self._counts else None,
            links=self._links,
            crossover=crossover_of(self._measured(), self._rates_bps()),
            caveats=[*self._caveats, *map(_gap_caveat, self._gaps), *judged.caveats],
            thresholds=THRESHOLDS,
            elapsed_s=self._elapsed_s,
        )
        run = self._options.complete(run, self._measured())
        self._run_dir.write_run(run)
        return run


def _total(counts: Sequence[int | None]) -> int | None:
    """None where one of them is not known."""
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
