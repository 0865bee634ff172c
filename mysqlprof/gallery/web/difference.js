"use strict";
// How much two counts differ, per unit of work, and whether that can be told from chance.
gallery.difference = (() => {
  const LEAST_Z = 3;

  // Work that a profile's samples were taken over; 0 where it does not say.
  const workOf = (profile, unit) => (unit === "share" ? profile.total : profile.executes);
  const rate = (count, profile, unit) => {
    if (unit === "share") return count / profile.total;
    return (count / profile.executes) * (profile.frequency ? 1000 / profile.frequency : 1);
  };

  // Samples come one by one: of all a + b of a frame, B would have its part of the work by chance.
  const compare = (a, b, profiles, unit) => {
    const [workA, workB] = profiles.map((p) => workOf(p, unit) / (unit === "share" ? 1 : p.frequency ? 1 / p.frequency : 1));
    const part = workB / (workA + workB);
    const all = a + b;
    const z = all ? (b - all * part) / Math.sqrt(all * part * (1 - part)) : 0;
    const [rateA, rateB] = [rate(a, profiles[0], unit), rate(b, profiles[1], unit)];
    return { rateA, rateB, change: rateB - rateA, kind: kindOf(a, b, z), times: rateA && rateB ? rateB / rateA : 0 };
  };
  const kindOf = (a, b, z) => {
    if (Math.abs(z) < LEAST_Z) return "same";
    if (!a) return "new";
    if (!b) return "gone";
    return z > 0 ? "grew" : "shrank";
  };

  const colour = ({ kind, times }) => {
    if (kind === "same") return "var(--d-same)";
    if (kind === "new" || kind === "gone") return `var(--d-dark-${kind})`;
    const factor = times > 1 ? times : 1 / times;
    return `var(--d-${kind}-${factor < 1.5 ? 1 : factor < 3 ? 2 : 3})`;
  };

  const WORDS = { new: "only in B", gone: "only in A", grew: "more in B", shrank: "less in B", same: "cannot be told" };
  const SWATCHES = { new: "new", gone: "gone", grew: "grew", shrank: "shrank", same: "same" };

  return {
    compare, colour, rate, WORDS, SWATCHES,
    canWork: (profiles) => profiles.every((p) => p.executes > 0) && profiles.every((p) => Boolean(p.frequency) === Boolean(profiles[0].frequency)),
    shown: (value, profile, unit) => {
      if (unit === "share") return gallery.share(value, 1);
      const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 1 ? 2 : 3;
      return `${value.toFixed(digits)}${profile.frequency ? "\u202fms" : ""}`;
    },
    rule: `A difference is told where the two counts lie ${LEAST_Z} standard deviations from what the same rate would give.`,
  };
})();
