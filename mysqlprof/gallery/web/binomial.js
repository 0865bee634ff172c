"use strict";
// The binomial distribution's tails, by the continued fraction of the incomplete beta function
// (Lentz), and p-values corrected for their number (Benjamini-Hochberg).
gallery.binomial = (() => {
  const LANCZOS = [676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];

  const logGamma = (x) => {
    const z = x - 1;
    const sum = LANCZOS.reduce((found, c, i) => found + c / (z + i + 1), 0.99999999999980993);
    const t = z + 7.5;
    return 0.5 * Math.log(2 * Math.PI) + (z + 0.5) * Math.log(t) - t + Math.log(sum);
  };

  const fraction = (a, b, x) => {
    const TINY = 1e-300;
    const away = (value) => (Math.abs(value) < TINY ? TINY : value);
    let c = 1, d = 1 / away(1 - ((a + b) * x) / (a + 1)), h = d;
    for (let m = 1; m <= 2000; m++) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 / away(1 + even * d);
      c = away(1 + even / c);
      h *= d * c;
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 / away(1 + odd * d);
      c = away(1 + odd / c);
      h *= d * c;
      if (Math.abs(d * c - 1) < 1e-14) break;
    }
    return h;
  };

  // Regularised incomplete beta function I_x(a, b).
  const beta = (a, b, x) => {
    if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
    return x < (a + 1) / (a + b + 2) ? (front * fraction(a, b, x)) / a : 1 - (front * fraction(b, a, 1 - x)) / b;
  };

  // Two-sided: twice the smaller tail of k or further out, of n with probability p.
  const twoSided = (k, n, p) => {
    const lower = k >= n ? 1 : beta(n - k, k + 1, 1 - p);
    const upper = k <= 0 ? 1 : beta(k, n - k + 1, p);
    return Math.min(1, 2 * Math.min(lower, upper));
  };

  const corrected = (values) => {
    const order = values.map((p, i) => [p, i]).sort((x, y) => y[0] - x[0]);
    const found = new Array(values.length);
    let least = 1;
    order.forEach(([p, i], rank) => {
      least = Math.min(least, (p * values.length) / (values.length - rank));
      found[i] = least;
    });
    return found;
  };

  return { twoSided, corrected };
})();
