"use strict";
// Data files hand their value to this object; pages ask it to load them. Scripts and not fetch,
// because a page from disk may not fetch.
const gallery = (() => {
  const root = document.currentScript.src.replace(/assets\/core\.js$/, "");
  const values = new Map();
  const loading = new Map();

  const load = (name, key = name) => {
    if (!loading.has(name)) {
      loading.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `${root}data/${name}.js`;
        script.onload = () => resolve(values.get(key));
        script.onerror = () => reject(new Error(`${name}.js cannot be loaded`));
        document.head.append(script);
      }));
    }
    return loading.get(name);
  };

  return {
    profile: (id, data) => values.set(`profile ${id}`, data),
    list: (rows, thresholds) => values.set("list", { rows, thresholds }),
    index: (names, postings) => values.set("index", { names, postings }),
    value: (key) => values.get(key),
    load,
    loadAligned: (id) => load(`${id}.aligned`, `profile ${id}.aligned`),
  };
})();

gallery.share = (part, whole) => {
  const percent = whole ? (100 * part) / whole : 0;
  return percent > 0 && percent < 0.05 ? "<\u202f0.1\u202f%" : `${percent.toFixed(1)}\u202f%`;
};
gallery.count = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
gallery.element = (name, text = "", attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// A search is a part of a name, whatever its case; between slashes, a regular expression.
gallery.matcher = (term) => {
  if (!term) return null;
  const expression = /^\/(.+)\/$/.exec(term);
  if (expression) {
    try {
      const pattern = new RegExp(expression[1], "i");
      return (name) => pattern.test(name);
    } catch {
      return () => false;
    }
  }
  const wanted = term.toLowerCase();
  return (name) => name.toLowerCase().includes(wanted);
};
