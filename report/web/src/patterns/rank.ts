// The patterns to list, and their order: the metrics of WAP5 section 6.6 and the search.

import type { Overview, PatternColumns, SortKey } from "../data/types";

/** The values by which patterns are ranked. */
export interface Values {
  count: number;
  expected: number;
  total: number;
  mean: number;
  p99: number;
}

/** The values of the pattern of that rank. */
export function values(p: PatternColumns, rank: number): Values {
  return {
    count: p.count[rank] ?? 0, expected: p.expected[rank] ?? 0, total: p.total[rank] ?? 0, mean: p.mean[rank] ?? 0,
    p99: p.p99[rank] ?? 0,
  };
}

export const METRICS: Record<SortKey, { label: string; of: (values: Values) => number }> = {
  total: { label: "total time", of: ({ total }) => total },
  count: { label: "count", of: ({ count }) => count },
  expected: { label: "expected count", of: ({ expected }) => expected },
  confidence: { label: "expected / count", of: ({ expected, count }) => expected / Math.max(1, count) },
  evidence: { label: "expected / √count", of: ({ expected, count }) => expected / Math.sqrt(Math.max(1, count)) },
  mean: { label: "mean duration", of: ({ mean }) => mean },
  p99: { label: "p99 duration", of: ({ p99 }) => p99 },
};

/**
 * Metrics that are weighted with the probability of an instance. By the others, a very improbable
 * pattern could be first.
 */
const WEIGHTED: readonly SortKey[] = ["total", "expected"];
/** Minimum number of expected instances that is shown as 1.0. */
const EXPECTED_ONCE = 0.95;

/**
 * The order of two patterns: the larger value first, but for unweighted metrics, patterns that are
 * expected at least once come first.
 */
export function compareValues(one: Values, other: Values, key: SortKey): number {
  const isExpected = ({ expected }: Values) => (WEIGHTED.includes(key) || expected >= EXPECTED_ONCE ? 1 : 0);
  return isExpected(other) - isExpected(one) || METRICS[key].of(other) - METRICS[key].of(one);
}

/** The mean probability of an instance. */
export function confidence(patterns: PatternColumns, rank: number): number {
  return (patterns.expected[rank] ?? 0) / Math.max(1, patterns.count[rank] ?? 0);
}

/**
 * The path in words: the operation of its root, if it is known, and its nodes, with an arrow if it
 * continues from the preceding one and a comma if not.
 */
export function route(overview: Overview, rank: number, most = 8): string {
  const nodes = overview.patterns.nodes[rank] ?? [];
  const asked = overview.patterns.asked?.[rank];
  const name = asked == null ? "" : `${overview.names[asked] ?? ""}: `;
  const words = nodes.slice(0, most).map((node, place) => {
    const before = place === 0 ? "" : node % 2 === 1 ? " → " : ", ";
    return before + (overview.names[node >> 1] ?? "");
  });
  return name + words.join("") + (nodes.length > most ? ` and ${nodes.length - most} more` : "");
}

/** The searchable text by rank: all names and ports of a pattern, in lower case. */
export function searchTexts(overview: Overview): string[] {
  const names = overview.names.map((name) => name.toLowerCase());
  const { nodes, ports, id } = overview.patterns;
  return nodes.map((of, rank) => {
    const words = of.map((node) => names[node >> 1] ?? "");
    const over = (ports[rank] ?? []).map((port) => names[port] ?? "");
    return `${words.join(" ")} ${over.join(" ")} #${id[rank]}`;
  });
}

/** The ranks of the patterns that have all words of `query`, the largest by `key` first; equal ones keep their order. */
export function listed(overview: Overview, texts: string[], key: SortKey, query: string): number[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found: number[] = [];
  for (let rank = 0; rank < texts.length; rank++) {
    if (words.every((word) => texts[rank]?.includes(word))) found.push(rank);
  }
  if (key === overview.sort) return found;
  const ranked = found.map((rank) => ({ rank, values: values(overview.patterns, rank) }));
  // Sorting is stable.
  ranked.sort((one, other) => compareValues(one.values, other.values, key));
  return ranked.map(({ rank }) => rank);
}
