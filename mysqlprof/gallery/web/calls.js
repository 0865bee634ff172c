"use strict";
// Call trees from stacks: of one profile, or of two with their frames laid upon each other.
gallery.calls = (() => {
  const KINDS = ["bug", "server", "libc", "kernel", "unknown"];
  const DEEPEST = 300;
  const DRAWN = 20000;

  // [frame numbers from the root, count] of each distinct stack.
  function* stacksOf(profile) {
    const numbers = profile.stacks;
    let stack = [];
    for (let at = 0; at < numbers.length;) {
      const [shared, count, added] = [numbers[at], numbers[at + 1], numbers[at + 2]];
      stack = stack.slice(0, shared).concat(numbers.slice(at + 3, at + 3 + added));
      yield [stack, count];
      at += 3 + added;
    }
  }

  // Kernel and user code are never the same.
  const keysOf = (profile) => profile.frames.map(
    (name, frame) => (profile.kernel[frame] === "1" ? `${name} [kernel]` : name));

  const hashed = (text, seed) => {
    let hash = seed;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    return hash >>> 0;
  };

  const node = (key, name, full, kind, hash, profiles) => ({
    key, name, full, kind, hash, path: hash.toString(36),
    counts: new Array(profiles).fill(0), children: [], byKey: new Map(),
  });

  // A tree whose nodes have one count a profile. Paths name nodes in addresses: they depend on
  // names alone, so they are the same in every tree that has the node.
  const tree = (profiles, { reverse = false } = {}) => {
    const root = node("", "all", "all samples", "unknown", 2166136261, profiles.length);
    root.path = "";
    root.cut = false;
    profiles.forEach((profile, side) => {
      const keys = keysOf(profile);
      for (const [stack, count] of stacksOf(profile)) {
        let here = root;
        here.counts[side] += count;
        const depth = Math.min(stack.length, DEEPEST);
        root.cut ||= stack.length > DEEPEST;
        for (let i = 0; i < depth; i++) {
          const frame = stack[reverse ? stack.length - 1 - i : i];
          const key = keys[frame];
          let next = here.byKey.get(key);
          if (!next) {
            next = node(key, profile.short[frame], profile.frames[frame],
              KINDS[profile.kinds[frame]], hashed(key, here.hash), profiles.length);
            here.byKey.set(key, next);
            here.children.push(next);
          }
          next.counts[side] += count;
          here = next;
        }
      }
    });
    return root;
  };

  // Sets `value` of every node and drops those without: what d3-flame-graph draws.
  const weigh = (root, valueOf) => {
    const open = [root];
    while (open.length) {
      const here = open.pop();
      here.value = valueOf(here.counts);
      here.children = here.children.filter((child) => valueOf(child.counts) > 0);
      open.push(...here.children);
    }
    return root;
  };

  // Leaves the smallest frames of a very large tree undrawn; `all` still has them. The largest value
  // that was left out, 0 where all are drawn.
  const thin = (root) => {
    const values = [], open = [root];
    while (open.length) {
      const here = open.pop();
      values.push(here.value);
      open.push(...here.children);
    }
    if (values.length <= DRAWN) return 0;
    const least = values.sort((a, b) => b - a)[DRAWN];
    open.push(root);
    while (open.length) {
      const here = open.pop();
      here.all = here.children;
      here.children = here.all.filter((child) => child.value > least);
      open.push(...here.all);
    }
    return least;
  };

  // Key -> samples with the function anywhere in their stack, once each.
  const inclusive = (profile) => {
    const keys = keysOf(profile);
    const found = new Map();
    for (const [stack, count] of stacksOf(profile)) {
      for (const key of new Set(stack.map((frame) => keys[frame]))) {
        found.set(key, (found.get(key) || 0) + count);
      }
    }
    return found;
  };

  return { tree, weigh, thin, inclusive };
})();
