// The patterns to list, and the one to show: the selected one or, without a selection, the first.

import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Overview } from "../data/types";
import { open, pattern, query, sort } from "../state";
import { folded, type Row } from "./families";
import { listed, searchTexts } from "./rank";

export interface Listed {
  rows: Row[];
  /** The number of patterns in the rows. */
  found: number;
  /** The rank of the pattern that is shown; null if there is none. */
  chosen: number | null;
}

/** The rows of the list, and the rank of the pattern that is shown. */
export function useListed(overview: Overview): Listed {
  const texts = useMemo(() => searchTexts(overview), [overview]);
  const rankOf = useMemo(() => new Map(overview.patterns.id.map((id, rank) => [id, rank])), [overview]);
  const { rows, found } = useComputed(() => {
    const key = sort.value ?? overview.sort;
    const ranks = listed(overview, texts, key, query.value);
    const { id, family } = overview.patterns;
    // The shown pattern has a row: in a closed family only the pattern that represents it has one.
    const shown = pattern.value === null ? undefined : rankOf.get(pattern.value);
    const isHidden = shown !== undefined && family[shown] !== id[shown];
    const isOpen = (of: number) => open.value.has(of) || (isHidden && of === family[shown]);
    const opened = new Set(ranks.filter((rank) => isOpen(family[rank] ?? -1)));
    return { rows: folded(overview, ranks, key, opened), found: ranks.length };
  }).value;
  const chosen = pattern.value === null ? rows[0]?.rank : rankOf.get(pattern.value);
  return { rows, found, chosen: chosen ?? null };
}
