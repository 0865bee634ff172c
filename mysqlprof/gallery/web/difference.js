"use strict";
// How much samples of two profiles differ, and whether that can be told from chance: the rule of
// `mysqlprof diff`, whose thresholds come with the list of profiles.
gallery.difference = (() => {
  const { twoSided, corrected } = gallery.binomial;
  const WORDS = { appeared: "new", vanished: "gone", grew: "grew", shrank: "shrank", noise: "within noise" };

  // One profile with what a sample is worth: milliseconds per unit of work, or a share.
  const side = (profile, measure) => ({
    total: profile.total,
    worth: measure === "share" ? 1 / profile.total : profile.msPerSample,
  });

  // Of each pair of counts: {a, b} its costs, and the verdict.
  const judged = (sides, pairs, thresholds) => {
    const [x, y] = sides.map(({ worth }) => 1 / worth);
    const expected = x / (x + y);
    const q = corrected(pairs.map(([was, now]) => twoSided(was, was + now, expected)));
    const floor = thresholds.changed_function_share * Math.min(...sides.map((s) => s.total * s.worth));
    return pairs.map(([was, now], i) => {
      const [a, b] = [was * sides[0].worth, now * sides[1].worth];
      return { a, b, verdict: verdict(a, b, q[i], floor, thresholds) };
    });
  };
  const verdict = (a, b, q, floor, thresholds) => {
    if (q >= thresholds.changed_function_q || Math.abs(b - a) < floor) return "noise";
    if (!a || !b) return a ? "vanished" : "appeared";
    const bound = thresholds.changed_function_ratio;
    if (b / a > bound) return "grew";
    return b / a < 1 / bound ? "shrank" : "noise";
  };

  // Function -> what became of it.
  const byFunction = (profiles, sides, thresholds) => {
    const counts = profiles.map(gallery.calls.inclusive);
    const keys = [...new Set(counts.flatMap((found) => [...found.keys()]))];
    const pairs = keys.map((key) => counts.map((found) => found.get(key) || 0));
    const changes = judged(sides, pairs, thresholds);
    return new Map(keys.map((key, i) => [key, { ...changes[i], oneSided: pairs[i].includes(0) }]));
  };

  // Gives each node of a tree its change. A function that is called from elsewhere now is neither
  // new nor gone: such a place has its function's change.
  const mark = (root, sides, functions, thresholds) => {
    const nodes = [], open = [root];
    while (open.length) {
      const node = open.pop();
      nodes.push(node);
      open.push(...node.children);
    }
    const changes = judged(sides, nodes.map((node) => node.counts), thresholds);
    nodes.forEach((node, i) => {
      const known = functions.get(node.key);
      const moved = known && !known.oneSided && node.counts.includes(0);
      node.change = moved ? known : changes[i];
    });
  };

  const amount = (value, measure) => {
    if (measure === "share") return gallery.share(value, 1);
    const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
    return `${value.toFixed(digits)}\u202fms`;
  };
  const rule = (t) => `A change is told where it is more than the noise of sampling (false discovery rate ${t.changed_function_q}), `
    + `a factor of ${t.changed_function_ratio}, and ${100 * t.changed_function_share}\u202f% of the cheaper side. `
    + "Amounts are inclusive: with all that a function calls.";

  return { side, judged, byFunction, mark, amount, rule, WORDS };
})();
