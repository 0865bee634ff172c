"""A flame graph by flamegraph.pl as a document that can live in a sandboxed frame of the report.

The drawing keeps flamegraph.pl's own zoom. What would need a lax content security policy goes:
event handler and style attributes, links, foreign elements. Its script becomes an HTML script
whose hash the report's policy names; `frame.js` calls it, lays the frames out anew for the width
there is, and searches. A frame is a document of its own, so two graphs never meet.
"""

import base64
import hashlib
import re
from dataclasses import dataclass
from xml.etree import ElementTree

from markupsafe import Markup

_SVG = "{http://www.w3.org/2000/svg}"
_ATTRIBUTES = {
    "g": {"id", "class"},
    "rect": {"x", "y", "width", "height", "fill"},
    "text": {"id", "x", "y"},
    "title": set[str](),
}
_PADDING = 3


@dataclass(frozen=True)
class Graph:
    document: str
    """A whole HTML document, for a frame's srcdoc."""
    scripts: tuple[str, ...]
    """Texts of the scripts in it, for the policy's hashes."""
    height: int


def embed(svg: str, style: str, script: str) -> Graph | None:
    """None where the text is not a flame graph by flamegraph.pl.

    `style` and `script` are the frame's own; the policy must name their hashes, too.
    """
    try:
        root = ElementTree.fromstring(re.sub(r"^\s*<\?xml.*?\?>", "", svg, count=1))
    except ElementTree.ParseError:
        return None
    own = "\n".join(_script_texts(root))
    handlers = "inline" if any("onclick" in group.attrib for group in root.iter(f"{_SVG}g")) else ""
    extent = _extent(root)
    if extent is None or "</script" in own.lower():
        return None
    _strip(root)
    top, bottom = extent[0] - _PADDING, extent[1] + _PADDING
    height = round(bottom - top)
    width = root.get("width", "1200")
    root.attrib = {
        "width": width,
        "height": str(height),
        "viewBox": f"0 {top:g} {width} {height}",
    }
    ElementTree.register_namespace("", _SVG[1:-1])
    drawing = ElementTree.tostring(root, encoding="unicode")
    document = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark"><title>Flame graph</title>'
        f'<style>{style}</style></head><body data-handlers="{handlers}">{drawing}'
        f"<script>{own}</script><script>{script}</script></body></html>"
    )
    return Graph(document, (own, script), height)


def srcdoc(document: str) -> Markup:
    """Escaped for a double-quoted attribute; only these two characters matter there."""
    return Markup(document.replace("&", "&amp;").replace('"', "&quot;"))


def policy_hash(text: str) -> str:
    """As a content security policy names it. Browsers hash the text with newlines normalised."""
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    digest = hashlib.sha256(normal.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _script_texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{_SVG}script")]


def _extent(root: ElementTree.Element) -> tuple[float, float] | None:
    """Top and bottom of the frames: rectangles inside groups that have a title."""
    edges: list[float] = []
    for group in root.iter(f"{_SVG}g"):
        if group.find(f"{_SVG}title") is None:
            continue
        for rect in group.iter(f"{_SVG}rect"):
            try:
                y, height = float(rect.get("y", "")), float(rect.get("height", ""))
            except ValueError:
                return None
            edges += [y, y + height]
    return (min(edges), max(edges)) if edges else None


def _strip(element: ElementTree.Element) -> None:
    """Only what draws, names or groups stays; rectangles outside groups are the background.

    Frames too narrow for a name get their text element from the script, once they need it.
    """
    for child in list(element):
        name = child.tag.removeprefix(_SVG)
        background = element.tag == f"{_SVG}svg" and name == "rect"
        blank = name == "text" and not child.text and "id" not in child.attrib
        if name not in _ATTRIBUTES or background or blank:
            element.remove(child)
            continue
        child.attrib = {k: v for k, v in child.attrib.items() if k in _ATTRIBUTES[name]}
        child.tail = None
        _strip(child)
    if element.tag in (f"{_SVG}svg", f"{_SVG}g"):
        element.text = None
