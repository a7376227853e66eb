// Paths over time, in slices with enough of them: a mean of two requests is no trend.

import type uPlot from "uplot";

/** Slices of a pattern, as in `report/src/tuning.rs`. */
export const PATTERN_SLICES = 60;
/** Numbers of slices that may be merged into one if they have few paths. */
const TOGETHER = [1, 2, 3, 4, 5, 6, 10, 12];
/** Target number of paths in a non-empty slice on average. A pattern with fewer in total has no slices. */
export const WANTED = 10;
/**
 * The mean of fewer paths is a dot and no part of a line. `report/src/tuning.rs` has the same
 * number.
 */
export const FEW = 5;

export interface PatternCharts {
  throughput: uPlot.AlignedData;
  /** The means that make a line, and the means of few paths. */
  latency: uPlot.AlignedData;
  /** The length of a slice, in nanoseconds. */
  step: number;
}

/** Columns of slice, expected paths and mean duration, for a trace of `span` nanoseconds. */
export function ofPattern(series: number[], span: number): PatternCharts {
  const together = togetherOf(series, 3);
  const step = (Math.floor(Math.max(0, span) / PATTERN_SLICES) + 1) * together;
  const times = Array.from({ length: PATTERN_SLICES / together }, (_, slice) => (slice * step) / 1e9);
  const [expected, sums] = [times.map(() => 0), times.map(() => 0)];
  for (let at = 0; at + 2 < series.length; at += 3) {
    const slice = Math.floor((series[at] ?? 0) / together);
    expected[slice] = (expected[slice] ?? 0) + (series[at + 1] ?? 0);
    sums[slice] = (sums[slice] ?? 0) + (series[at + 1] ?? 0) * (series[at + 2] ?? 0);
  }
  const means = expected.map((paths, slice) => (paths > 0 ? (sums[slice] ?? 0) / paths : null));
  return {
    throughput: [times, expected.map((paths) => (paths / step) * 1e9)],
    latency: [middles(times), enough(means, expected), few(means, expected)],
    step,
  };
}

/**
 * The number of slices to merge into one, so that each has enough paths; the columns begin with a
 * slice and its number of paths.
 */
export function togetherOf(series: number[], columns: number): number {
  return TOGETHER.find((number) => isEnough(series, columns, number)) ?? TOGETHER[TOGETHER.length - 1] ?? 1;
}

function isEnough(series: number[], columns: number, together: number): boolean {
  const slices = new Set(series.filter((_, place) => place % columns === 0).map((slice) => Math.floor(slice / together)));
  const paths = series.filter((_, place) => place % columns === 1).reduce((sum, one) => sum + one, 0);
  return paths >= WANTED * slices.size;
}

/** The means of enough paths. */
export function enough(means: (number | null)[], expected: number[]): (number | null)[] {
  return means.map((mean, slice) => ((expected[slice] ?? 0) >= FEW ? mean : null));
}

/** The means of few paths. */
export function few(means: (number | null)[], expected: number[]): (number | null)[] {
  return means.map((mean, slice) => ((expected[slice] ?? 0) >= FEW ? null : mean));
}

/** The middles of slices that begin at these times. */
export function middles(times: number[]): number[] {
  const half = ((times[1] ?? 0) - (times[0] ?? 0)) / 2;
  return times.map((time) => time + half);
}
