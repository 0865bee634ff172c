"""A matplotlib figure as inline SVG that takes its colours from the page.

Charts are drawn in sentinel colours, one per role; here they become CSS variables, so that one
drawing serves light, dark and print. Style attributes become presentation attributes, because the
page's content security policy allows no inline style.
"""

import io
import re
import warnings
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure

_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"

# Role of a colour in the page's style sheet -> the sentinel that charts draw it in.
COLOURS = {
    "ink": "#010101",
    "muted": "#020202",
    "rule": "#030303",
    "paper": "#040404",
    "slow": "#050505",
    "normal": "#060606",
    "article": "#070707",
    "frame-ink": "#0b0b0b",
    "frame-bug-ink": "#0e0e0e",
    "frame-bug": "#080808",
    "frame-kernel": "#090909",
    "frame-libc": "#0c0c0c",
    "frame-server": "#0a0a0a",
    "frame-unknown": "#0d0d0d",
    "client": "#0f0f0f",
    "off-cpu": "#101010",
    "unexplained": "#111111",
}
_VARIABLES = {value: f"var(--{name})" for name, value in COLOURS.items()}
_HASH_SALT = "mysqlprof"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": _HASH_SALT,
    "text.parse_math": False,
    "axes.formatter.use_mathtext": False,
    "font.size": 8.5,
    "font.family": "DejaVu Sans",
    "text.color": COLOURS["ink"],
    "axes.edgecolor": COLOURS["rule"],
    "axes.labelcolor": COLOURS["muted"],
    "xtick.color": COLOURS["rule"],
    "ytick.color": COLOURS["rule"],
    "xtick.labelcolor": COLOURS["muted"],
    "ytick.labelcolor": COLOURS["ink"],
    "axes.linewidth": 0.7,
}


def inline(figure: Figure, name: str, label: str) -> Markup:
    """The figure as an `<svg>` element; `name` keeps its ids apart from other charts' on the page.

    The same figure gives the same bytes: no date, a fixed salt in matplotlib's ids.
    """
    buffer = io.BytesIO()
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # The browser has the fonts for what DejaVu lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    _remove(root, {"metadata", "style"})
    referenced = set(re.findall(r"#([\w.-]+)", ElementTree.tostring(root, encoding="unicode")))
    for element in root.iter():
        _clean(element, name, referenced)
    root.attrib.pop("version", None)
    root.attrib.pop("width", None)
    root.attrib.pop("height", None)
    root.attrib |= {"class": f"chart chart-{name}", "role": "img", "aria-label": label}
    ElementTree.register_namespace("", _SVG)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _remove(parent: ElementTree.Element, tags: set[str]) -> None:
    for child in list(parent):
        if child.tag.rpartition("}")[2] in tags:
            parent.remove(child)
        else:
            _remove(child, tags)


def _clean(element: ElementTree.Element, name: str, referenced: set[str]) -> None:
    for declaration in element.attrib.pop("style", "").split(";"):
        key, _, value = declaration.partition(":")
        if key.strip():
            element.attrib |= _presentation(key.strip(), value.strip())
    if _HREF in element.attrib:
        element.set("href", element.attrib.pop(_HREF).replace("#", f"#{name}-"))
    if "clip-path" in element.attrib:
        element.set("clip-path", element.attrib["clip-path"].replace("#", f"#{name}-"))
    if "id" in element.attrib:
        old = element.attrib.pop("id")
        if old in referenced:
            element.set("id", f"{name}-{old}")
    if "d" in element.attrib:
        element.set("d", re.sub(r"\s+", " ", element.attrib["d"]).strip())
    if not (element.text or "").strip() and element.tag != f"{{{_SVG}}}text":
        element.text = None
    if not (element.tail or "").strip():
        element.tail = None


def _presentation(key: str, value: str) -> dict[str, str]:
    """One CSS declaration as attributes. Families come from the page's style sheet."""
    if key == "font-family":
        return {}
    if key == "font":
        # font: 700 8.5px 'DejaVu Sans'
        found = re.search(r"([\d.]+)px", value)
        weight = re.search(r"\b(bold|[6-9]00)\b", value)
        return {
            **({"font-size": found.group(1)} if found else {}),
            **({"font-weight": "600"} if weight else {}),
        }
    if key == "font-size":
        return {key: value.removesuffix("px")}
    return {key: _VARIABLES.get(value, value)}
