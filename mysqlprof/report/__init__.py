"""Reports: a run directory in, one string out. Somebody else owns the files.

Drawing needs matplotlib and jinja2, which take a moment to import: the renderers come on demand.
"""

from mysqlprof.store import RunDirectory


def render_html(run_dir: RunDirectory) -> str:
    """report.html: self-contained, from what is on disk alone."""
    from mysqlprof.report.html import render_html as render

    return render(run_dir)


def render_markdown(run_dir: RunDirectory) -> str:
    """report.md: compact, for pasting into a bug report."""
    from mysqlprof.report.markdown import render_markdown as render

    return render(run_dir)
