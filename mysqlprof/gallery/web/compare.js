"use strict";
// Two profiles side by side, or one graph of their difference. Computed here, from their stacks.
addEventListener("DOMContentLoaded", () => {
  const byId = (id) => document.getElementById(id);
  const { difference, calls, state } = gallery;
  const rows = gallery.value("list");
  const known = new Map(rows.map(([id, name]) => [id, name]));
  const controls = { a: byId("a"), b: byId("b"), mode: byId("mode"), unit: byId("unit"), exact: byId("exact") };
  let profiles = null, showing = 0;

  // --- what is chosen ---

  for (const select of [controls.a, controls.b]) {
    select.append(gallery.element("option", "choose...", { value: "" }));
    const groups = new Map();
    for (const [id, name, title, run, date] of rows) {
      const label = `${run}, ${date}`;
      if (!groups.has(label)) {
        groups.set(label, gallery.element("optgroup", "", { label: `${label}: ${title}` }));
        select.append(groups.get(label));
      }
      groups.get(label).append(gallery.element("option", name, { value: id }));
    }
  }
  const read = (key) => {
    const value = state.get(key);
    if (key === "exact") controls.exact.checked = value === "1";
    else if (key === "a" || key === "b") controls[key].value = known.has(value) ? value : "";
    else {
      controls[key].value = value;
      if (controls[key].selectedIndex === -1) controls[key].selectedIndex = 0;
    }
  };
  const write = (changes = {}) => state.write({
    a: controls.a.value, b: controls.b.value, exact: controls.exact.checked ? "1" : "",
    mode: controls.mode.selectedIndex ? controls.mode.value : "",
    unit: controls.unit.selectedIndex ? controls.unit.value : "", ...changes,
  });
  const unit = () => controls.unit.value;
  const exact = () => controls.exact.checked;
  const sides = () => controls.mode.value === "sides";

  // --- graphs ---

  const amount = (count, side) => difference.shown(difference.rate(count, profiles[side], unit()), profiles[side], unit());
  const signed = (value) => `${value < 0 ? "\u2212" : "+"}${difference.shown(Math.abs(value), profiles[0], unit())}`;
  const compared = (node) => difference.compare(node.counts[0], node.counts[1], profiles, unit());
  const words = (side) => (node) => {
    if (sides()) return `${node.full}: ${amount(node.counts[0], side)}, ${gallery.count(node.counts[0])} samples`;
    const { change, kind } = compared(node);
    return `${node.full}: A ${amount(node.counts[0], 0)}, B ${amount(node.counts[1], 1)}, ${signed(change)}, ${difference.WORDS[kind]}`;
  };
  const colour = (node) => (sides() ? `var(--frame-${node.kind})` : difference.colour(compared(node)));
  const graphs = ["a", "b"].map((name, side) => gallery.flame(byId(`graph-${name}`), byId(`graph-${name}-readout`), {
    colour,
    words: words(side),
    onZoom: (node) => {
      state.write({ zoom: node.path }, { push: true });
      follow(graphs[1 - side], node.path);
    },
  }));
  // The other graph goes along where it has the frame.
  const follow = (other, path) => {
    if (!sides()) return;
    const there = other.zoomTo(path);
    other.rest(there ? "" : "This graph has no such frame: it stays where it was.");
  };

  const draw = () => {
    const options = { exact: exact(), reverse: tools.reverse() };
    byId("pair").classList.toggle("single", !sides());
    byId("two").hidden = !sides();
    byId("kinds").hidden = !sides();
    byId("changes").hidden = sides();
    const titles = profiles.map((p, side) => `${"AB"[side]}: ${p.name}`);
    byId("one-title").textContent = sides() ? titles[0] : `${titles[0]}  →  ${titles[1]}`;
    byId("two-title").textContent = titles[1];
    if (sides()) {
      profiles.forEach((p, side) => graphs[side].draw(calls.weigh(calls.tree([p], options), ([count]) => count)));
    } else {
      const rates = (counts) => counts.map((count, side) => difference.rate(count, profiles[side], unit()));
      const widths = { from: ([a]) => a, to: ([, b]) => b, both: (counts) => rates(counts)[0] + rates(counts)[1] };
      graphs[1].draw(null);
      graphs[0].draw(calls.weigh(calls.tree(profiles, options), widths[controls.mode.value]));
    }
  };
  const search = (matching) => {
    const found = graphs.map((graph) => graph.search(matching));
    let text = "";
    if (matching && sides()) text = `found in A ${gallery.share(found[0], profiles[0].total)}, B ${gallery.share(found[1], profiles[1].total)} of samples`;
    if (matching && !sides()) text = found[0] ? "found" : "not found";
    byId("found").textContent = text;
  };
  const tools = gallery.tools({
    search: (matching) => { if (profiles) search(matching); },
    reset: () => graphs.forEach((graph) => graph.reset()),
    icicle: (on) => {
      byId("pair").classList.toggle("icicle", on);
      graphs.forEach((graph) => graph.setIcicle(on));
    },
    reverse: () => { if (profiles) again(); },
  });
  const again = () => {
    draw();
    search(gallery.matcher(byId("search").value));
    const path = state.get("zoom");
    for (const graph of sides() ? graphs : graphs.slice(0, 1)) graph.zoomTo(path);
  };

  // --- the answer in words, and the table ---

  const say = () => {
    const totals = profiles.map((p, side) => amount(p.total, side));
    const per = unit() === "share" ? "" : profiles[0].frequency ? " of CPU an execute" : " samples an execute";
    const [a, b] = profiles.map((p) => difference.rate(p.total, p, unit()));
    byId("verdict").textContent = unit() === "share"
      ? `A has ${gallery.count(profiles[0].total)} samples, B ${gallery.count(profiles[1].total)}. Shares say nothing of how long either took.`
      : `A took ${totals[0]}${per}, B ${totals[1]}: ${(Math.max(a, b) / Math.min(a, b)).toPrecision(3)} times ${b > a ? "more" : "less"} in B.`;
    byId("rule").textContent = `${difference.rule} Amounts are inclusive: with all that a function calls.`;
  };

  const table = byId("functions");
  gallery.sortable(table);
  const fill = () => {
    const [a, b] = profiles.map((p) => calls.inclusive(p, exact()));
    const found = [...new Set([...a.keys(), ...b.keys()])].map((key) => (
      { key, counts: [a.get(key) || 0, b.get(key) || 0], ...difference.compare(a.get(key) || 0, b.get(key) || 0, profiles, unit()) }));
    const wanted = byId("which").value;
    const kept = found.filter(({ kind }) => (wanted ? kind === wanted : kind !== "same"));
    kept.sort((x, y) => Math.abs(y.change) - Math.abs(x.change));
    table.tBodies[0].replaceChildren(...kept.map(rowOf));
    byId("counted").textContent = `${gallery.count(kept.length)} of ${gallery.count(found.length)} functions`;
  };
  const rowOf = ({ key, counts, kind, change, rateA, rateB }) => {
    const row = document.createElement("tr");
    const head = gallery.element("th", "", { scope: "row" });
    const link = gallery.element("a", "", { href: "#" });
    link.append(gallery.element("code", key));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      state.write({ search: key });
      tools.restore();
      byId("pair").scrollIntoView({ block: "nearest" });
    });
    head.append(link);
    const word = gallery.element("td", "", { class: "change" });
    word.append(gallery.element("i", "", { class: `d-${difference.SWATCHES[kind]}` }), difference.WORDS[kind]);
    const cell = (text, value) => gallery.element("td", text, { class: "n", "data-value": value });
    row.append(head, word, cell(counts[0] ? amount(counts[0], 0) : "\u2013", rateA),
      cell(counts[1] ? amount(counts[1], 1) : "\u2013", rateB), cell(signed(change), Math.abs(change)));
    return row;
  };

  // --- everything, as the address says ---

  const show = async () => {
    const turn = ++showing;
    Object.keys(controls).forEach(read);
    if (!controls.a.value || !controls.b.value) return;
    const loaded = await Promise.all([controls.a.value, controls.b.value].map(gallery.loadProfile));
    if (turn !== showing) return;
    profiles = loaded;
    const work = controls.unit.querySelector("[value=work]");
    work.disabled = !difference.canWork(profiles);
    if (work.disabled) controls.unit.value = "share";
    byId("graphs").hidden = false;
    say();
    tools.restore();
    again();
    fill();
  };
  for (const control of Object.values(controls)) control.addEventListener("change", () => { write(); show(); });
  byId("swap").addEventListener("click", () => {
    write({ a: controls.b.value, b: controls.a.value });
    show();
  });
  byId("which").addEventListener("change", fill);
  state.listen(show);
  show();
});
