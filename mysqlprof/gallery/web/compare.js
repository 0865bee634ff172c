"use strict";
// Two profiles side by side, or one graph of their difference. Computed here, from their stacks.
addEventListener("DOMContentLoaded", () => {
  const byId = (id) => document.getElementById(id);
  const { difference, calls, state } = gallery;
  const { rows, thresholds } = gallery.value("list");
  const known = new Map(rows.map(([id, name]) => [id, name]));
  const controls = { a: byId("a"), b: byId("b"), mode: byId("mode"), unit: byId("unit") };
  let profiles = null, compared = null, showing = 0;

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
    if (key === "a" || key === "b") controls[key].value = known.has(value) ? value : "";
    else {
      controls[key].value = value;
      if (controls[key].selectedIndex === -1) controls[key].selectedIndex = 0;
    }
  };
  const write = (changes = {}) => state.write({
    a: controls.a.value, b: controls.b.value,
    mode: controls.mode.selectedIndex ? controls.mode.value : "",
    unit: controls.unit.selectedIndex ? controls.unit.value : "", ...changes,
  });
  const unit = () => controls.unit.value;
  const sides = () => controls.mode.value === "sides";

  // --- graphs ---

  const amount = (value) => difference.amount(value, unit());
  const signed = (value) => `${value < 0 ? "\u2212" : "+"}${amount(Math.abs(value))}`;
  const words = (side) => (node) => {
    if (sides()) return `${node.full}: ${amount(node.value * compared.sides[side].worth)}, ${gallery.count(node.value)} ${profiles[side].unit}`;
    const [a, b] = node.counts.map((count, i) => count * compared.sides[i].worth);
    return `${node.full}: A ${amount(a)}, B ${amount(b)}, ${signed(b - a)}, ${difference.WORDS[node.change.verdict]}`;
  };
  const colour = (node) => (sides() ? `var(--frame-${node.kind})` : `var(--d-${node.change.verdict})`);
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

  const title = (side) => [`${"AB"[side]}: ${profiles[side].name} `, gallery.element("span", profiles[side].run)];
  const draw = () => {
    const options = { reverse: tools.reverse() };
    byId("pair").classList.toggle("single", !sides());
    byId("two").hidden = !sides();
    byId("kinds").hidden = !sides();
    byId("changes").hidden = sides();
    byId("one-title").replaceChildren(...title(0), ...(sides() ? [] : [" → ", ...title(1)]));
    byId("two-title").replaceChildren(...title(1));
    if (sides()) {
      profiles.forEach((p, side) => {
        const tree = calls.weigh(calls.tree([p], options), ([count]) => count);
        calls.thin(tree);
        graphs[side].draw(tree);
      });
    } else {
      const cost = (counts, side) => counts[side] * compared.sides[side].worth;
      const widths = {
        from: (counts) => cost(counts, 0),
        to: (counts) => cost(counts, 1),
        both: (counts) => cost(counts, 0) + cost(counts, 1),
      };
      const tree = calls.weigh(calls.tree(profiles, options), widths[controls.mode.value]);
      calls.thin(tree);
      difference.mark(tree, compared.sides, compared.functions, thresholds);
      graphs[1].draw(null);
      graphs[0].draw(tree);
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
    const [a, b] = compared.sides.map(({ total, worth }) => total * worth);
    byId("verdict").textContent = unit() === "share"
      ? `A has ${gallery.count(profiles[0].total)} ${profiles[0].unit}, B ${gallery.count(profiles[1].total)} ${profiles[1].unit}. Shares say nothing of how long either took.`
      : `A took ${amount(a)} of CPU per ${profiles[0].workUnit}, B ${amount(b)}: ${(Math.max(a, b) / Math.min(a, b)).toPrecision(3)} times as much in ${b > a ? "B" : "A"}.`;
    byId("rule").textContent = difference.rule(thresholds);
  };

  const table = byId("functions");
  gallery.sortable(table);
  const fill = () => {
    const wanted = byId("which").value;
    const found = [...compared.functions];
    const kept = found.filter(([, { verdict }]) => (wanted ? verdict === wanted : verdict !== "noise"));
    kept.sort(([, x], [, y]) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a));
    table.tBodies[0].replaceChildren(...kept.map(rowOf));
    byId("counted").textContent = `${gallery.count(kept.length)} of ${gallery.count(found.length)} functions`;
  };
  const rowOf = ([key, { a, b, verdict }]) => {
    const row = document.createElement("tr");
    const head = gallery.element("th", "", { scope: "row" });
    const link = gallery.element("a", "", { href: `#search=${encodeURIComponent(key)}` });
    link.append(gallery.element("code", key));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      state.write({ search: key.replace(/ \[kernel\]$/, "") });
      tools.restore();
      byId("pair").scrollIntoView({ block: "nearest" });
    });
    head.append(link);
    const word = gallery.element("td", "", { class: "change" });
    word.append(gallery.element("i", "", { class: `d-${verdict}` }), difference.WORDS[verdict]);
    const cell = (text, value) => gallery.element("td", text, { class: "n", "data-value": value });
    row.append(head, word, cell(a ? amount(a) : "\u2013", a), cell(b ? amount(b) : "\u2013", b),
      cell(signed(b - a), Math.abs(b - a)));
    return row;
  };

  // --- everything, as the address says ---

  const show = async () => {
    const turn = ++showing;
    Object.keys(controls).forEach(read);
    if (!controls.a.value || !controls.b.value) return;
    const loaded = await Promise.all([controls.a.value, controls.b.value].map(gallery.loadAligned));
    if (turn !== showing) return;
    profiles = loaded;
    const work = controls.unit.querySelector("[value=work]");
    work.disabled = !profiles.every((p) => p.msPerSample > 0 && p.workUnit === profiles[0].workUnit);
    if (work.disabled) controls.unit.value = "share";
    const weighed = profiles.map((p) => difference.side(p, unit()));
    compared = { sides: weighed, functions: difference.byFunction(profiles, weighed, thresholds) };
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
