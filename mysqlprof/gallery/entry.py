"""One profile as the gallery lists it: where it comes from, what its run says of its cell."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from mysqlprof.changes import CellComparison
from mysqlprof.gallery.find import Found
from mysqlprof.model import CellSpec, ContrastResult, ProfileInfo, Run, ServerInfo
from mysqlprof.report.bisect import bisect_lines
from mysqlprof.report.upgrade_words import change_word
from mysqlprof.report.word import Word
from mysqlprof.report.words import VERDICTS
from mysqlprof.rules import FrameKind, Rules
from mysqlprof.stacks import FoldedStacks
from mysqlprof.stored_profile import unit_of, units_of

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80
_NOT_JUDGED = Word("Not judged", "\N{EN DASH}", "unsure")


@dataclass(frozen=True)
class Entry:
    id: str
    """Safe in a file name and a URL, unique in the site."""
    run: Run
    info: ProfileInfo
    version: str
    """Of the server that really ran; empty where it is not known."""
    requested: str
    backend: str
    driver: str
    """Name and version; empty where it is not known."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Levels of the cell's factors, but for the server."""
    contrast: ContrastResult | None = None
    """The ratio that the cell is a side of; the one it is the numerator of, where there is one."""

    @property
    def cell(self) -> str:
        return self.info.cell

    @property
    def verdict(self) -> Word:
        """Of the run; of an upgrade or a bisection, what it says of this cell or version."""
        row = _comparison(self.run, self.cell)
        if row:
            return change_word(row.verdict)
        points = (line for line in bisect_lines(self.run) if line.point.version == self.version)
        return next((line.word for line in points), run_verdict(self.run))

    @property
    def title(self) -> str:
        return self.run.plan.definition.title

    @property
    def ratio(self) -> float | None:
        return self.contrast.ratio if self.contrast else None

    @property
    def is_numerator(self) -> bool:
        return self.contrast is not None and self.contrast.numerator == self.cell

    @property
    def work(self) -> float:
        """Units of work that it was recorded over; 0 where that is not known."""
        return units_of(self.run, self.info)

    @property
    def ms_per_sample(self) -> float:
        """CPU milliseconds per unit of work that one sample stands for; 0 where it is not known."""
        work = self.work
        return 1000 / self.info.frequency_hz / work if work and self.info.frequency_hz > 0 else 0.0

    @property
    def work_unit(self) -> str:
        return unit_of(self.run)

    @property
    def words(self) -> list[str]:
        """The cell in words: "log on", "prepare on"; levels that speak for themselves alone."""
        labels = {f.name: f.label for f in self.run.plan.definition.factors}
        return [f"{labels.get(f, '')} {level}".strip() for f, level in self.settings.items()]

    @property
    def name(self) -> str:
        """One line that tells this profile from the others: for lists and titles."""
        server = f"MySQL {self.version}" if self.version else ""
        return ", ".join(filter(None, [server, *self.words])) or self.cell


def entry(found: Found, info: ProfileInfo, taken: set[str]) -> Entry:
    """`taken` are the ids given so far; the new one is added."""
    run = found.run
    spec = next((c for c in run.plan.cells if c.id == info.cell), None)
    levels = dict(spec.levels) if spec else {}
    server = _server(run, info.cell, levels.pop("server", ""))
    return Entry(
        id=_identity(found, info.cell, taken),
        run=run,
        info=info,
        version=server.version if server else "",
        requested=server.requested if server else "",
        backend=server.backend if server else "",
        driver=_driver(run, spec),
        settings=levels,
        contrast=_contrast(run, info.cell),
    )


def _server(run: Run, cell: str, role: str) -> ServerInfo | None:
    """The server that the cell ran on; in a run cut short, one of its role."""
    named = next((c.server for c in run.cells if c.id == cell), "")
    by_name = [s for s in run.servers if s.name == named]
    return next(iter(by_name or [s for s in run.servers if s.role == role]), None)


def _driver(run: Run, spec: CellSpec | None) -> str:
    facts = run.drivers.get(spec.driver_name, {}) if spec and spec.driver_name else run.driver
    return f"{facts.get('name', '')} {facts.get('version', '')}".strip()


def run_verdict(run: Run) -> Word:
    """Runs that judge nothing (imports, matrices) are no inconclusive ones."""
    if run.verdict == "inconclusive" and not run.claims:
        return _NOT_JUDGED
    return VERDICTS[run.verdict]


def _comparison(run: Run, cell: str) -> CellComparison | None:
    return next((c for c in run.comparison if cell in (c.before_cell, c.after_cell)), None)


def _contrast(run: Run, cell: str) -> ContrastResult | None:
    row = _comparison(run, cell)
    if row:
        return ContrastResult(
            name=row.cell,
            text="after : before",
            numerator=row.after_cell,
            denominator=row.before_cell,
            ratio=row.ratio,
            ci_low=row.ci_low,
            ci_high=row.ci_high,
        )
    sides = [
        c for c in run.contrasts if cell in (c.numerator, c.denominator) and c.ratio is not None
    ]
    sides.sort(key=lambda c: (c.numerator != cell, not c.headline))
    return sides[0] if sides else None


def _identity(found: Found, cell: str, taken: set[str]) -> str:
    plain = f"{found.directory.path.name}-{cell}"
    safe = _UNSAFE.sub("_", plain).strip("._-")[:_LONGEST] or "profile"
    if safe != plain or safe.lower() in taken:
        whole = f"{found.directory.path}/{cell}".encode("utf-8", "surrogatepass")
        safe += "-" + hashlib.sha256(whole).hexdigest()[:8]
    # Some file systems do not tell upper case from lower.
    taken.add(safe.lower())
    return safe


@dataclass(frozen=True)
class Card:
    """An entry, and what its picture says, in words."""

    entry: Entry
    kinds: tuple[tuple[FrameKind, float], ...]
    """Share of samples by what was running, the largest first; from 1 % up."""


def card(made: Entry, stacks: FoldedStacks, rules: Rules) -> Card:
    counts: Counter[FrameKind] = Counter()
    for frame, count in stacks.self_counts().items():
        counts[rules.kind(frame)] += count
    shares = [(kind, count / stacks.total) for kind, count in counts.most_common()]
    return Card(made, tuple((kind, share) for kind, share in shares if share >= 0.01))
