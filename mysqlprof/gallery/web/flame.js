"use strict";
// One d3-flame-graph with what it does not bring: colours by kind, keys, and a path for its zoom.
gallery.flame = (container, readout, { onZoom = () => {}, colour, words }) => {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const CELL = 18;
  let chart = null, data = null, here = null, zoomed = "", matches = null, rest = "";
  let icicle = false, quiet = false;

  const hierarchy = () => d3.select(container).datum();
  const nodes = () => (data ? hierarchy().descendants() : []);
  const byPath = (path) => nodes().find((node) => node.data.path === path);
  const groupOf = (node) => [...container.querySelectorAll("g.frame")].find(
    (group) => group.__data__ === node);
  const say = (text) => { readout.textContent = text || rest || "\u00a0"; };

  const mark = (node) => {
    container.querySelector("[data-here]")?.removeAttribute("data-here");
    here = node;
    const group = node && groupOf(node);
    if (!group) return;
    group.setAttribute("data-here", "");
    say(words(node.data));
    group.scrollIntoView({ block: "nearest" });
  };

  // The root of a flame graph is at its bottom: keep it where it is when the height changes.
  const anchored = (change) => {
    const before = container.getBoundingClientRect();
    change();
    const after = container.getBoundingClientRect();
    if (!icicle && before.bottom < innerHeight && before.top < 0) {
      scrollBy(0, after.bottom - before.bottom);
    }
  };

  // d3-flame-graph notes on the data what a zoom hides.
  const unmark = (root) => {
    const open = [root];
    while (open.length) {
      const node = open.pop();
      node.hide = node.fade = false;
      open.push(...node.children);
    }
  };

  const draw = (root) => {
    data = root;
    zoomed = "";
    here = null;
    chart = null;
    container.replaceChildren();
    if (!root || !root.value) return;
    unmark(root);
    chart = flamegraph()
      .width(container.clientWidth)
      .cellHeight(CELL)
      .minFrameSize(0.5)
      .transitionDuration(still ? 0 : 250)
      .resetHeightOnZoom(true)
      .inverted(icicle)
      .sort((a, b) => (a.data.key < b.data.key ? -1 : Number(a.data.key > b.data.key)))
      .getName((node) => node.data.name)
      .setLabelHandler((node) => words(node.data))
      .setColorMapper((node) => (node.highlight ? "var(--found)" : colour(node.data)))
      .setSearchMatch((node) => Boolean(matches && matches(node.data.full)))
      .setSearchHandler(() => {})
      .setDetailsHandler(say)
      .onClick((node) => {
        zoomed = node.data.path;
        here = node;
        if (!quiet) onZoom(node.data);
      });
    d3.select(container).datum(root).call(chart);
    if (matches) chart.search(" ");
  };

  const zoomTo = (path) => {
    const node = chart && path !== zoomed && byPath(path);
    if (!node) return Boolean(chart && path === zoomed);
    quiet = true;
    anchored(() => chart.zoomTo(node));
    quiet = false;
    return true;
  };

  // Share of the samples below a match, each once.
  const search = (matching) => {
    matches = matching;
    if (!chart) return 0;
    if (matching) chart.search(" ");
    else chart.clear();
    let found = 0;
    const open = matching ? [data] : [];
    while (open.length) {
      const node = open.pop();
      if (node.path && matching(node.full)) found += node.value;
      else open.push(...(node.all || node.children));
    }
    return found;
  };

  const shown = (node) => node && node.value > 0 && groupOf(node) ? node : null;
  const step = (key) => {
    if (!here) return hierarchy();
    if (key === "Home") return byPath(zoomed) || hierarchy();
    const deeper = icicle ? "ArrowDown" : "ArrowUp";
    if (key === deeper) {
      const children = (here.children || []).filter(shown);
      return children.sort((a, b) => b.value - a.value)[0];
    }
    if (key === "ArrowDown" || key === "ArrowUp") return here.parent;
    const row = here.parent ? here.parent.children.filter(shown) : [here];
    row.sort((a, b) => a.x0 - b.x0);
    return row[row.indexOf(here) + (key === "ArrowRight" ? 1 : -1)];
  };

  container.addEventListener("keydown", (event) => {
    if (!chart || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow") || event.key === "Home") mark(shown(step(event.key)) || here);
    else if ((event.key === "Enter" || event.key === " ") && here) {
      anchored(() => chart.zoomTo(here));
      mark(here);
    } else if (event.key === "Escape") {
      anchored(() => chart.resetZoom());
      mark(hierarchy());
    } else return;
    event.preventDefault();
  });
  container.addEventListener("focus", () => { if (chart && !here) mark(hierarchy()); });

  // Drawn anew and not updated: frames would still be on their way to the old width.
  let pause = 0;
  new ResizeObserver(() => {
    clearTimeout(pause);
    pause = setTimeout(() => {
      if (!chart || !data || Math.abs(chart.width() - container.clientWidth) < 2) return;
      const path = zoomed;
      draw(data);
      zoomTo(path);
    }, 60);
  }).observe(container);

  return {
    draw, zoomTo, search,
    reset: () => { if (chart) anchored(() => chart.resetZoom()); },
    setIcicle: (on) => { icicle = on; if (chart) chart.inverted(on).update(); },
    rest: (text) => { rest = text; say(""); },
  };
};

// Search, reset, icicle and bottom-up of the graphs on a page, kept in its address.
gallery.tools = ({ search, reset, icicle, reverse }) => {
  const field = document.getElementById("search");
  const buttons = { icicle: document.getElementById("icicle"), reverse: document.getElementById("reverse") };
  const pressed = (name) => buttons[name].getAttribute("aria-pressed") === "true";
  const press = (name, on) => buttons[name].setAttribute("aria-pressed", String(on));
  const actions = { icicle, reverse };

  let pause = 0;
  field.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(() => {
      gallery.state.write({ search: field.value });
      search(gallery.matcher(field.value));
    }, 120);
  });
  for (const name of Object.keys(buttons)) {
    buttons[name].addEventListener("click", () => {
      press(name, !pressed(name));
      gallery.state.write({ [name]: pressed(name) ? "1" : "", ...(name === "reverse" && { zoom: "" }) });
      actions[name](pressed(name));
    });
  }
  document.getElementById("reset").addEventListener("click", reset);
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    event.preventDefault();
    field.focus();
  });

  // Everything as the address says; `force` also where the page itself changed.
  const restore = (force = false) => {
    for (const name of Object.keys(buttons)) {
      const on = gallery.state.get(name) === "1";
      if (on !== pressed(name) || force) {
        press(name, on);
        actions[name](on);
      }
    }
    field.value = gallery.state.get("search");
    search(gallery.matcher(field.value));
  };
  return { restore, icicle: () => pressed("icicle"), reverse: () => pressed("reverse") };
};
