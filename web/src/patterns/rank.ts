// Which patterns are listed, and in what order: the metrics of WAP5 section 6.6 and the search.

import type { Overview, PatternColumns, SortKey } from "../data/types";

export const METRICS: Record<SortKey, { label: string; of: (patterns: PatternColumns, rank: number) => number }> = {
  total: { label: "total time", of: (p, rank) => p.total[rank] ?? 0 },
  count: { label: "count", of: (p, rank) => p.count[rank] ?? 0 },
  expected: { label: "expected count", of: (p, rank) => p.expected[rank] ?? 0 },
  confidence: { label: "expected / count", of: (p, rank) => confidence(p, rank) },
  evidence: {
    label: "expected / √count",
    of: (p, rank) => (p.expected[rank] ?? 0) / Math.sqrt(Math.max(1, p.count[rank] ?? 0)),
  },
  mean: { label: "mean duration", of: (p, rank) => p.mean[rank] ?? 0 },
  p99: { label: "p99 duration", of: (p, rank) => p.p99[rank] ?? 0 },
};

/** How likely an instance is on average. */
export function confidence(patterns: PatternColumns, rank: number): number {
  return (patterns.expected[rank] ?? 0) / Math.max(1, patterns.count[rank] ?? 0);
}

/** The path in words: its nodes, an arrow where it goes on from the one before and a comma where not. */
export function route(overview: Overview, rank: number, most = 8): string {
  const nodes = overview.patterns.nodes[rank] ?? [];
  const words = nodes.slice(0, most).map((node, place) => {
    const before = place === 0 ? "" : node % 2 === 1 ? " → " : ", ";
    return before + (overview.names[node >> 1] ?? "");
  });
  return words.join("") + (nodes.length > most ? ` and ${nodes.length - most} more` : "");
}

/** What can be searched for, by rank: all names and ports of a pattern, in small letters. */
export function searchTexts(overview: Overview): string[] {
  const names = overview.names.map((name) => name.toLowerCase());
  const { nodes, ports, id } = overview.patterns;
  return nodes.map((of, rank) => {
    const words = of.map((node) => names[node >> 1] ?? "");
    const over = (ports[rank] ?? []).map((port) => names[port] ?? "");
    return `${words.join(" ")} ${over.join(" ")} #${id[rank]}`;
  });
}

/** The ranks of the patterns that have all words of `query`, the largest by `key` first; equal ones stay as they were. */
export function listed(overview: Overview, texts: string[], key: SortKey, query: string): number[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found: number[] = [];
  for (let rank = 0; rank < texts.length; rank++) {
    if (words.every((word) => texts[rank]?.includes(word))) found.push(rank);
  }
  if (key === overview.sort) return found;
  const values = found.map((rank) => METRICS[key].of(overview.patterns, rank));
  const places = found.map((_, place) => place);
  places.sort((one, other) => (values[other] ?? 0) - (values[one] ?? 0) || one - other);
  return places.map((place) => found[place] ?? 0);
}
