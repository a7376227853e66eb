// Options of the charts over time: their axes, lines and bars.

import uPlot from "uplot";
import { axis, type Colors } from "../chart";
import { apart, duration, percent, rate, tick } from "../format";
import { logTicks, step } from "../pattern/ticks";

type Options = (colors: Colors) => Omit<uPlot.Options, "width" | "height">;

const since = (colors: Colors) =>
  axis(colors, { values: (_: uPlot, splits: number[]) => splits.map((at) => tick(at * 1e9)), space: 64, size: 34 });
const at = { label: "after", value: (_: uPlot, time: number) => duration(time * 1e9) };
const shared = { cursor: { drag: { x: true, y: false }, sync: { key: "time" } } };
// A slice extends to the next one.
const x: uPlot.Scale = {
  time: false,
  range: (self, from, to) => {
    const slice = (self.data[0][1] ?? 0) - (self.data[0][0] ?? 0);
    const begin = self.data[0][0] === 0 ? 0 : slice / 2;
    return [from - begin, to + slice - begin];
  },
};

const bars = (label: string, stroke: string, fill: string): uPlot.Series => ({
  label,
  stroke,
  fill,
  width: 1,
  paths: uPlot.paths.bars?.({ size: [1, Infinity], align: 1 }),
  points: { show: false },
  value: (_, value) => rate(value),
});

export const throughputOptions: Options = (colors) => ({
  ...shared,
  scales: { x, y: { range: (_, __, most) => [0, (most || 1) * 1.08] } },
  axes: [since(colors), axis(colors, { values: (_, splits) => splits.map((value) => (value === 0 ? "0" : rate(value))), size: 64 })],
  series: [at, bars("paths", colors.accent, colors.bar)],
});

/** Calls, with the failed ones drawn in front. */
export const callOptions: Options = (colors) => ({
  ...throughputOptions(colors),
  series: [at, bars("calls", colors.accent, colors.bar), bars("failed", colors.critical, colors.critical)],
});

const line = (label: string, stroke: string, dash?: number[]): uPlot.Series => ({
  label,
  stroke,
  width: 1.5,
  ...(dash ? { dash } : {}),
  points: { size: 4 },
  value: (_, value) => duration(value),
});
const dots = (stroke: string): uPlot.Series => ({
  label: "mean of few",
  stroke,
  paths: () => null,
  points: { show: true, size: 5 },
  value: (_, value) => duration(value),
});
const ofShares = (series: uPlot.Series): uPlot.Series => ({ ...series, value: (_, share) => percent(share) });
// Times below a microsecond are within the inaccuracy of clocks.
const log: uPlot.Scale = { distr: 3, log: 10, range: (_, low, high) => [Math.max(low || 1, Math.min(1e3, high / 100)) / 1.3, (high || 10) * 1.3] };
const logAxis = (colors: Colors) =>
  axis(colors, {
    splits: (_, __, low, high) => logTicks(low, high),
    filter: (_, splits) => splits,
    values: (_, splits) => splits.map((at) => (at === null ? "" : apart(at, step(splits)))),
    size: 64,
  });
const delays = (colors: Colors) =>
  axis(colors, { values: (_: uPlot, splits: (number | null)[]) => splits.map((value) => (value === null ? "" : tick(value))), size: 64 });

export const latencyOptions: Options = (colors) => ({
  ...shared,
  scales: { x, y: log },
  axes: [since(colors), logAxis(colors)],
  series: [at, line("mean", colors.ink), line("median", colors.accent), line("p99", colors.critical, [5, 3]), dots(colors.soft)],
});

export const meanOptions: Options = (colors) => ({
  ...shared,
  scales: { x, y: { range: (_, __, most) => [0, (most || 1) * 1.08] } },
  axes: [since(colors), delays(colors)],
  series: [at, line("mean", colors.ink), dots(colors.soft)],
});

/** Shares of failed calls; the axis goes up to the largest one, and at least to a tenth. */
export const shareOptions: Options = (colors) => ({
  ...shared,
  scales: { x, y: { range: (_, __, most) => [0, Math.max(most || 0, 0.1) * 1.08] } },
  axes: [since(colors), axis(colors, { values: (_, splits) => splits.map((share) => percent(share).replace(".0%", "%")), size: 64 })],
  series: [at, ofShares(line("share that failed", colors.critical)), ofShares({ ...dots(colors.critical), label: "share of few" })],
});
