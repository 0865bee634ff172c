"""report.html: one file, no remote asset, nothing executed but the scripts its policy names."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import jinja2
from markupsafe import Markup

from mysqlprof.palette import CHANGES, KINDS, OFF_CPU
from mysqlprof.report import figures, numbers
from mysqlprof.report.bisect import bisect_lines, bisect_rule
from mysqlprof.report.counted import GROUPS
from mysqlprof.report.crossover_chart import crossover_chart
from mysqlprof.report.embed import Graph, embed, policy_hash, srcdoc
from mysqlprof.report.facts import fact_name, fact_value
from mysqlprof.report.imported import imported_lines
from mysqlprof.report.link import link_view, of_rate
from mysqlprof.report.matrix_words import extent, matrix_word, rule, sentence
from mysqlprof.report.profiles import ProfileView
from mysqlprof.report.safe import cut
from mysqlprof.report.sweep_charts import scaling_charts
from mysqlprof.report.sweep_words import REMEDY_WORDS, TRIGGER_WORDS, stars
from mysqlprof.report.sweeps import firings, sweep_answer, values
from mysqlprof.report.templating import environment
from mysqlprof.report.upgrade import Difference, UpgradeView
from mysqlprof.report.upgrade import title as comparison_title
from mysqlprof.report.upgrade_words import change_word, function_name, matters, setting_value
from mysqlprof.report.upgrade_words import word as change_sentence
from mysqlprof.report.view import CellView, Report, build
from mysqlprof.report.wire import pictured
from mysqlprof.report.wire_chart import timeline
from mysqlprof.report.words import (
    VERDICTS,
    arrows,
    caveats_by_kind,
    claim_word,
    confidence,
    deviation,
    direction,
    headline,
    moment,
    tally,
    timed_sentence,
    times,
    unfinished,
    units,
    wording,
    workload_sentence,
)
from mysqlprof.stacks import short_name
from mysqlprof.store import RunDirectory


@dataclass(frozen=True)
class FlameView:
    profile: ProfileView
    cell: CellView
    role: str
    """"slow", "normal", or empty outside the pictured pair."""
    graph: Graph | None
    number: int
    height: int
    """Of the frame, in pixels; its neighbour's where that is taller, so that the roots of
    both graphs are on one line."""


@dataclass(frozen=True)
class DifferenceGraph:
    difference: Difference
    which: str
    """before, after: whose shape it has."""
    graph: Graph | None
    number: int
    """Goes on after the flame graphs' numbers."""
    height: int


@dataclass(frozen=True)
class OffCpuView:
    cell: str
    title: str
    graph: Graph
    number: int

    @property
    def height(self) -> int:
        return self.graph.height


# A new part of the report is a template and a line here: id, heading, template, shown when.
def _sections(report: Report) -> list[tuple[str, str, str]]:
    if report.run.imported:
        return [
            ("flames", "Flame graphs", "flames.html.j2"),
            ("attribution", "Where the weight is", "attribution.html.j2"),
            ("method", "What was imported", "imported_method.html.j2"),
        ]
    flamed, claimed = bool(report.profiles), bool(report.run.claims)
    searched = report.run.bisect is not None
    changes = report.upgrade
    swept = sweep_answer(report.run) is not None
    unclaimed = searched or swept or changes is not None
    judged = not (report.matrix or report.run.verdict == "measured")
    parts = [
        ("claims", "Claims", "claims.html.j2", not unclaimed and (claimed or judged)),
        *(_upgrade_sections(changes) if changes else []),
        ("published", "Beside the article", "published.html.j2", bool(report.published)),
        ("triggers", "What triggers it", "triggers.html.j2", bool(report.run.triggers)),
        ("scaling", "How it scales", "scaling.html.j2", report.run.scaling is not None),
        ("remedies", "What helps", "remedies.html.j2", bool(report.run.remedies)),
        ("firing", "Could it fire here?", "firing.html.j2", bool(firings(report.run))),
        ("link", "On the link", "link.html.j2", bool(report.run.links)),
        ("timings", "Timings", "timings.html.j2", True),
        ("flames", "Flame graphs", "flames.html.j2", flamed or not (report.matrix or swept)),
        ("attribution", "Where the time goes", "attribution.html.j2", flamed),
        ("wire", "On the wire", "wire.html.j2", bool(report.wire)),
        ("counted", "Counted", "counted.html.j2", report.counted is not None),
        ("servers", "Servers", "servers.html.j2", True),
        ("method", "How it was measured", "method.html.j2", True),
        ("missing", "What was not measured", "missing.html.j2", bool(report.gaps)),
    ]
    return [(name, title, template) for name, title, template, shown in parts if shown]


def _upgrade_sections(changes: UpgradeView) -> list[tuple[str, str, str, bool]]:
    return [
        ("gates", "Gates", "upgrade_gates.html.j2", bool(changes.upgrade.gates)),
        ("functions", "Functions", "upgrade_functions.html.j2", bool(changes.functions)),
        (
            "differences",
            "Flame graphs of the difference",
            "upgrade_flames.html.j2",
            bool(changes.differences),
        ),
        ("configuration", "Configuration", "upgrade_settings.html.j2", True),
    ]


def render_html(run_dir: RunDirectory) -> str:
    return render(build(run_dir))


def render(report: Report) -> str:
    env = _environment()
    frame_style = _plain(env, "frame.css")
    frame_script = _plain(env, "frame.js")
    flames = _flames(report, frame_style, frame_script)
    differences = _difference_graphs(report, frame_style, frame_script, len(flames))
    off_cpu = _off_cpu(report, len(flames) + len(differences), frame_style, frame_script)
    framed: list[FlameView | DifferenceGraph | OffCpuView] = [*flames, *differences, *off_cpu]
    style = env.get_template("report.css.j2").render(flames=framed, changes=CHANGES)
    sweep = sweep_answer(report.run)
    if report.matrix or report.run.bisect or report.upgrade or sweep:
        style += _plain(env, "matrix.css")
    if report.upgrade:
        style += _plain(env, "upgrade.css")
    script = _plain(env, "report.js")
    graphs = [f.graph for f in framed if f.graph]
    scripts = [script, *(text for graph in graphs for text in graph.scripts)]
    styles = [style, *([frame_style] if graphs else [])]
    return env.get_template("report.html.j2").render(
        report=report,
        run=report.run,
        scenario=report.scenario,
        title=_title(report),
        answer=_answer_template(report),
        matrix=report.matrix,
        upgrade=report.upgrade,
        difference_graphs=differences,
        sweep=sweep,
        firings=firings(report.run),
        scaling_charts=scaling_charts(report.run.scaling),
        bisect_lines=bisect_lines(report.run),
        bisect_rule=bisect_rule(report.run),
        imported_lines=imported_lines(report),
        verdict=VERDICTS[report.run.verdict],
        headline=headline(report),
        tally=tally(report),
        unfinished=unfinished(report),
        workload=workload_sentence(report),
        timed=timed_sentence(report),
        work=partial(units, report),
        confidence=confidence(report),
        caveats=caveats_by_kind(report),
        sections=_sections(report),
        flames=flames,
        sketch=figures.sketch(report),
        timing_chart=figures.timing_chart(report),
        attribution_charts=figures.attribution_charts(report),
        forest=figures.forest(report.contrasts),
        links=link_view(report.run),
        crossover_chart=crossover_chart(report.run.crossover) if report.run.crossover else None,
        wire_chart=timeline(pictured(report.wire)) if report.wire else None,
        counted=report.counted,
        off_cpu=off_cpu,
        size_charts=figures.size_charts(report),
        closure_chart=figures.closure_chart(report),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(scripts, styles),
    )


def _answer_template(report: Report) -> str:
    if report.run.bisect:
        return "bisect.html.j2"
    if report.upgrade:
        return "upgrade.html.j2"
    if report.run.imported:
        return "imported.html.j2"
    if sweep_answer(report.run):
        return "sweep_answer.html.j2"
    return "matrix.html.j2" if report.matrix else "answer.html.j2"


def _title(report: Report) -> str:
    if report.run.bisect:
        return report.run.bisect.answer
    if report.upgrade:
        return report.upgrade.answer
    if report.run.imported:
        return report.scenario.title
    if sweep := sweep_answer(report.run):
        return sweep.sentence
    answer = sentence(report.matrix) if report.matrix else VERDICTS[report.run.verdict].word
    return f"{answer}: {report.scenario.title}"


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
    env = environment("mysqlprof.report")
    env.filters |= {
        "ms": numbers.milliseconds,
        "duration": numbers.duration,
        "seconds": numbers.seconds,
        "ratio": numbers.ratio,
        "share": numbers.share,
        "count": numbers.count,
        "significant": numbers.significant,
        "size": numbers.size,
        "stars": stars,
        "state_values": values,
        "of_rate": of_rate,
        "thin": numbers.thin,
        "short": short_name,
        "wording": wording,
        "claim_word": claim_word,
        "counted_number": numbers.counted,
        "signed_ms": numbers.signed_duration,
        "signed_share": numbers.signed_share,
        "deviation": deviation,
        "fact_name": fact_name,
        "fact_value": fact_value,
        "moment": moment,
        "direction": direction,
        "arrows": arrows,
        "times": times,
        "srcdoc": srcdoc,
        "cut": cut,
        "bars": figures.bars,
        "matrix_word": matrix_word,
        "matrix_sentence": sentence,
        "matrix_extent": extent,
        "matrix_rule": rule,
        "change_word": change_word,
        "change_sentence": change_sentence,
        "comparison_title": comparison_title,
        "function_name": function_name,
        "settings_that_matter": matters,
        "setting_value": setting_value,
    }
    env.globals |= {
        "interval": numbers.interval,
        "closure_groups": GROUPS,
        "off_cpu_kinds": OFF_CPU,
        "durations": numbers.durations,
        "kinds": KINDS,
        "changes": CHANGES,
        "trigger_words": TRIGGER_WORDS,
        "remedy_words": REMEDY_WORDS,
    }
    return env


def _plain(env: jinja2.Environment, name: str) -> str:
    assert env.loader is not None
    return env.loader.get_source(env, name)[0]


def _flames(report: Report, style: str, script: str) -> list[FlameView]:
    cells = {cell.id: cell for cell in report.cells}
    graphs = [embed(p.svg, style, script) if p.svg else None for p in report.profiles]
    heights = [graph.height if graph else 0 for graph in graphs]
    return [
        FlameView(
            profile=profile,
            cell=cells[profile.cell],
            role=_role(report, profile),
            graph=graph,
            number=number,
            height=max(heights[number - number % 2 : number - number % 2 + 2]),
        )
        for number, (profile, graph) in enumerate(zip(report.profiles, graphs, strict=True))
    ]


def _difference_graphs(
    report: Report, style: str, script: str, start: int
) -> list[DifferenceGraph]:
    """Pairs, each as high as its higher graph."""
    graphs: list[DifferenceGraph] = []
    for difference in report.upgrade.differences if report.upgrade else ():
        pair = {"before": difference.before, "after": difference.after}
        drawn = {w: embed(svg, style, script) if svg else None for w, svg in pair.items()}
        height = max((graph.height for graph in drawn.values() if graph), default=0)
        for which, graph in drawn.items():
            number = start + len(graphs)
            graphs.append(DifferenceGraph(difference, which, graph, number, height))
    return graphs


def _role(report: Report, profile: ProfileView) -> str:
    if report.scenario.picture is None:
        return ""  # no cell is suspected beforehand
    return "slow" if profile is report.slow else "normal" if profile is report.normal else ""


def _off_cpu(report: Report, first: int, style: str, script: str) -> list[OffCpuView]:
    """Goes on after the numbers of the graphs before."""
    views: list[OffCpuView] = []
    for cell in report.counted.cells if report.counted else ():
        graph = embed(cell.off_cpu_svg, style, script) if cell.off_cpu_svg else None
        if graph:
            views.append(OffCpuView(cell.id, cell.title, graph, first + len(views)))
    return views
