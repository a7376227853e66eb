// The steps of a mutation to list: all, or only the changed ones with their callers.

import type { Compared } from "./changes";
import type { Pairing } from "./align";

/** Number of steps with the largest changes that are listed, whether they are marked or not. */
const LARGEST = 5;

export function listed({ before, after, pairs, marked }: Compared, isWhole: boolean): Pairing[] {
  if (isWhole) return pairs;
  const time = (pair: Pairing) => {
    const [was, is] = [before.tree.places[pair.before ?? -1], after.tree.places[pair.after ?? -1]];
    const sum = (place: typeof was, period: 0 | 1) => (place ? place.own_ns[period] + place.network_ns[period] : 0);
    return Math.abs(sum(is, after.period) - sum(was, before.period));
  };
  const largest = pairs.toSorted((one, other) => time(other) - time(one)).slice(0, LARGEST).filter((pair) => time(pair) > 0);
  const wanted = { before: new Set<number>(), after: new Set<number>() };
  const want = (side: "before" | "after", at: number | null) => {
    const { places } = (side === "before" ? before : after).tree;
    // If a step is listed already, its callers are, too.
    for (let here = at; here !== null && !wanted[side].has(here); here = places[here]?.parent ?? null) wanted[side].add(here);
  };
  for (const one of [...marked, ...largest]) {
    want("before", one.before);
    want("after", one.after);
  }
  return pairs.filter((pair) => (pair.before !== null && wanted.before.has(pair.before)) || (pair.after !== null && wanted.after.has(pair.after)));
}
