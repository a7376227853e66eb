// The operations to list, and their order.

import { LEVELS, type Contexts, type Level, type Operation } from "../data/contexts";

/** The rankings of operations. The first is the order of the page's data. */
export const RANKS = {
  explained: { label: "what context explains", of: (_: Operation) => 0 },
  count: { label: "count", of: (one: Operation) => one.count },
  mean: { label: "mean", of: (one: Operation) => one.times?.mean ?? 0 },
  deviation: { label: "standard deviation", of: (one: Operation) => one.times?.deviation ?? 0 },
  modes: { label: "modes", of: (one: Operation) => one.times?.modes ?? 0 },
};
export type Rank = keyof typeof RANKS;

/** The operations that have all words of `query` in their names, the largest by `key` first; equal ones keep their order. */
export function listed({ operations }: Contexts, key: Rank, query: string): Operation[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = operations.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  const { of } = RANKS[key];
  return key === "explained" ? found : found.toSorted((one, other) => of(other) - of(one));
}

/**
 * The kind of contexts shown initially for an operation: the one that makes it slow, otherwise the
 * coarsest with more than one context.
 */
export function firstLevel(operation: Operation): Level {
  return operation.reason ?? LEVELS.find((level) => operation.contexts[level].all > 1) ?? "caller";
}

/**
 * The share that a kind of contexts explains, in two parts: beyond chance, and the share that as
 * many contexts explain by chance.
 */
export function parts({ share, beyond_chance }: { share: number; beyond_chance: number }): [sure: number, chance: number] {
  const all = Math.min(1, Math.max(0, share));
  const sure = Math.min(all, Math.max(0, beyond_chance));
  return [sure, all - sure];
}
