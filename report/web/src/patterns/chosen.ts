// Which patterns are listed, and which of them is shown: the one that was chosen or, as long as
// none was, the first.

import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Overview } from "../data/types";
import { open, pattern, query, sort } from "../state";
import { folded, type Row } from "./families";
import { listed, searchTexts } from "./rank";

export interface Listed {
  rows: Row[];
  /** How many patterns the rows are of. */
  found: number;
  /** The rank of the pattern that is shown; null where there is none. */
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
    // What is shown has its row: of a family that is closed, the one that stands for it has none of
    // the others'.
    const shown = pattern.value === null ? undefined : rankOf.get(pattern.value);
    const isHidden = shown !== undefined && family[shown] !== id[shown];
    const isOpen = (of: number) => open.value.has(of) || (isHidden && of === family[shown]);
    const opened = new Set(ranks.filter((rank) => isOpen(family[rank] ?? -1)));
    return { rows: folded(overview, ranks, key, opened), found: ranks.length };
  }).value;
  const chosen = pattern.value === null ? rows[0]?.rank : rankOf.get(pattern.value);
  return { rows, found, chosen: chosen ?? null };
}
