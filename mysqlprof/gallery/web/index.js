"use strict";
// The first page: filter and sort cards, find a function in all profiles, pick two to compare.
addEventListener("DOMContentLoaded", () => {
  const byId = (id) => document.getElementById(id);
  const list = byId("cards");
  const cards = [...list.children];
  const filters = [...document.querySelectorAll("[data-filter]")];
  const [field, sort, matches] = [byId("function"), byId("sort"), byId("matches")];
  const MOST = 40;
  let shares = null;

  // --- filters and order ---

  const fits = (card) => filters.every(({ value, dataset: { filter } }) => !value
    || (filter === "setting" ? card.dataset.setting.split("\n").includes(value) : card.dataset[filter] === value));
  const versioned = new Intl.Collator("en", { numeric: true });
  const orders = {
    date: (a, b) => versioned.compare(b.dataset.date, a.dataset.date),
    ratio: (a, b) => Number(b.dataset.ratio || 0) - Number(a.dataset.ratio || 0),
    share: (a, b) => shareOf(b) - shareOf(a),
  };
  for (const key of ["server", "scenario", "driver", "setting", "verdict"]) {
    orders[key] = (a, b) => versioned.compare(a.dataset[key], b.dataset[key]);
  }
  const shareOf = (card) => shares?.get(Number(card.dataset.number))?.share || 0;

  const show = () => {
    const shown = cards.filter((card) => fits(card) && (!shares || shareOf(card) > 0));
    const visible = new Set(shown);
    for (const card of cards) {
      card.hidden = !visible.has(card);
      label(card);
    }
    const order = orders[sort.value] || orders.date;
    shown.sort((a, b) => order(a, b) || Number(a.dataset.number) - Number(b.dataset.number));
    list.append(...shown);
    byId("shown").textContent = `${gallery.count(shown.length)} of ${gallery.count(cards.length)} shown`;
    byId("none").hidden = shown.length > 0 || cards.length === 0;
  };

  const label = (card) => {
    const line = card.querySelector(".share");
    const found = shares?.get(Number(card.dataset.number));
    line.hidden = !found;
    line.textContent = "";
    if (found) line.append(gallery.element("b", gallery.share(found.share, 1000)), gallery.element("code", found.name));
  };

  // --- which functions, in which profiles ---

  const asked = () => field.value.trim();
  const lookUp = async () => {
    const term = asked();
    const matching = gallery.matcher(term);
    const index = matching ? await gallery.load("index") : null;
    if (term !== asked()) return;
    byId("sort").querySelector("[value=share]").disabled = !matching;
    if (matching && !shares) sort.value = "share";
    if (!matching && sort.value === "share") sort.value = "date";
    const found = matching ? index.names.flatMap((name, at) => (matching(name) ? [[name, index.postings[at]]] : [])) : [];
    shares = matching ? largest(found) : null;
    offer(found);
    show();
  };

  // Profile -> the found function with the largest share there: one may call the other, so shares
  // of several do not add up.
  const largest = (found) => {
    const best = new Map();
    for (const [name, postings] of found) {
      for (let i = 0; i < postings.length; i += 2) {
        const [number, share] = [postings[i], postings[i + 1]];
        if (share > (best.get(number)?.share ?? -1)) best.set(number, { name, share: Math.max(share, 0.01) });
      }
    }
    return best;
  };

  const offer = (found) => {
    matches.replaceChildren();
    matches.hidden = !found.length || (found.length === 1 && found[0][0] === asked());
    const exact = asked();
    const ranked = found.map(([name, postings]) => [name, postings.length / 2]);
    ranked.sort((a, b) => b[1] - a[1] || a[0].length - b[0].length);
    for (const [name, profiles] of ranked.slice(0, MOST)) {
      const button = gallery.element("button", name, { type: "button", "aria-pressed": String(name === exact) });
      button.append(gallery.element("b", `${profiles}`, { title: `in ${profiles} profiles` }));
      button.addEventListener("click", () => { field.value = name; changed(); });
      matches.append(button);
    }
    if (ranked.length > MOST) matches.append(gallery.element("span", `and ${gallery.count(ranked.length - MOST)} more functions`));
  };

  // --- two to compare ---

  let picked = [];
  const pick = () => {
    byId("tray").hidden = !picked.length;
    const names = picked.map((id) => byId(`card-${id}`).querySelector("h2").textContent);
    byId("picked").textContent = names.length === 1 ? `A: ${names[0]}. Choose one more.` : names.map((n, i) => `${"AB"[i]}: ${n}`).join("   ");
    if (picked.length === 2) byId("compare").href = `compare.html#a=${picked[0]}&b=${picked[1]}`;
    else byId("compare").removeAttribute("href");
    for (const box of list.querySelectorAll(".pick input")) box.checked = picked.includes(box.value);
  };
  list.addEventListener("change", ({ target }) => {
    picked = picked.filter((id) => id !== target.value);
    if (target.checked) picked = [...picked.slice(-1), target.value];
    pick();
  });
  byId("unpick").addEventListener("click", () => { picked = []; pick(); });

  // --- the address ---

  const controls = new Map([...filters.map((f) => [f.dataset.filter, f]), ["function", field], ["sort", sort]]);
  const changed = () => {
    const state = Object.fromEntries([...controls].map(([key, control]) => [key, control.value]));
    if (state.sort === "date") state.sort = "";
    gallery.state.write(state);
    lookUp();
  };
  const restore = () => {
    for (const [key, control] of controls) {
      control.value = gallery.state.get(key);
      if (control.selectedIndex === -1) control.selectedIndex = 0;
    }
    pick();
    if (asked()) lookUp();
    else show();
  };
  let pause = 0;
  field.addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(changed, 120); });
  for (const control of [...filters, sort]) control.addEventListener("change", changed);
  byId("clear").addEventListener("click", () => {
    for (const control of controls.values()) {
      if (control.options) control.selectedIndex = 0;
      else control.value = "";
    }
    changed();
    field.focus();
  });
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  gallery.state.listen(restore);
  restore();
});
