"""The gallery in a real browser: from disk and served, its pages work and stay by themselves."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))

from report_factory import (
    NORMAL,
    NORMAL_STACKS,
    SLOW,
    SLOW_STACKS,
    folded,
    make_matrix_run,
    make_run,
    profile_info,
)

from mysqlprof.cache import cache_dir, locked
from mysqlprof.diff import difference
from mysqlprof.differential import by_function
from mysqlprof.errors import EnvironmentLacks
from mysqlprof.gallery.find import find_runs
from mysqlprof.gallery.pages import POLICY
from mysqlprof.gallery.site import build_site
from mysqlprof.packages import fetch_npm
from mysqlprof.serve import Server
from mysqlprof.stored_profile import open_profile
from mysqlprof.web_assets import libraries

ROOT = Path(__file__).parents[2]
AXE = "axe-core@4.14.1"
_CONTROL = "after_default_log-on_prepare-on"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_HOSTILE = "<img src=x onerror=alert(1)>"
_ODD = {f"main;{_HOSTILE};</script><script>alert(2)</script>": 7, "main;__proto__;constructor": 3}
_REPLACED = sum(count for stack, count in SLOW_STACKS.items() if "String::replace" in stack)
_SHARE = _REPLACED / sum(SLOW_STACKS.values())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs: an ordinary one, one of hostile names, one without a profile."""
    try:
        found = libraries()
    except EnvironmentLacks as error:
        pytest.skip(error.message)
    place = tmp_path_factory.mktemp("gallery")
    make_run(place / "runs" / "one")
    odd = make_run(place / "runs" / "odd", profiles={}, created="2024-01-01T00:00:00+00:00")
    odd.write_profile(profile_info(_HOSTILE, folded(_ODD)), folded(_ODD), None)
    make_matrix_run(place / "runs" / "matrix")
    deep = folded({";".join(f"f{i}" for i in range(3_000)): 5, "f0": 5})
    odd.write_profile(profile_info("deep", deep), deep, None)
    many = folded({f"main;f{i}": 1 for i in range(25_000)} | {"main;wide": 25_000})
    odd.write_profile(profile_info("many", many), many, None)
    runs, _ = find_runs([place / "runs"])
    return build_site(runs, found, place / "site").path


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(_NAMES)} is on the PATH")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def base(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    """Where the site is: on disk, unless a test says that it is served."""
    if getattr(request, "param", "from disk") == "from disk":
        yield f"{site.as_uri()}/"
        return
    with Server(site, 0, POLICY) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.url
        server.shutdown()
        thread.join()


both_ways = pytest.mark.parametrize("base", ["from disk", "served"], indirect=True)


@dataclass
class Seen:
    """What a page did beside what it shows."""

    base: str
    console: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("dialog", lambda dialog: (self.console.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self._ask(request.url))

    def _ask(self, url: str) -> None:
        if not url.startswith(self.base):
            self.strangers.append(url)


@pytest.fixture
def page(browser: Browser, base: str) -> Iterator[Page]:
    """A page that must not say anything on the console, and must not ask anybody else."""
    context = browser.new_context(
        base_url=base, reduced_motion="reduce", viewport={"width": 1300, "height": 900}
    )
    opened = context.new_page()
    opened.set_default_timeout(10_000)
    seen = Seen(base)
    seen.watch(opened)
    yield opened
    context.close()
    assert seen.console == []
    assert seen.strangers == []


@pytest.fixture
def visit(page: Page, base: str) -> Iterator[object]:
    def go(path: str) -> Page:
        page.goto(base + path)
        return page

    return go


def frames(page: Page, graph: str = "graph") -> set[str]:
    return set(page.locator(f"#{graph} .d3-flame-graph-label").all_inner_texts())


def test_cards_filter_and_sort(visit) -> None:
    page = visit("index.html")
    shown = page.locator(".card:visible")
    expect(shown).to_have_count(5)
    assert shown.locator("img").evaluate_all("images => images.every(i => i.naturalWidth > 0)")
    page.select_option("[data-filter=setting]", "slow_query_log=off")
    expect(shown).to_have_count(1)
    assert "setting=slow_query_log%3Doff" in page.url
    page.reload()
    expect(shown).to_have_count(1)
    page.click("#clear")
    page.select_option("#sort", "ratio")
    expect(shown.first).to_have_attribute("data-id", f"one-{SLOW}")


@both_ways
def test_a_function_is_found_in_all_profiles_with_its_share(visit) -> None:
    page = visit("index.html")
    page.fill("#function", "string::REPLACE")
    shown = page.locator(".card:visible")
    expect(shown).to_have_count(1)
    expect(shown.locator(".share")).to_have_text(f"{100 * _SHARE:.1f}\u202f%String::replace")
    page.fill("#function", "/^(main|do_command)$/")
    expect(shown).to_have_count(4)
    page.fill("#function", "img")
    expect(shown).to_have_count(1)
    expect(shown.locator(".share")).to_contain_text(_HOSTILE)


@both_ways
def test_a_graph_zooms_searches_turns_and_keeps_it_in_the_address(visit) -> None:
    page = visit(f"profiles/one-{SLOW}.html")
    assert "String::replace" in frames(page)
    page.fill("#search", "mem_realloc")
    expect(page.locator("#found")).to_have_text("found in 84.1\u202f% of samples")
    expect(page.locator('#graph rect[fill="var(--found)"]')).not_to_have_count(0)
    before = page.url
    page.locator("#graph g.frame[name='my_realloc']").first.click()
    expect(page.locator("#graph g.fade")).not_to_have_count(0)
    assert "zoom=" in page.url
    link = page.url
    page.go_back()
    expect(page.locator("#graph g.fade")).to_have_count(0)
    assert page.url == before
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#graph g.fade")).not_to_have_count(0)
    expect(page.locator("#search")).to_have_value("mem_realloc")
    page.click("#reset")
    expect(page.locator("#graph g.fade")).to_have_count(0)
    page.click("#icicle")
    root = page.locator("#graph g.frame[name=all]")
    expect(root).to_have_attribute("transform", re.compile(r"\(0, ?0\)"))
    page.click("#reverse")
    widest = page.locator("#graph g.frame[name='__memmove_avx_unaligned']").first
    expect(widest.locator("title")).to_contain_text("360 samples")


def test_a_graph_works_by_keyboard(visit) -> None:
    page = visit(f"profiles/one-{SLOW}.html")
    page.focus("#graph")
    readout = page.locator("#graph-readout")
    expect(readout).to_contain_text("all samples: 100.0")
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    expect(readout).to_contain_text("dispatch_command(THD*, COM_DATA const*): 100.0")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert "zoom=" in page.url
    page.keyboard.press("Escape")
    assert "zoom=" not in page.url
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()


def test_functions_sort_filter_and_search_the_graph(visit) -> None:
    page = visit(f"profiles/one-{SLOW}.html")
    names = page.locator("#functions tbody tr:visible code")
    expect(names.first).to_have_text("__memmove_avx_unaligned")
    page.get_by_role("button", name="inclusive").click()
    expect(names.first).to_have_text("dispatch_command")
    page.fill("#filter", "unmap")
    expect(names).to_have_text(["unmap_vmas", "__munmap"])
    names.first.click()
    expect(page.locator("#search")).to_have_value("unmap_vmas")
    expect(page.locator("#found")).to_contain_text("found in")


@both_ways
def test_two_profiles_side_by_side_zoom_together(visit) -> None:
    page = visit(f"compare.html#a=one-{SLOW}&b=one-{NORMAL}")
    expect(page.locator("#verdict")).to_contain_text("times as much in A")
    page.locator("#graph-a g.frame[name='mysqld_stmt_execute']").click()
    for graph in ("a", "b"):
        expect(page.locator(f"#graph-{graph} g.fade[name='dispatch_command']")).to_have_count(1)
    page.locator("#graph-a g.frame[name='String::replace']").click()
    expect(page.locator("#graph-b-readout")).to_contain_text("no such frame")
    page.fill("#search", "write_row")
    slow, normal = sum(SLOW_STACKS.values()), sum(NORMAL_STACKS.values())
    expect(page.locator("#found")).to_have_text(
        f"found in A {100 * 22 / slow:.1f}\u202f%, B {100 * 420 / normal:.1f}\u202f% of samples"
    )


def test_a_difference_has_both_directions_and_names_what_vanished(visit) -> None:
    page = visit(f"compare.html#a=one-{SLOW}&b=one-{NORMAL}&mode=from")
    gone = page.locator('#graph-a rect[fill="var(--d-vanished)"]')
    new = page.locator('#graph-a rect[fill="var(--d-appeared)"]')
    expect(gone).not_to_have_count(0)
    expect(new).to_have_count(0)
    page.select_option("#mode", "to")
    expect(gone).to_have_count(0)
    expect(new).not_to_have_count(0)
    page.select_option("#mode", "both")
    expect(gone).not_to_have_count(0)
    expect(new).not_to_have_count(0)
    page.select_option("#which", "vanished")
    rows = page.locator("#functions tbody tr")
    expect(rows.filter(has_text="String::replace").locator("td").first).to_have_text("gone")
    page.click("#swap")
    page.select_option("#which", "appeared")
    expect(rows.filter(has_text="String::replace").locator("td").first).to_have_text("new")


def test_two_cards_lead_to_their_comparison(visit) -> None:
    page = visit("index.html")
    page.locator(f"#card-one-{SLOW} input").check()
    page.locator(f"#card-one-{NORMAL} input").check()
    page.click("#compare")
    expect(page.locator("#one-title")).to_contain_text("log on")
    expect(page.locator("#two-title")).to_contain_text("log off")


def test_verdicts_are_those_of_diff(browser: Browser, tmp_path: Path) -> None:
    """The page's own arithmetic against scipy's, on two real profiles, function by function."""
    real, cells = ROOT / "reports" / "bug-73056", ("before_fixed_log-on_prepare-on", _CONTROL)
    try:
        site = build_site(find_runs([real])[0], libraries(), tmp_path / "site").path
    except EnvironmentLacks as error:
        pytest.skip(error.message)
    page = browser.new_page()
    page.goto(f"{site.as_uri()}/compare.html")
    for options in ({"shares": False}, {"shares": True}):
        found = difference(*(open_profile(real, cell) for cell in cells), **options)
        told = page.evaluate(
            """async ([ids, measure]) => {
              const { difference } = gallery, { thresholds } = gallery.value("list");
              const profiles = await Promise.all(ids.map(gallery.loadAligned));
              const sides = profiles.map((p) => difference.side(p, measure));
              const found = difference.byFunction(profiles, sides, thresholds);
              return [...found].map(([key, { a, b, verdict }]) => [key, [a, b, verdict]]);
            }""",
            [
                [f"bug-73056-{cell}" for cell in cells],
                "share" if options["shares"] else "work",
            ],
        )
        scale = 100 if options["shares"] else 1
        page_says = {key.replace(" [kernel]", "_[k]"): value for key, value in told}
        changes = by_function(*found.sides)
        assert page_says.keys() == changes.keys()
        assert len({change.verdict for change in changes.values()}) >= 4
        for name, change in changes.items():
            a, b, verdict = page_says[name]
            assert verdict == change.verdict, name
            assert (a * scale, b * scale) == pytest.approx((change.before_ms, change.after_ms))
    page.close()


def test_an_address_names_known_profiles_only(visit) -> None:
    page = visit("compare.html#a=../../evil&b=https://example.invalid/x")
    expect(page.locator("#a")).to_have_value("")
    expect(page.locator("#verdict")).to_have_text("Choose two profiles.")


def test_hostile_names_are_shown_as_text(visit, site: Path) -> None:
    (odd,) = (site / "profiles").glob("odd-*img*")
    page = visit(f"profiles/{odd.name}")
    expect(page.locator("#graph")).to_contain_text(_HOSTILE)
    page.fill("#search", "__proto__")
    expect(page.locator("#found")).to_have_text("found in 30.0\u202f% of samples")
    expect(page.locator("main img")).to_have_count(0)


def test_a_very_deep_stack_is_cut_and_said(visit) -> None:
    page = visit("profiles/odd-deep.html")
    expect(page.locator("#graph-readout")).to_contain_text("deeper than 300 frames")
    assert page.locator("#graph g.frame").count() == 301


def test_the_smallest_of_very_many_frames_are_searched_though_not_drawn(visit) -> None:
    page = visit("profiles/odd-many.html")
    expect(page.locator("#graph-readout")).to_contain_text("1 samples and fewer are not drawn")
    page.fill("#search", "/^f[0-9]+$/")
    expect(page.locator("#found")).to_have_text("found in 50.0\u202f% of samples")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_of(browser: Browser, base: str, scheme: str) -> None:
    context = browser.new_context(
        base_url=base, bypass_csp=True, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    for path in (
        "index.html#function=replace",
        f"profiles/one-{SLOW}.html#search=realloc",
        f"compare.html#a=one-{SLOW}&b=one-{NORMAL}&mode=both",
        "licences.html",
    ):
        page.goto(base + path)
        page.wait_for_timeout(300)
        page.evaluate(_axe())
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [(v["id"], v["nodes"][0]["html"]) for v in found["violations"]] == [], path
    context.close()


def _axe() -> str:
    """axe-core's script, out of its published package."""
    folder = cache_dir("tests") / AXE.replace("@", "-")
    try:
        with locked(folder):
            if not list(folder.glob("*.tgz")):
                fetch_npm(AXE, folder)
    except EnvironmentLacks as error:
        pytest.skip(error.message)
    (archive,) = folder.iterdir()
    with tarfile.open(archive) as package:
        script = package.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


@pytest.mark.parametrize("path", ["index.html", f"profiles/one-{SLOW}.html", "compare.html"])
def test_nothing_is_wider_than_a_telephone(visit, path: str) -> None:
    page = visit(path)
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@both_ways
def test_a_stranger_is_seen(browser: Browser, base: str, tmp_path: Path) -> None:
    """The tests' own eyes: what the policy stops is on the console."""
    page = browser.new_page()
    seen = Seen(base)
    seen.watch(page)
    page.goto(f"{base}index.html")
    page.evaluate("document.body.append(Object.assign(new Image(), {src: 'https://x.invalid/'}))")
    page.wait_for_timeout(200)
    page.close()
    assert any("Content Security Policy" in line for line in seen.console)


def test_served_by_the_verb_until_ctrl_c(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "one")
    try:
        libraries()
    except EnvironmentLacks as error:
        pytest.skip(error.message)
    command = [sys.executable, "-m", "mysqlprof", "gallery", "--serve", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as serving:  # fmt: skip
        assert serving.stderr is not None
        line = serving.stderr.readline()
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/", line)
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert answer.headers["Content-Security-Policy"].startswith(POLICY)
        serving.send_signal(signal.SIGINT)
        out, errors = serving.communicate(timeout=30)
    assert serving.returncode == 130
    assert json.loads(out)["profiles"] == 2
    assert "Traceback" not in errors
