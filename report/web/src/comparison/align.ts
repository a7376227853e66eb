// Steps that two categories have in common: a longest common subsequence of their steps, depth
// first. All other steps were added or removed.

import type { Place } from "../data/comparison";

/** A step of the category before, one of the category after, or one of both. */
export interface Pairing {
  before: number | null;
  after: number | null;
}

/**
 * Beyond this number of pairs of steps, everything between equal beginnings and ends is treated as
 * different.
 */
const MOST_PAIRS = 4_000_000;

export function align(before: Place[], after: Place[]): Pairing[] {
  const known = new Map<string, number>();
  const symbol = ({ depth, node, operation, failed }: Place) => {
    const key = JSON.stringify([depth, node, operation, failed]);
    const number = known.get(key) ?? known.size;
    known.set(key, number);
    return number;
  };
  const [one, other] = [before.map(symbol), after.map(symbol)];
  let head = 0;
  while (head < one.length && head < other.length && one[head] === other[head]) head++;
  let tail = 0;
  while (tail < one.length - head && tail < other.length - head && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  const made: Pairing[] = [];
  for (let at = 0; at < head; at++) made.push({ before: at, after: at });
  made.push(...between(one, other, head, one.length - tail, other.length - tail));
  for (let at = tail; at > 0; at--) made.push({ before: one.length - at, after: other.length - at });
  return made;
}

/** The pairs of the steps from `head` to these ends. */
function between(one: number[], other: number[], head: number, oneEnd: number, otherEnd: number): Pairing[] {
  const [rows, columns] = [oneEnd - head, otherEnd - head];
  const made: Pairing[] = [];
  let [row, column] = [0, 0];
  if (rows * columns <= MOST_PAIRS && rows * columns > 0) {
    // The number of common steps after each pair of positions.
    const width = columns + 1;
    const common = new Uint16Array((rows + 1) * width);
    const at = (row: number, column: number) => common[row * width + column] ?? 0;
    for (let r = rows - 1; r >= 0; r--) {
      for (let c = columns - 1; c >= 0; c--) {
        common[r * width + c] = one[head + r] === other[head + c] ? at(r + 1, c + 1) + 1 : Math.max(at(r + 1, c), at(r, c + 1));
      }
    }
    while (row < rows && column < columns) {
      if (one[head + row] === other[head + column]) made.push({ before: head + row++, after: head + column++ });
      else if (at(row + 1, column) >= at(row, column + 1)) made.push({ before: head + row++, after: null });
      else made.push({ before: null, after: head + column++ });
    }
  }
  while (row < rows) made.push({ before: head + row++, after: null });
  while (column < columns) made.push({ before: null, after: head + column++ });
  return made;
}
