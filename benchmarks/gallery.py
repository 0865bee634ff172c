"""How long a gallery of 300 profiles takes to build, and its first page to be usable.

The profiles are those of the published reports, each time with other function names in part: a
builder that remembers names gains nothing by repetition. Run it from the repository, on a machine
that does nothing else:

    python benchmarks/gallery.py [--profiles 300] [--rounds 3] [--json FILE]

Exit status 1: slower or larger than the targets say.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from mysqlprof.gallery.find import find_runs
from mysqlprof.gallery.pages import POLICY
from mysqlprof.gallery.site import build_site
from mysqlprof.serve import Server
from mysqlprof.store import RunDirectory
from mysqlprof.web_assets import libraries

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MAX_BUILD_S = 30.0
MAX_USABLE_S = 1.0
MAX_BYTES = 3_000_000
OWN_NAMES = 5
"""Of so many functions one has a name that no other run has."""


@dataclass(frozen=True)
class Measured:
    """Seconds are medians of the rounds, bytes those of a single load."""

    profiles: int
    build_s: float
    site_bytes: int
    usable_s: float
    """From the request to a page that has answered a filter."""
    first_page_bytes: int
    """Of what was asked for until then."""
    scrolled_bytes: int
    """The same, once every picture has been scrolled into view."""
    search_s: float
    """From a typed name to its cards: the index is loaded on the first search."""
    search_bytes: int


def make_runs(folder: Path, profiles: int) -> None:
    """Copies of the published runs that have profiles, with names of their own."""
    sources = [RunDirectory(path.parent) for path in sorted(ROOT.glob("reports/*/run.json"))]
    sources = [source for source in sources if source.profiles()]
    made = number = 0
    while made < profiles:
        source = sources[number % len(sources)]
        run = source.read_run()
        target = RunDirectory.create(folder / f"{source.path.name}-{number}", force=False)
        for info in source.profiles()[: profiles - made]:
            stacks = source.read_stacks(info.cell).map_frames(lambda f, n=number: renamed(f, n))
            target.write_profile(info, stacks, None)
            made += 1
        target.write_run(run.model_copy(update={"id": f"{run.id}-{number}"}))
        number += 1


def renamed(frame: str, number: int) -> str:
    return f"own{number}_{frame}" if len(frame) % OWN_NAMES == 0 else frame


def build(runs: Path, out: Path) -> float:
    started = time.perf_counter()
    found, unread = find_runs([runs])
    assert not unread
    build_site(found, libraries(), out)
    return time.perf_counter() - started


def load(page: Page, url: str, profiles: int) -> tuple[float, float, list[int]]:
    """(seconds until usable, seconds of a search, bytes after each of the three steps)."""
    page.set_default_timeout(60_000)
    sizes: list[int] = []
    received: list[int] = []
    page.on("requestfinished", lambda r: received.append(r.sizes()["responseBodySize"]))
    shown = page.locator("#shown")
    started = time.perf_counter()
    page.goto(url, wait_until="commit")
    expect(shown).to_have_text(f"{profiles} of {profiles} shown")
    page.select_option("[data-filter=setting]", "slow_query_log=off")
    expect(shown).not_to_have_text(f"{profiles} of {profiles} shown")
    usable = time.perf_counter() - started
    page.wait_for_load_state()
    sizes.append(sum(received))
    page.click("#clear")
    for _ in range(200):
        page.mouse.wheel(0, 2000)
    page.wait_for_timeout(1500)
    sizes.append(sum(received))
    started = time.perf_counter()
    page.fill("#function", "String::replace")
    expect(page.locator(".card:visible .share").first).to_contain_text("String::replace")
    searched = time.perf_counter() - started
    page.wait_for_timeout(300)
    sizes.append(sum(received))
    return usable, searched, sizes


def measure(profiles: int, rounds: int) -> Measured:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit("there is no browser: apt-get install chromium")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        runs, site = Path(place) / "runs", Path(place) / "site"
        make_runs(runs, profiles)
        built = [build(runs, site) for _ in range(rounds)]
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        with Server(site, 0, POLICY) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            loads = []
            for _ in range(rounds):
                page = chromium.new_page(viewport={"width": 1400, "height": 900})
                loads.append(load(page, server.url, profiles))
                page.close()
            server.shutdown()
        chromium.close()
        sizes = loads[0][2]
        return Measured(
            profiles=profiles,
            build_s=statistics.median(built),
            site_bytes=sum(path.stat().st_size for path in site.rglob("*") if path.is_file()),
            usable_s=statistics.median(usable for usable, _, _ in loads),
            first_page_bytes=sizes[0],
            scrolled_bytes=sizes[1],
            search_s=statistics.median(searched for _, searched, _ in loads),
            search_bytes=sizes[2] - sizes[1],
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profiles", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    found = measure(options.profiles, options.rounds)
    for name, value in asdict(found).items():
        print(f"{name:18} {value:12,.2f}" if isinstance(value, float) else f"{name:18} {value:12,}")
    if options.json:
        options.json.write_text(json.dumps(asdict(found), indent=2) + "\n", encoding="utf-8")
    good = found.build_s < MAX_BUILD_S and found.usable_s < MAX_USABLE_S
    return 0 if good and found.scrolled_bytes < MAX_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
