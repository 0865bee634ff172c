"""Imported profiles -> a run directory that is read like any other."""

import re
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from mysqlprof import __version__, scenario
from mysqlprof.attribution import attribute, load_rules, path_share
from mysqlprof.errors import EnvironmentLacks, PartialData
from mysqlprof.flamegraph import render
from mysqlprof.importing.read import Imported
from mysqlprof.model import (
    Caveat,
    CellResult,
    CellSpec,
    Factor,
    ImportedProfile,
    KnownPath,
    Level,
    PlanRecord,
    ProfileInfo,
    Run,
    Scenario,
)
from mysqlprof.stacks import UNKNOWN, FoldedStacks, Stack, plain_name
from mysqlprof.store import RunDirectory
from mysqlprof.workload_spec import NoWorkload

_ENDINGS = re.compile(r"(\.(gz|txt|folded|data|perf|script|perf-script|collapsed))+$")
_FACTOR = "profile"
_LONGEST_ID = 80


def write_run(
    profiles: Sequence[Imported], out: Path, *, force: bool, command: Sequence[str]
) -> tuple[Run, RunDirectory]:
    """A complete run without trials: each profile is a cell. The reports are not drawn yet."""
    now = datetime.now(UTC)
    cells = dict(zip(_cell_ids(profiles), profiles, strict=True))
    run_dir = RunDirectory.create(out, force=force)
    paths = list(_known_paths())
    records, rows, caveats = [], [], _caveats(profiles)
    for cell, profile in cells.items():
        stacks = stacks_of(profile.counts)
        drawing, gap = _drawn(profile, stacks)
        caveats += gap
        run_dir.write_profile(_info(cell, profile, stacks), stacks, drawing)
        rows += attribute(stacks, load_rules()).to_rows(cell)
        records.append(_record(cell, profile, _known(stacks, paths)))
    run_dir.write_attribution(rows)
    run_dir.write_trials([], {})
    definition = _definition(cells)
    run = Run(
        id=f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}",
        tool_version=__version__,
        created=now.isoformat(timespec="seconds"),
        status="complete",
        command=list(command),
        scenario=definition.name,
        plan=PlanRecord(
            definition=definition,
            seed=0,
            trials=0,
            warmups=0,
            cells=[CellSpec(id=cell, levels={_FACTOR: cell}) for cell in cells],
        ),
        cells=[_result(cell) for cell in cells],
        imported=records,
        verdict="measured",
        caveats=caveats,
    )
    run_dir.write_run(run)
    return run, run_dir


def default_out(profiles: Sequence[Imported]) -> Path:
    """runs/import-FILE-TIME, as other verbs name theirs."""
    return Path("runs", f"import-{_cell_ids(profiles)[0]}-{datetime.now(UTC):%Y%m%d-%H%M%S}")


def stacks_of(counts: Mapping[bytes, int]) -> FoldedStacks:
    """Text of names that can be written and read again: no empty name, no undecodable byte."""
    found: Counter[Stack] = Counter()
    for stack, count in counts.items():
        text = stack.decode("utf-8", "replace")
        found[tuple(frame.strip() or UNKNOWN for frame in text.split(";"))] += count
    return FoldedStacks(found)


def _definition(cells: Mapping[str, Imported]) -> Scenario:
    files = list(dict.fromkeys(profile.file for profile in cells.values()))
    title = files[0] if len(files) == 1 else f"{len(files)} files"
    return Scenario(
        name="import",
        title=f"Imported: {title}",
        summary="Profiles that were recorded elsewhere. Nothing was timed, and no claim is judged.",
        workload=NoWorkload(),
        trials=0,
        warmups=0,
        servers={},
        factors=[Factor(name=_FACTOR, levels={cell: Level() for cell in cells})],
        contrasts=[],
        claims=[],
    )


def _cell_ids(profiles: Sequence[Imported]) -> list[str]:
    """After the files, and the events where a file has several; a number makes them unique."""
    files = Counter(profile.file for profile in profiles)
    taken: Counter[str] = Counter()
    ids = []
    for profile in profiles:
        name = _ENDINGS.sub("", profile.file)
        if files[profile.file] > 1 and profile.event:
            name = f"{name}_{profile.event}"
        base = re.sub(r"[^A-Za-z0-9.-]+", "-", name).strip("-.")[:_LONGEST_ID] or "profile"
        taken[base] += 1
        ids.append(base if taken[base] == 1 else f"{base}-{taken[base]}")
    if len(set(ids)) < len(ids):  # a file is called as another one's number would make it
        return [f"{number}-{cell}" for number, cell in enumerate(ids, start=1)]
    return ids


def _result(cell: str) -> CellResult:
    return CellResult(
        id=cell,
        levels={_FACTOR: cell},
        server="",
        trials=0,
        median_ms=None,
        ci_low_ms=None,
        ci_high_ms=None,
    )


def _record(cell: str, profile: Imported, known: list[KnownPath]) -> ImportedProfile:
    return ImportedProfile(
        cell=cell,
        file=profile.file,
        sha256=profile.sha256,
        format=profile.kind,
        event=profile.event,
        unit=profile.unit,
        samples=profile.samples,
        weight=profile.weight,
        other_events=dict(profile.others),
        unreadable=profile.problems.count,
        known=known,
    )


def _info(cell: str, profile: Imported, stacks: FoldedStacks) -> ProfileInfo:
    unnamed = {frame for frame in stacks.frames() if _is_unnamed(frame)}
    total = stacks.total or 1
    return ProfileInfo(
        cell=cell,
        event=profile.event or "not known",
        unit=profile.unit,
        frequency_hz=0,
        call_graph="as recorded",
        samples=profile.samples or profile.weight,
        lost=profile.lost,
        unresolved=stacks.select(lambda s: not unnamed.isdisjoint(s)).total / total,
        unresolved_leaf=stacks.with_leaf(unnamed.__contains__).total / total,
        window_s=0.0,
        executes=0,
        perf_version="",
    )


def _is_unnamed(frame: str) -> bool:
    """`[unknown]`, and `[libc.so.6]`: a frame without symbol named after its binary."""
    name = plain_name(frame)
    return name.startswith("[") and name.endswith("]")


def _drawn(profile: Imported, stacks: FoldedStacks) -> tuple[str | None, list[Caveat]]:
    if not stacks.total:
        return None, []
    subtitle = f"{profile.weight:,} {profile.unit} of {profile.event or 'an event not named'}"
    try:
        drawing = render(stacks, title=profile.file, subtitle=subtitle, unit=profile.unit)
    except (EnvironmentLacks, PartialData) as error:
        return None, [Caveat(kind="flame_graph", text=error.message, partial=True)]
    return drawing, []


def _known_paths() -> Iterator[tuple[Scenario, list[str], float]]:
    """Of the built-in scenarios: the path that an essential claim names, and its bound; each once.

    A scenario stands or falls with it: without the path it is not that problem.
    """
    seen: list[list[str]] = []
    for name in scenario.names():
        definition = scenario.load(name)
        for claim in definition.claims:
            if not claim.essential or not claim.path or claim.above is None:
                continue
            if claim.path not in seen:
                seen.append(claim.path)
                yield definition, claim.path, claim.above


def _known(
    stacks: FoldedStacks, paths: Sequence[tuple[Scenario, list[str], float]]
) -> list[KnownPath]:
    found = []
    for definition, patterns, above in paths:
        hits, total = path_share(stacks, patterns)
        share = hits / total if total else 0.0
        found.append(
            KnownPath(scenario=definition.name, title=definition.title, share=share, above=above)
        )
    return sorted(found, key=lambda path: -path.share)


def _caveats(profiles: Sequence[Imported]) -> list[Caveat]:
    caveats = []
    for profile in profiles:
        problems, others = profile.problems, profile.others
        if problems.count:
            lines = "; ".join(problems.summary())
            text = f"in {profile.file}, {problems.count:,} lines or samples were left out: {lines}"
            caveats.append(Caveat(kind="unreadable_lines", text=text))
        if others:
            names = ", ".join(f"{name} ({count:,})" for name, count in others.items())
            kept = profile.event or "the first event"
            text = f"in {profile.file}, only {kept} was kept; there are also: {names}"
            caveats.append(Caveat(kind="other_events", text=text))
    if len({profile.unit for profile in profiles}) > 1:
        text = "the profiles have different units: compare shares, not weights"
        caveats.append(Caveat(kind="units", text=text))
    return caveats
