"use strict";
// Runs inside each flame graph's frame, after flamegraph.pl's own script, which brings
// init, zoom, unzoom and update_text. Talks to the report by messages only.
(() => {
  const svg = document.querySelector("svg");
  const inline = document.body.dataset.handlers === "inline";
  const [, top, designed, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const PAD = 10, CHARACTER = 6.35;
  const groups = [...document.querySelectorAll("g")].filter(
    (g) => g.querySelector(":scope > rect") && g.querySelector(":scope > title"));
  const frames = groups.map((g) => {
    const rect = g.querySelector(":scope > rect");
    const title = g.querySelector(":scope > title").textContent;
    const [, name, detail] = /^([\s\S]*?)\s*(\([^()]*%[^()]*\))?$/.exec(title);
    return {
      g, rect, title, name, detail, text: g.querySelector(":scope > text"),
      x: Number(rect.getAttribute("x")), w: Number(rect.getAttribute("width")),
      y: Number(rect.getAttribute("y")), found: false,
    };
  });
  for (const f of frames) {
    const [r, g, b] = (f.rect.getAttribute("fill").match(/\d+/g) || [255, 255, 255]).map(Number);
    f.g.classList.toggle("dark", 0.299 * r + 0.587 * g + 0.114 * b < 110);
  }
  const byGroup = new Map(frames.map((f) => [f.g, f]));

  // A frame has no address of its own: newer versions keep their zoom in the URL and would throw.
  history.replaceState = history.pushState = () => {};

  const short = (name) => {
    let depth = 0;
    for (let i = 0; i < name.length; i++) {
      const c = name[i];
      if (c === "<") depth++;
      else if (c === ">") depth = Math.max(0, depth - 1);
      else if (c === "(" && !depth && i && !name.startsWith("(anonymous namespace)", i)
               && !name.slice(0, i).endsWith("operator")) return name.slice(0, i);
    }
    return name;
  };
  const label = (f) => {
    const room = Math.floor((Number(f.rect.getAttribute("width")) - 6) / CHARACTER);
    if (!f.text) {
      if (room < 3) return;
      f.text = f.g.appendChild(document.createElementNS(svg.namespaceURI, "text"));
      f.text.setAttribute("y", f.y + 11);
    }
    const name = short(f.name.replace(/_\[[kwij]\]$/, ""));
    f.text.setAttribute("x", Number(f.rect.getAttribute("x")) + 3);
    f.text.textContent = room < 3 ? "" : name.length <= room ? name : name.slice(0, room - 1) + "…";
  };
  window.update_text = (g) => { const f = byGroup.get(g); if (f) label(f); };

  let zoomed = false;
  const reset = () => {
    if (zoomed && typeof unzoom === "function") unzoom();
    zoomed = false;
    say("zoom", { zoomed });
  };
  const layOut = () => {
    reset();
    const width = Math.max(320, document.documentElement.clientWidth);
    const ratio = (width - 2 * PAD) / (designed - 2 * PAD);
    svg.setAttribute("width", width);
    svg.setAttribute("viewBox", `0 ${top} ${width} ${height}`);
    for (const f of frames) {
      f.rect.setAttribute("x", (f.x - PAD) * ratio + PAD);
      f.rect.setAttribute("width", f.w * ratio);
      label(f);
    }
  };

  const say = (kind, more) => parent.postMessage({ mysqlprof: kind, ...more }, "*");
  const frameOf = (target) => byGroup.get(target.closest?.("g"));
  svg.addEventListener("mouseover", (event) => {
    const f = frameOf(event.target);
    if (f) say("hover", { name: f.name, detail: f.detail || "" });
  });
  svg.addEventListener("mouseleave", () => say("hover", { name: "", detail: "" }));
  svg.addEventListener("click", (event) => {
    const f = frameOf(event.target);
    if (!f) return;
    if (inline && typeof zoom === "function") {
      unzoom();
      zoom(f.g);
    }
    zoomed = f.w < designed - 2 * PAD - 0.5;
    say("zoom", { zoomed });
  });

  // The share of samples under matching frames, each sample once: the widest match in a column.
  const search = (term) => {
    let pattern = null;
    if (term) {
      try { pattern = new RegExp(term, "i"); }
      catch { pattern = new RegExp(term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"); }
    }
    const spans = [];
    for (const f of frames) {
      f.found = Boolean(pattern && pattern.test(f.name));
      f.g.classList.toggle("found", f.found);
      if (f.found) spans.push([f.x, f.x + f.w]);
    }
    spans.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    let covered = 0, end = -Infinity;
    for (const [from, to] of spans) {
      if (to > end) { covered += to - Math.max(from, end); end = to; }
    }
    say("found", { frames: spans.length, share: covered / (designed - 2 * PAD) });
  };

  addEventListener("message", (event) => {
    if (event.source !== parent || !event.data) return;
    if (event.data.mysqlprof === "search") search(String(event.data.term));
    if (event.data.mysqlprof === "reset") reset();
  });
  addEventListener("resize", layOut);
  if (typeof init === "function") init({});
  layOut();
})();
