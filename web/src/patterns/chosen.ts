// Which patterns are listed, and which of them is shown: the one that was chosen or, as long as none was, the first.

import { useComputed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Overview } from "../data/types";
import { pattern, query, sort } from "../state";
import { listed, searchTexts } from "./rank";

/** The listed patterns by rank, and the rank of the one that is shown; null where there is none. */
export function useListed(overview: Overview): { ranks: number[]; chosen: number | null } {
  const texts = useMemo(() => searchTexts(overview), [overview]);
  const rankOf = useMemo(() => new Map(overview.patterns.id.map((id, rank) => [id, rank])), [overview]);
  const ranks = useComputed(() => listed(overview, texts, sort.value ?? overview.sort, query.value)).value;
  const chosen = pattern.value === null ? ranks[0] : rankOf.get(pattern.value);
  return { ranks, chosen: chosen ?? null };
}
