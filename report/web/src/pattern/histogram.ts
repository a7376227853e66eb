// A histogram on a log axis as bars of a suitable width, the cumulative share, and the total
// weight.

/** Minimum and maximum number of bars, if there are as many different values. */
const [FEWEST, MOST] = [12, 60];

export interface Distribution {
  /** The edges of the bars, in nanoseconds, without gaps. */
  edges: number[];
  /** The share of each bar. */
  share: number[];
  /** The cumulative share up to the end of each bar. */
  cumulative: number[];
  /** The expected number of values. */
  weight: number;
}

/**
 * The distribution of a histogram, as `report/src/page/histogram.rs` writes it: bins per doubling,
 * then bin, weight, bin, weight and so on, where bin `b` begins at 2^(b/bins). Null if it is empty.
 */
export function distribution([fineness = 1, ...histogram]: number[]): Distribution | null {
  const bins: [bin: number, weight: number][] = [];
  for (let at = 0; at + 1 < histogram.length; at += 2) bins.push([histogram[at] ?? 0, histogram[at + 1] ?? 0]);
  const weight = bins.reduce((sum, [, one]) => sum + one, 0);
  if (!(weight > 0)) return null;
  const width = together(bins, weight, fineness);
  const [first, last] = [bins[0]?.[0] ?? 0, bins[bins.length - 1]?.[0] ?? 0].map((bin) => Math.floor(bin / width)) as [number, number];
  const weights = new Array<number>(last - first + 1).fill(0);
  for (const [bin, of] of bins) {
    const bar = Math.floor(bin / width) - first;
    weights[bar] = (weights[bar] ?? 0) + of;
  }
  let sum = 0;
  return {
    edges: Array.from({ length: weights.length + 1 }, (_, bar) => 2 ** (((first + bar) * width) / fineness)),
    share: weights.map((one) => one / weight),
    cumulative: weights.map((one) => (sum += one) / weight),
    weight,
  };
}

/**
 * The number of bins that make one bar, by the rule of Freedman and Diaconis: narrow bars if most
 * values are close to each other.
 */
function together(bins: [number, number][], weight: number, fineness: number): number {
  const quantile = (part: number) => {
    let sum = 0;
    return bins.find(([, of]) => (sum += of) >= part * weight)?.[0] ?? 0;
  };
  const [first, last] = [bins[0]?.[0] ?? 0, bins[bins.length - 1]?.[0] ?? 0];
  const range = last - first + 1;
  const spread = quantile(0.75) - quantile(0.25) + 1;
  const bars = Math.min(MOST, Math.max(FEWEST, range / ((2 * spread) / Math.cbrt(weight))));
  // Times are whole nanoseconds, so finer bars would alternately be empty.
  const nanosecond = fineness * Math.log2(1 + 1 / 2 ** (first / fineness));
  return Math.max(1, Math.round(range / bars), Math.ceil(nanosecond));
}
