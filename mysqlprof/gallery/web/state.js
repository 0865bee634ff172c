"use strict";
// What a page shows, kept in its address: #zoom=...&search=... A link shows the same again.
gallery.state = (() => {
  const listeners = [];
  const read = () => new URLSearchParams(location.hash.slice(1));
  let known = location.hash;

  const write = (changes, { push = false } = {}) => {
    const state = read();
    for (const [key, value] of Object.entries(changes)) {
      if (value) state.set(key, value);
      else state.delete(key);
    }
    const text = state.toString();
    if (`#${text}` === location.hash || (!text && !location.hash)) return;
    history[push ? "pushState" : "replaceState"](null, "", text ? `#${text}` : location.pathname);
    known = location.hash;
  };

  const changed = () => {
    if (location.hash === known) return;
    known = location.hash;
    for (const listener of listeners) listener();
  };
  addEventListener("hashchange", changed);
  addEventListener("popstate", changed);

  return { get: (key) => read().get(key) || "", write, listen: (f) => listeners.push(f) };
})();
