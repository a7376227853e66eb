// The time axis of an operation, shared by all of its contexts, and its labels.

import type { Bins } from "../data/contexts";
import { logTicks } from "../pattern/ticks";

/** A log axis: positions are shares of its length, from 0 to 1. */
export interface Scale {
  low: number;
  high: number;
  bins: number;
  place: (time: number) => number;
}

export function scale({ first, ratio, count }: Bins): Scale {
  const length = Math.max(1, count) * Math.log(ratio);
  const place = (time: number) => Math.min(1, Math.max(0, Math.log(Math.max(1, time) / first) / length));
  return { low: first, high: first * Math.exp(length), bins: Math.max(1, count), place };
}

/** Round times on the axis, at most `most`: every n-th of them if there are more. */
export function ticks({ low, high }: Scale, most: number): number[] {
  const all = logTicks(low, high);
  const every = Math.ceil(all.length / most);
  return all.filter((_, which) => which % every === 0);
}

/**
 * The outline of bars as the path of a drawing that is one unit wide for each bin and 1 high: each
 * bar stands on its own base.
 */
export function outline(bars: number[], bases: number[], most: number): string {
  if (!(most > 0)) return "";
  const at = (height: number) => +(1 - height / most).toFixed(4);
  const parts: string[] = [];
  bars.forEach((height, bin) => {
    if (!(height > 0)) return;
    const base = bases[bin] ?? 0;
    parts.push(`M${bin} ${at(base)}V${at(base + height)}H${bin + 1}V${at(base)}Z`);
  });
  return parts.join("");
}

/** Stacked layers: the heights of the bars of each, and of all layers below it. */
export interface Layer {
  bars: number[];
  bases: number[];
}

/** Stacks the histograms of contexts, and at last the rest of `all`. */
export function pile(contexts: number[][], all: number[]): { layers: Layer[]; rest: Layer; most: number } {
  let bases = all.map(() => 0);
  const layers = contexts.map((histogram) => {
    const bars = all.map((_, bin) => histogram[bin] ?? 0);
    const layer = { bars, bases };
    bases = bases.map((base, bin) => base + (bars[bin] ?? 0));
    return layer;
  });
  // Sums of rounded weights are not exact.
  const beyond = all.map((weight, bin) => weight - (bases[bin] ?? 0));
  const rest = { bars: beyond.map((weight, bin) => (weight > 1e-3 * (all[bin] ?? 0) ? weight : 0)), bases };
  return { layers, rest, most: Math.max(0, ...all, ...bases) };
}
