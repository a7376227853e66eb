// The time axis of an operation, which all of its contexts share, and what stands on it.

import type { Bins } from "../data/contexts";
import { logTicks } from "../pattern/ticks";

/** A log axis: places are shares of its length, from 0 to 1. */
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

/** Round times on the axis, so many at most: every so many of the round ones, where there are more. */
export function ticks({ low, high }: Scale, most: number): number[] {
  const all = logTicks(low, high);
  const every = Math.ceil(all.length / most);
  return all.filter((_, which) => which % every === 0);
}

/** The outline of bars as the path of a drawing that is a unit wide for each bin and 1 high: each bar stands on its own base. */
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

/** Layers that stand upon each other: of each the heights of its bars, and of all of those below it. */
export interface Layer {
  bars: number[];
  bases: number[];
}

/** Piles up the histograms of contexts, and at last what `all` has beyond them. */
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
