"""The site's files, from runs: the only place that knows their names."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from mysqlprof import __version__
from mysqlprof.errors import UsageError
from mysqlprof.gallery import data, pages
from mysqlprof.gallery.drawing import picture, thumbnail
from mysqlprof.gallery.entry import Card, Entry, card, entry
from mysqlprof.gallery.exports import pprof, speedscope
from mysqlprof.gallery.find import Found
from mysqlprof.gallery.libraries import FILES, LICENCES
from mysqlprof.rules import load_rules
from mysqlprof.stacks import FoldedStacks

_ASSETS = ("icon.svg", "core.js", "state.js", "calls.js", "flame.js", "table.js", "index.js",
           "profile.js", "binomial.js", "difference.js", "compare.js")  # fmt: skip
_MARK = ".mysqlprof-gallery"
"""A file in each site: only a directory that has it is ever replaced."""


@dataclass(frozen=True)
class Built:
    path: Path
    profiles: int
    runs: int
    unread: tuple[str, ...]
    """What could not be read, in sentences."""


def build_site(found: Sequence[Found], libraries: Path, out: Path) -> Built:
    """Write the site to `out`, which is made anew. `libraries` is what `web_assets` found.

    Raises UsageError where `out` holds anything but a site.
    """
    check_free(out)
    building = out.with_name(out.name + ".building")
    shutil.rmtree(building, ignore_errors=True)
    try:
        for part in ("data", "profiles", "files", "assets"):
            (building / part).mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"cannot write {out}: {error.strerror}", "choose another --out") from error
    site = _Site(building)
    for run in found:
        site.add_run(run)
    site.finish(libraries)
    if out.exists():
        shutil.rmtree(out)
    building.rename(out)
    return Built(out, len(site.cards), len(found), tuple(site.unread))


def check_free(out: Path) -> None:
    """Refuse a path that holds something that this module did not write."""
    if out.exists() and not (out / _MARK).is_file() and not _is_empty(out):
        raise UsageError(
            f"{out} exists and is not a gallery, so it is not replaced", "choose another --out"
        )


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


class _Site:
    """A site while it is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cards: list[Card] = []
        self.unread: list[str] = []
        self._bare: list[Found] = []
        self._shares: list[dict[str, int]] = []
        self._taken: set[str] = set()
        self._rules = load_rules()

    def add_run(self, found: Found) -> None:
        try:
            infos = found.directory.profiles()
        except UsageError as error:
            self.unread.append(error.message)
            return
        for info in infos:
            try:
                stacks = found.directory.read_stacks(info.cell)
            except UsageError as error:
                self.unread.append(error.message)
                continue
            if stacks.total:
                self._add_profile(entry(found, info, self._taken), stacks)
        if not infos:
            self._bare.append(found)

    def _add_profile(self, new: Entry, stacks: FoldedStacks) -> None:
        self.cards.append(card(new, stacks, self._rules))
        self._shares.append(data.shares_by_name(stacks))
        self._write(f"data/{new.id}.js", data.profile_script(new, stacks, self._rules))
        self._write(f"data/{new.id}.aligned.js", data.aligned_script(new, stacks, self._rules))
        self._write(f"profiles/{new.id}.html", pages.profile_page(new, stacks, self._rules))
        self._write(f"files/{new.id}.card.svg", thumbnail(stacks, self._rules))
        title = f"{new.title}: {new.name}"
        self._write(f"files/{new.id}.svg", picture(stacks, self._rules, title, new.info.unit))
        self._write(f"files/{new.id}.folded", stacks.to_folded())
        self._write(f"files/{new.id}.speedscope.json", speedscope(new.info, stacks))
        (self.path / f"files/{new.id}.pb.gz").write_bytes(pprof(new.info, stacks, new.run.created))

    def finish(self, libraries: Path) -> None:
        """What is said of all profiles together, and what is the same in every site."""
        self._write("index.html", pages.index_page(self.cards, self._bare))
        self._write("compare.html", pages.compare_page())
        self._write("data/list.js", data.list_script([card.entry for card in self.cards]))
        self._write("data/index.js", data.index_script(self._shares))
        licences = json.loads((libraries / LICENCES).read_text(encoding="utf-8"))
        self._write("licences.html", pages.licences_page(licences))
        for name in FILES:
            shutil.copyfile(libraries / name, self.path / "assets" / name)
        web = resources.files("mysqlprof.gallery") / "web"
        for name in _ASSETS:
            self._write(f"assets/{name}", (web / name).read_text(encoding="utf-8"))
        self._write("assets/gallery.css", pages.style())
        self._write(_MARK, f"{__version__}\n")

    def _write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8", errors="replace", newline="\n")
