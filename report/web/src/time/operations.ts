// Operations, their numbers of calls, and how many of the calls failed: in total, and over time.

import type uPlot from "uplot";
import type { Operations, Overview } from "../data/types";
import { enough, few, middles, PATTERN_SLICES, togetherOf } from "./series";

/** Numbers of each slice in a series: its index, calls, answered calls, failed calls. */
const COLUMNS = 4;

export interface OperationRow {
  /** Its index in the columns. */
  place: number;
  name: string;
  node: string;
  /** Whether paths begin with it. */
  root: boolean;
  calls: number;
  errors: number;
  /** The share of failed calls; null if no response has an outcome. */
  share: number | null;
}

/**
 * The operations: the ones that paths begin with first, and each group by descending number of
 * errors.
 */
export function rowsOf({ operations, names }: Overview): OperationRow[] {
  if (!operations) return [];
  const row = (name: number, place: number): OperationRow => {
    const [calls, answered, errors] = [operations.calls, operations.answered, operations.errors].map((column) => column[place] ?? 0);
    return {
      place,
      name: names[name] ?? "",
      node: names[operations.node[place] ?? -1] ?? "",
      root: operations.root[place] ?? false,
      calls: calls ?? 0,
      errors: errors ?? 0,
      share: answered ? (errors ?? 0) / answered : null,
    };
  };
  const rows = operations.name.map(row);
  return [...rows.filter(({ root }) => root), ...rows.filter(({ root }) => !root)];
}

/** The series of all requests: of all operations that paths begin with. */
export function requests({ root, series }: Operations): number[] {
  const sums = new Map<number, [number, number, number]>();
  for (const one of series.filter((_, place) => root[place])) {
    for (let at = 0; at + COLUMNS <= one.length; at += COLUMNS) {
      const [slice = 0, calls = 0, answered = 0, errors = 0] = one.slice(at, at + COLUMNS);
      const before = sums.get(slice) ?? [0, 0, 0];
      sums.set(slice, [before[0] + calls, before[1] + answered, before[2] + errors]);
    }
  }
  return [...sums].toSorted(([one], [other]) => one - other).flatMap(([slice, numbers]) => [slice, ...numbers]);
}

export interface OperationCharts {
  /** Calls per second, and the failed ones among them. */
  calls: uPlot.AlignedData;
  /** The shares of errors that make a line, and the shares from few calls. */
  share: uPlot.AlignedData;
  /** The length of a slice, in nanoseconds. */
  step: number;
}

/** The charts of a series in slices of `step` nanoseconds. */
export function charts(series: number[], step: number): OperationCharts {
  const together = togetherOf(series, COLUMNS);
  const length = step * together;
  const times = Array.from({ length: PATTERN_SLICES / together }, (_, slice) => (slice * length) / 1e9);
  const [calls, answered, errors] = [times.map(() => 0), times.map(() => 0), times.map(() => 0)];
  for (let at = 0; at + COLUMNS <= series.length; at += COLUMNS) {
    const slice = Math.floor((series[at] ?? 0) / together);
    calls[slice] = (calls[slice] ?? 0) + (series[at + 1] ?? 0);
    answered[slice] = (answered[slice] ?? 0) + (series[at + 2] ?? 0);
    errors[slice] = (errors[slice] ?? 0) + (series[at + 3] ?? 0);
  }
  const rate = (of: number[]) => of.map((number) => (number / length) * 1e9);
  const shares = answered.map((number, slice) => (number > 0 ? (errors[slice] ?? 0) / number : null));
  return {
    calls: [times, rate(calls), rate(errors)],
    share: [middles(times), enough(shares, answered), few(shares, answered)],
    step: length,
  };
}

/** Bars of a series in a box with that many slices and the height 1: of all calls, and of failed calls. */
export function spark(series: number[]): { calls: string; errors: string } {
  const column = (place: number) => series.filter((_, at) => at % COLUMNS === place);
  const most = Math.max(...column(1), 1e-9);
  const bars = (heights: number[]) =>
    column(0).map((slice, at) => ((heights[at] ?? 0) > 0 ? `M${slice} 1h1V${+(1 - (heights[at] ?? 0) / most).toFixed(3)}h-1z` : "")).join("");
  return { calls: bars(column(1)), errors: bars(column(3)) };
}
