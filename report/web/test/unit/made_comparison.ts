// Hand-written categories and mutations.

import type { Mutation, MutationRow, Pair, Place, Tree } from "../../src/data/comparison";

/** A step: its parent, its node, and its times before and after: its own, and on the network. */
export type Step = [parent: number | null, node: string, own: Pair, network?: Pair];

/**
 * web works for 10 ms itself, calls prices, which calls a database, then stock; then mail, which
 * nothing waits for.
 */
export const SHOP: Step[] = [
  [null, "web", [12, 12]],
  [0, "prices", [20, 20], [4, 4]],
  [1, "database", [6, 6], [2, 2]],
  [0, "stock", [30, 90], [6, 2]],
  [0, "mail", [0, 0], [0, 0]],
];

export function places(steps: Step[]): Place[] {
  const made: Place[] = [];
  const none: Pair = [0, 0];
  for (const [parent, node, own_ns, network_ns = none] of steps) {
    const depth = parent === null ? 0 : (made[parent]?.depth ?? 0) + 1;
    made.push({ parent, depth, node, operation: "", failed: false, repeated: false, concurrent: false, own_ns, network_ns });
  }
  return made;
}

export function tree(steps: Step[], counts: Pair = [100, 100]): Tree {
  const made = places(steps);
  const all = (side: 0 | 1) => made.reduce((sum, place) => sum + place.own_ns[side] + place.network_ns[side], 0);
  return { category: "c", caller: "", counts, mean_ns: [all(0), all(1)], squared_variation: [null, null], distribution: { bounds_ns: [], shares: [[], []] }, places: made };
}

export function mutation(of: Tree, more: Partial<Mutation> = {}): Mutation {
  return { kind: "response_time", contribution_ns: 1, adjusted: 0.01, tree: of, hops: [], originators: [], ...more };
}

export function row(node: string, more: Partial<MutationRow> = {}): MutationRow {
  return { kind: "response_time", contribution_ns: 1, node, operation: "GET", steps: 3, counts: [10, 10], mean_ns: [1, 2], through: [node], ...more };
}
