// Patterns that users regard as one: patterns of the same hops, in other numbers or orders. The
// page's data has the families; here each family becomes one row and, when opened, a row for each
// of its patterns.

import type { Overview, SortKey } from "../data/types";
import { compareValues, type Values, values } from "./rank";

/** A row of the list. */
export interface Row {
  rank: number;
  /** The number of other patterns of a family that the row represents; 0 if there are none. */
  alike: number;
  /** Whether the other patterns have rows of their own below. */
  isOpen: boolean;
  /** Whether the row is one of the rows below that of an open family. */
  isMember: boolean;
  /** The values for the ranking: sums over the whole family. */
  values: Values;
}

/** The rows for the patterns of `ranks`, which are in order. The families of the patterns `open`, by rank, are open. */
export function folded(overview: Overview, ranks: number[], key: SortKey, open: ReadonlySet<number>): Row[] {
  const { patterns } = overview;
  const families = new Map<number, number[]>();
  for (const rank of ranks) {
    const family = patterns.family[rank] ?? rank;
    const members = families.get(family);
    if (members) members.push(rank);
    else families.set(family, [rank]);
  }
  const heads = [...families.values()].map((members) => {
    // The pattern with the largest total time has the lowest number.
    const lead = members.reduce((best, rank) => ((patterns.id[rank] ?? 0) < (patterns.id[best] ?? 0) ? rank : best));
    return { members, lead, values: together(overview, members, lead) };
  });
  heads.sort((one, other) => compareValues(one.values, other.values, key));
  return heads.flatMap(({ members, lead, values: all }) => {
    const isOpen = members.length > 1 && members.some((rank) => open.has(rank));
    const head: Row = { rank: lead, alike: members.length - 1, isOpen, isMember: false, values: all };
    if (!isOpen) return [head];
    const others = members.filter((rank) => rank !== lead);
    const below = others.map((rank): Row => ({
      rank, alike: 0, isOpen: false, isMember: true, values: values(patterns, rank),
    }));
    return [head, ...below];
  });
}

/** The sums of the patterns; p99 cannot be summed up, so the lead's is used. */
function together(overview: Overview, members: number[], lead: number): Values {
  const { patterns } = overview;
  const all = members.map((rank) => values(patterns, rank));
  const sum = (of: (one: Values) => number) => all.reduce((total, one) => total + of(one), 0);
  const [count, expected, total] = [sum((one) => one.count), sum((one) => one.expected), sum((one) => one.total)];
  return { count, expected, total, mean: expected > 0 ? total / expected : 0, p99: patterns.p99[lead] ?? 0 };
}
