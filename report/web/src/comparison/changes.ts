// The differences between the two sides of a mutation: hops with a different time, and steps that
// exist on one side only. Drawings and tables mark the same changes by the same numbers.

import type { Mutation, Originator, Pair, Place, Tree } from "../data/comparison";
import { align, type Pairing } from "./align";
import { operation } from "./words";

/** One side of a comparison: a category in one period. */
export interface Side {
  tree: Tree;
  /** 0: in the first period; 1: in the second. */
  period: 0 | 1;
}

/** What changed: a step's own time, its time on the network, or its existence. */
export type What = "own" | "network" | "added" | "lost";

/** A change with the number by which drawings and tables mark it. */
export interface Marked {
  number: number;
  what: What;
  /** The index of the step on either side; null if it does not exist there. */
  before: number | null;
  after: number | null;
  /** The number of steps below the step that exist on one side only, too. */
  below: number;
  css: "worse" | "better";
  text: string;
  /** For a hop: its duration on both sides. */
  times: Pair | null;
  /** For steps on one side only: the time that requests wait for them. */
  ns: number;
}

export interface Compared {
  before: Side;
  after: Side;
  pairs: Pairing[];
  marked: Marked[];
}

/** Whether the category has no requests in the period. */
export function isEmpty({ tree, period }: Side): boolean {
  return tree.counts[period] === 0;
}

/** A mutation compared with one of its originators, or with itself in the first period. */
export function compared(mutation: Mutation, originator: Originator | null): Compared {
  const after: Side = { tree: mutation.tree, period: 1 };
  const before: Side = { tree: originator?.tree ?? mutation.tree, period: 0 };
  const pairs = originator ? align(before.tree.places, after.tree.places) : mutation.tree.places.map((_, at) => ({ before: at, after: at }));
  const marked = [...apart(before, after, pairs), ...(originator ? [] : hops(mutation))];
  return { before, after, pairs, marked: marked.map((one, at) => ({ ...one, number: at + 1 })) };
}

function hops({ hops, tree }: Mutation): Marked[] {
  return hops.map(({ place, what, mean_ns: [before, after] }): Marked => ({
    number: 0,
    what,
    before: place,
    after: place,
    below: 0,
    css: after > before ? "worse" : "better",
    text: what === "own" ? `${name(tree.places, place)} itself` : `on the way between ${caller(tree, place)} and ${name(tree.places, place)}`,
    times: [before, after],
    ns: 0,
  }));
}

/** Steps on one side only; steps below such a step are part of the same change. */
function apart(before: Side, after: Side, pairs: Pairing[]): Marked[] {
  const made: Marked[] = [];
  const heads: Record<"before" | "after", Map<number, Marked>> = { before: new Map(), after: new Map() };
  for (const pair of pairs) {
    if (pair.before !== null && pair.after !== null) continue;
    const [side, of, at] = pair.after === null ? (["before", before, pair.before ?? 0] as const) : (["after", after, pair.after] as const);
    const { places } = of.tree;
    const time = (places[at]?.own_ns[of.period] ?? 0) + (places[at]?.network_ns[of.period] ?? 0);
    const parent = places[at]?.parent ?? null;
    const head = parent === null ? undefined : heads[side].get(parent);
    if (head) {
      head.below++;
      head.ns += time;
      heads[side].set(at, head);
      continue;
    }
    const one: Marked = {
      number: 0,
      what: side === "after" ? "added" : "lost",
      before: pair.before,
      after: pair.after,
      below: 0,
      css: side === "after" ? "worse" : "better",
      text: `${parent === null ? "" : `${places[parent]?.node || "?"} → `}${name(places, at)}`,
      times: null,
      ns: time,
    };
    heads[side].set(at, one);
    made.push(one);
  }
  return made;
}

function name(places: Place[], at: number): string {
  const place = places[at];
  return place ? `${operation(place)}${place.failed ? " (fails)" : ""}` : "?";
}

function caller({ places, caller }: Tree, at: number): string {
  const parent = places[at]?.parent ?? null;
  return (parent === null ? caller : places[parent]?.node) || "?";
}

/** The marks at each place of a side. */
export function marksOf({ marked, pairs, before, after }: Compared, side: "before" | "after"): Map<number, Marked[]> {
  const found = new Map<number, Marked[]>();
  for (const one of marked) {
    const at = one[side];
    if (at !== null) found.set(at, [...(found.get(at) ?? []), one]);
  }
  const common = new Set(pairs.flatMap((pair) => (pair.before !== null && pair.after !== null ? [pair[side]] : [])));
  // Steps below a step that exists on one side only get its mark.
  (side === "before" ? before : after).tree.places.forEach(({ parent }, at) => {
    const above = parent === null || common.has(at) || found.has(at) ? [] : (found.get(parent) ?? []);
    const heads = above.filter(({ what }) => what === "added" || what === "lost");
    if (heads.length > 0) found.set(at, heads);
  });
  return found;
}
