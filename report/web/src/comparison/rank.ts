// The mutations to list, and their order.

import type { MutationRow } from "../data/comparison";
import type { Rank } from "./state";
import { operation } from "./words";

/** The ranking of mutations. The first is the order of the page's data. */
export const BY: Record<Rank, { label: string; of: (row: MutationRow) => number }> = {
  contribution: { label: "contribution", of: () => 0 },
  change: { label: "change of the mean", of: ({ mean_ns: [before, after], counts }) => (counts[0] > 0 && counts[1] > 0 ? Math.abs(after - before) : 0) },
  requests: { label: "requests after", of: ({ counts }) => counts[1] },
};

/** The indices of the mutations that contain all words of `query`, the largest first; equal ones keep their order. */
export function listed(rows: MutationRow[], by: Rank, query: string): number[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = (row: MutationRow, at: number) => {
    const text = [`#${at + 1}`, operation(row), row.kind === "structural" ? "other path" : "", ...row.through].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const found = rows.flatMap((row, at) => (isFound(row, at) ? [at] : []));
  const { of } = BY[by];
  const value = (at: number) => {
    const row = rows[at];
    return row ? of(row) : 0;
  };
  return by === "contribution" ? found : found.toSorted((one, other) => value(other) - value(one));
}
