// The series of one pattern, which has only the slices in which one of its paths began, with the empty ones between.

import type uPlot from "uplot";

/** Slices of a pattern, as `report/src/page/series.rs` has it. */
export const PATTERN_SLICES = 60;

export interface PatternCharts {
  throughput: uPlot.AlignedData;
  latency: uPlot.AlignedData;
}

/** Columns of slice, expected paths and mean duration, for a trace of `span` nanoseconds. */
export function ofPattern(series: number[], span: number): PatternCharts {
  const step = Math.floor(Math.max(0, span) / PATTERN_SLICES) + 1;
  const times = Array.from({ length: PATTERN_SLICES }, (_, slice) => (slice * step) / 1e9);
  const expected = times.map(() => 0);
  const mean: (number | null)[] = times.map(() => null);
  for (let at = 0; at + 2 < series.length; at += 3) {
    const slice = series[at] ?? 0;
    expected[slice] = ((series[at + 1] ?? 0) / step) * 1e9;
    mean[slice] = series[at + 2] ?? null;
  }
  return { throughput: [times, expected], latency: [times, mean] };
}
