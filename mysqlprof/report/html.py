"""report.html: one file, no remote asset, nothing executed but the scripts its policy names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

import jinja2
from markupsafe import Markup

from mysqlprof.report import charts, numbers
from mysqlprof.report.embed import Graph, embed, policy_hash, srcdoc
from mysqlprof.report.facts import fact_name, fact_value
from mysqlprof.report.profiles import CategoryShare, ProfileView, short_name
from mysqlprof.report.safe import visible
from mysqlprof.report.sketch import Sketch, flame_sketch
from mysqlprof.report.view import CellView, ContrastView, Report, build
from mysqlprof.report.words import (
    VERDICTS,
    arrows,
    claim_word,
    confidence,
    direction,
    headline,
    moment,
    tally,
    times,
    unfinished,
    wording,
    workload_sentence,
)
from mysqlprof.store import RunDirectory

_PANELS = 3
_LEAST = 0.002
"""Categories with less in every profiled cell are left to the tables."""
_FOREST = 250
"""Width of the drawn intervals, in pixels."""


@dataclass(frozen=True)
class FlameView:
    profile: ProfileView
    cell: CellView
    role: str
    """"slow", "normal", or empty outside the pictured pair."""
    graph: Graph | None
    number: int


@dataclass(frozen=True)
class ForestMark:
    """Where a ratio's interval lies on the common logarithmic axis."""

    low: float
    ratio: float
    high: float


# A new part of the report is a template and a line here: id, heading, template, shown when.
def _sections(report: Report) -> list[tuple[str, str, str]]:
    parts = [
        ("claims", "Claims", "claims.html.j2", True),
        ("timings", "Timings", "timings.html.j2", True),
        ("flames", "Flame graphs", "flames.html.j2", True),
        ("attribution", "Where the time goes", "attribution.html.j2", bool(report.profiles)),
        ("servers", "Servers", "servers.html.j2", True),
        ("method", "How it was measured", "method.html.j2", True),
        ("missing", "What was not measured", "missing.html.j2", bool(report.gaps)),
    ]
    return [(name, title, template) for name, title, template, shown in parts if shown]


def render_html(run_dir: RunDirectory) -> str:
    return render(build(run_dir))


def render(report: Report) -> str:
    env = _environment()
    frame_style = _plain(env, "frame.css")
    frame_script = _plain(env, "frame.js")
    flames = _flames(report, frame_style, frame_script)
    style = env.get_template("report.css.j2").render(flames=flames)
    script = _plain(env, "report.js")
    graphs = [f.graph for f in flames if f.graph]
    scripts = [script, *(text for graph in graphs for text in graph.scripts)]
    styles = [style, *([frame_style] if graphs else [])]
    return env.get_template("report.html.j2").render(
        report=report,
        run=report.run,
        scenario=report.scenario,
        verdict=VERDICTS[report.run.verdict],
        headline=headline(report),
        tally=tally(report),
        unfinished=unfinished(report),
        workload=workload_sentence(report),
        confidence=confidence(report),
        sections=_sections(report),
        flames=flames,
        sketch=_sketch(report),
        timing_chart=_timing_chart(report),
        attribution_charts=_attribution_charts(report),
        forest=_forest(report.contrasts),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(scripts, styles),
    )


def _policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Frames inherit it. Nothing may be fetched, from anywhere."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(dict.fromkeys(map(policy_hash, scripts)))}",
            f"style-src {' '.join(dict.fromkeys(map(policy_hash, styles)))}",
            "frame-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("mysqlprof.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    env.filters |= {
        "ms": numbers.milliseconds,
        "duration": numbers.duration,
        "seconds": numbers.seconds,
        "ratio": numbers.ratio,
        "share": numbers.share,
        "count": numbers.count,
        "significant": numbers.significant,
        "short": short_name,
        "wording": wording,
        "claim_word": claim_word,
        "fact_name": fact_name,
        "fact_value": fact_value,
        "moment": moment,
        "direction": direction,
        "arrows": arrows,
        "times": times,
        "srcdoc": srcdoc,
        "bars": _bars,
    }
    env.globals["interval"] = numbers.interval
    return env


def _finalize(value: Any) -> Any:
    """What every `{{ }}` goes through before it is escaped."""
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _plain(env: jinja2.Environment, name: str) -> str:
    assert env.loader is not None
    return env.loader.get_source(env, name)[0]


def _flames(report: Report, style: str, script: str) -> list[FlameView]:
    cells = {cell.id: cell for cell in report.cells}
    found = []
    for number, profile in enumerate(report.profiles):
        if profile.cell not in cells:
            continue
        role = "slow" if profile is report.slow else "normal" if profile is report.normal else ""
        graph = embed(profile.svg, style, script) if profile.svg else None
        found.append(FlameView(profile, cells[profile.cell], role, graph, number))
    return found


def _sketch(report: Report) -> Sketch | None:
    if report.slow is None:
        return None
    patterns = next((claim.path for claim in report.scenario.claims if claim.path), [])
    return flame_sketch(report.slow.stacks, patterns)


def _timing_chart(report: Report) -> Markup:
    rows = [
        charts.TimingRow(
            labels=tuple(cell.result.levels.get(factor, "") for factor in report.factors),
            times=cell.times,
            median=cell.result.median_ms,
            low=cell.result.ci_low_ms,
            high=cell.result.ci_high_ms,
            marked=cell.marked,
        )
        for cell in report.cells
    ]
    return charts.timing_chart([factor.replace("_", " ") for factor in report.factors], rows)


def _attribution_charts(report: Report) -> list[Markup]:
    """Categories by falling inclusive share in the slow cell, which is the way down its stacks;
    as many charts as the profiled cells need."""
    first, *rest = [sorted(p.categories, key=_outermost) for p in report.profiles] or [[]]
    shown = [c for part in (first, *rest) for c in part if c.inclusive_share >= _LEAST]
    rows = list(dict.fromkeys((c.id, c.label) for c in shown))
    panels = [_panel(report, profile) for profile in report.profiles]
    return [
        charts.attribution_chart(f"attribution-{start}", rows, panels[start : start + _PANELS])
        for start in range(0, len(panels), _PANELS)
    ]


def _outermost(category: CategoryShare) -> tuple[float, str]:
    return -category.inclusive_share, category.id


def _panel(report: Report, profile: ProfileView) -> charts.BarPanel:
    cell = next(c for c in report.cells if c.id == profile.cell)
    article: dict[str, float] = {}
    if profile is report.slow:
        for row in report.article:
            article[row.id] = article.get(row.id, 0.0) + row.percent / 100
    return charts.BarPanel(
        title=cell.title,
        shares={c.id: c.share for c in profile.categories},
        inclusive={c.id: c.inclusive_share for c in profile.categories},
        article=article,
        marked=cell.marked,
    )


def _forest(contrasts: Sequence[ContrastView]) -> Mapping[str, Any]:
    """Marks by contrast, and the ticks (text, place) of their axis."""
    values = [
        v
        for c in contrasts
        for v in (c.result.ci_low, c.result.ratio, c.result.ci_high)
        if v is not None and v > 0
    ]
    low, high = min([0.5, *values]) / 1.2, max([2.0, *values]) * 1.2

    def place(value: float) -> float:
        return round(_FOREST * log10(value / low) / log10(high / low), 1)

    marks = {}
    for contrast in contrasts:
        result = contrast.result
        if result.ratio and result.ratio > 0:
            ends = [result.ci_low or result.ratio, result.ratio, result.ci_high or result.ratio]
            marks[result.name] = ForestMark(*(place(max(low, end)) for end in ends))
    decades = [10.0**exponent for exponent in range(-6, 7) if low <= 10.0**exponent <= high]
    ticks = [(f"{decade:g}×", place(decade)) for decade in decades]
    return {"marks": marks, "one": place(1.0), "ticks": ticks, "width": _FOREST}


def _bars(contrast: ContrastView) -> list[float]:
    """Widths of the numerator's and the denominator's bar, the longer being 100."""
    pair = [contrast.numerator_ms or 0.0, contrast.denominator_ms or 0.0]
    longest = max(pair)
    return [round(max(0.6, 100 * v / longest), 2) if longest else 0.0 for v in pair]
