// Hand-written patterns.

import type { Details, Overview, Part } from "../../src/data/types";

/** A hop: its cause, sender and receiver by number, the traced ends, and its mean times. */
export type Hop = [parent: number, src: number, dst: number, traced: number, sent: number, received: number];

/**
 * CLIENT calls a gateway, which calls two servers concurrently and waits for both; afterwards it
 * sends one more message.
 */
export const FORKED: Hop[] = [
  [-1, 0, 1, 2, 0, 0],
  [0, 1, 2, 3, 10, 20],
  [1, 2, 1, 3, 50, 60],
  [0, 1, 3, 3, 12, 22],
  [3, 3, 1, 3, 90, 100],
  [4, 1, 0, 1, 120, 120],
  [4, 1, 4, 3, 125, 130],
];

/** A lookup at an untraced server. */
export const LOOKUP: Hop[] = [
  [-1, 0, 1, 2, 0, 0],
  [0, 1, 2, 1, 10, 10],
  [1, 2, 1, 2, 60, 60],
  [2, 1, 0, 1, 70, 70],
];

export function details(hops: Hop[], critical: { hop: number; part: Part } | null = null): Details {
  const column = (place: number) => hops.map((hop) => hop[place] ?? 0);
  const delay = { mean: 1, p50: 1, p99: 1, histogram: [] };
  const delays = hops.flatMap(([parent, , , traced], hop): Details["delays"] => {
    const found: Details["delays"] = [];
    if (parent >= 0) found.push({ hop, part: traced & 1 ? "node" : "untraced", ...delay });
    if (traced === 3) found.push({ hop, part: "network", ...delay });
    return found;
  });
  return {
    id: 0,
    hops: {
      parent: column(0), src: column(1), dst: column(2), traced: column(3), sent: column(4), received: column(5),
      port: column(1), bytes: column(1),
    },
    omitted: 0,
    critical,
    tree: hops.map((_, hop) => [hop, "│", 0]),
    duration: delay,
    delays,
    series: [],
    instances: [],
  };
}

/** Three patterns, in the order of their total time. */
export function overview(): Overview {
  return {
    source: "made", begin: 0, span: 6e9, window: 6e9, messages: 9, processes: 3, requests: null, steps: null, other: null, hosts: 1, pattern_count: 3, instances: 117, expected_paths: 90, total_time: 600,
    sort: "total", filtered: [], notes: [], one_sided: { messages: 0, between: [] }, contexts: true, group: 64,
    names: ["CLIENT", "nginx", "app.py", "redis", ":8080", ":6379"],
    patterns: {
      id: [0, 5, 7], count: [100, 16, 1], expected: [70, 16, 0.9], max_probability: [1, 1, 0.9],
      mean: [3, 9, 50], p50: [3, 9, 50], p99: [8, 10, 50], total: [400, 150, 50], hops: [4, 6, 2], family: [0, 5, 7],
      nodes: [[0, 3, 5], [0, 3, 5, 7], [0, 3, 4]],
      ports: [[4], [4, 5], [4]],
    },
    map: { nodes: [], edges: [] },
    series: { step: 1, expected: [], mean: [], p50: [], p99: [] },
  };
}
