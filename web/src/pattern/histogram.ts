// What a histogram on a log axis says: bars, the cumulative share, and how much there is.

/** Bins to each doubling, as `report/src/page/histogram.rs` has it. */
const BINS_PER_DOUBLING = 8;

export interface Distribution {
  /** The edges of the bins, in nanoseconds, without gaps. */
  edges: number[];
  /** The share of each bin. */
  share: number[];
  /** The share of all up to the end of each bin. */
  cumulative: number[];
  /** The expected number of values. */
  weight: number;
}

/** The lower edge of a bin. */
export function edge(bin: number): number {
  return 2 ** (bin / BINS_PER_DOUBLING);
}

/** The distribution of a histogram of bin, weight, bin, weight and so on; null of nothing. */
export function distribution(histogram: number[]): Distribution | null {
  const [first, last] = [histogram[0], histogram[histogram.length - 2]];
  if (first === undefined || last === undefined) return null;
  const weights = new Array<number>(last - first + 1).fill(0);
  for (let at = 0; at + 1 < histogram.length; at += 2) {
    weights[(histogram[at] ?? 0) - first] = histogram[at + 1] ?? 0;
  }
  const weight = weights.reduce((sum, one) => sum + one, 0);
  if (!(weight > 0)) return null;
  let sum = 0;
  return {
    edges: Array.from({ length: weights.length + 1 }, (_, place) => edge(first + place)),
    share: weights.map((one) => one / weight),
    cumulative: weights.map((one) => (sum += one) / weight),
    weight,
  };
}
