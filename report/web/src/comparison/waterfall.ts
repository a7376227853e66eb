// The parts of a change as a waterfall: each begins where the one above it ends, and together they
// lead from before to after.

import type { Pair, Part } from "../data/comparison";

export interface Bar {
  part: Part;
  from: number;
  to: number;
}

export interface Waterfall {
  bars: Bar[];
  /** The remainder for parts that are not shown, and their number. */
  rest: { count: number; from: number; to: number } | null;
  /** The ends of the axis. */
  low: number;
  high: number;
}

/** An axis that does not begin at 0 begins this share of its changes below them. */
const MARGIN = 0.35;
/** Changes that take a smaller share of an axis from 0 have an axis of their own. */
const LEAST = 0.2;

/** Parts with a smaller share of the largest one are hidden at first. */
const SEEN = 0.002;

/** The number of parts worth a line, up to `most`. */
export function worth(parts: Part[], most: number): number {
  const largest = Math.max(0, ...parts.map(({ ns }) => Math.abs(ns)));
  return Math.min(most, parts.filter(({ ns }) => Math.abs(ns) >= SEEN * largest).length);
}

export function waterfall([before, after]: Pair, parts: Part[], shown: number): Waterfall {
  let at = before;
  const bars = parts.slice(0, shown).map((part) => {
    const from = at;
    at += part.ns;
    return { part, from, to: at };
  });
  const count = parts.length - bars.length;
  // A remainder that rounding leaves without a part is too small to be seen.
  const rest = count > 0 ? { count, from: at, to: after } : null;
  const stops = [before, after, ...bars.map(({ to }) => to)];
  const [least, most] = [Math.min(...stops), Math.max(...stops)];
  const isFar = most - least < LEAST * most;
  const margin = MARGIN * (most - least);
  const high = isFar ? most + margin * 0.2 : most;
  return { bars, rest, low: isFar ? Math.max(0, least - margin) : Math.min(0, least), high: high > 0 ? high : 1 };
}

/** The position of a time on the axis, as a share of it. */
export function share({ low, high }: Waterfall, time: number): number {
  return high > low ? Math.min(1, Math.max(0, (time - low) / (high - low))) : 0;
}

/** Round times on the axis, at most `most`. */
export function stops({ low, high }: Waterfall, most: number): number[] {
  const least = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= least) ?? 10) * power;
  if (!(step > 0)) return [];
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - first + 1) }, (_, number) => (first + number) * step);
}
