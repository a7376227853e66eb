// Two distributions in the same buckets, whatever buckets they came in.

import { logTicks } from "../pattern/ticks";
import type { Distribution } from "../data/comparison";

/** Shares of requests by buckets with bounds that are a constant factor apart. */
export interface Shape {
  bounds: number[];
  shares: number[];
}

/** Minimum ratio between the ends of an axis. */
const SHORTEST = 1.1;

/** The distribution of one period. */
export function shape({ bounds_ns, shares }: Distribution, side: 0 | 1): Shape {
  return { bounds: bounds_ns, shares: shares[side] };
}

/** Both distributions in `count` buckets of one axis; null if both are empty. */
export function together(shapes: [Shape, Shape], count: number): { bounds: number[]; shares: [number[], number[]] } | null {
  const ends = shapes.flatMap(({ bounds, shares }) => {
    const filled = shares.flatMap((share, at) => (share > 0 ? [at] : []));
    const [first, last] = [filled[0], filled.at(-1)];
    return first === undefined || last === undefined ? [] : [bounds[first] ?? 1, bounds[last + 1] ?? 1];
  });
  if (ends.length === 0) return null;
  let [low, high] = [Math.max(1, Math.min(...ends)), Math.max(1, ...ends)];
  const lacking = SHORTEST / (high / low);
  if (lacking > 1) [low, high] = [low / Math.sqrt(lacking), high * Math.sqrt(lacking)];
  const bounds = Array.from({ length: count + 1 }, (_, number) => low * (high / low) ** (number / count));
  return { bounds, shares: [rebinned(shapes[0], bounds), rebinned(shapes[1], bounds)] };
}

/**
 * The shares in other buckets: a share that covers several of them is divided as if it were spread
 * evenly over the log axis.
 */
export function rebinned({ bounds, shares }: Shape, into: number[]): number[] {
  const [low, high] = [Math.log(into[0] ?? 1), Math.log(into.at(-1) ?? 1)];
  const count = into.length - 1;
  const made = new Array<number>(count).fill(0);
  const width = (high - low) / count;
  const bin = (at: number) => Math.min(count - 1, Math.max(0, Math.floor((at - low) / width)));
  shares.forEach((share, number) => {
    if (!(share > 0)) return;
    const [from, to] = [Math.log(Math.max(1, bounds[number] ?? 1)), Math.log(Math.max(1, bounds[number + 1] ?? 1))];
    if (to - from < 1e-12) {
      made[bin(from)] = (made[bin(from)] ?? 0) + share;
      return;
    }
    for (let at = bin(from); at <= bin(to - 1e-12); at++) {
      const [begin, end] = [at === 0 ? -Infinity : low + at * width, at === count - 1 ? Infinity : low + (at + 1) * width];
      const part = Math.max(0, Math.min(to, end) - Math.max(from, begin)) / (to - from);
      made[at] = (made[at] ?? 0) + share * part;
    }
  });
  return made;
}

/** The outline of bars as a path that is one unit wide for each bucket and 1 high. */
export function steps(shares: number[], most: number): string {
  const at = (share: number) => +(1 - share / most).toFixed(4);
  const up = shares.map((share, number) => `${number === 0 ? `M0 ${at(share)}` : `V${at(share)}`}H${number + 1}`);
  return up.join("");
}

/** Round numbers by how round they are. */
const ROUND = [[1], [2, 5], [3, 7], [1.5, 4, 6, 8], [1.2, 2.5, 9]];

/**
 * Round times from `low` to `high` for the labels of an axis. Labels are at least `apart` from each
 * other at their positions `at`; rounder times take precedence.
 */
export function labelled(low: number, high: number, at: (time: number) => number, apart: number): number[] {
  const powers: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) powers.push(power);
  const wanted = ROUND.flatMap((factors) => powers.flatMap((power) => factors.map((factor) => +(factor * power).toPrecision(6))));
  // An axis that is shorter than the smallest of these steps gets labels in equal steps.
  const all = [...wanted, ...(high < 1.5 * low ? logTicks(low, high) : [])].filter((time) => time >= low && time <= high);
  const placed: number[] = [];
  for (const time of all) if (placed.every((other) => Math.abs(at(other) - at(time)) >= apart)) placed.push(time);
  return placed.sort((one, other) => one - other);
}
