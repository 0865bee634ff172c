"""Templates of a package, with everything that they print made harmless."""

from typing import Any

import jinja2
from markupsafe import Markup

from mysqlprof.report.safe import visible


def environment(package: str) -> jinja2.Environment:
    """Templates in the package's `templates` folder."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader(package, "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )


def _finalize(value: Any) -> Any:
    """What every `{{ }}` goes through before it is escaped."""
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
