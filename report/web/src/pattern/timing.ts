// The times of sending and receipt of each hop of a pattern, and its causes: on average, or in one
// instance.

import type { Details, HopDelay, Instance } from "../data/types";

/** Times in nanoseconds since the sending of the root; null if they are not known. */
export interface Timing {
  sent: (number | null)[];
  received: (number | null)[];
  /** By hop: the time that its sender waited for a connection before it sent. */
  connecting: Map<number, number>;
  parent: number[];
  /** By hop: the hops it causes. */
  children: number[][];
  /** By hop: the last event in the subtree it causes. */
  subtreeEnd: number[];
  /** The last event of all. */
  end: number;
}

/** The average times of a pattern, or those of `instance`. */
export function timing(details: Details, instance: Instance | null): Timing {
  const { parent } = details.hops;
  const sent: (number | null)[] = instance?.sent ?? details.hops.sent;
  const received: (number | null)[] = instance?.received ?? details.hops.received;
  const connecting = new Map(instance ? instance.connecting : details.delays.filter((delay) => delay.part === "connect").map((delay) => [delay.hop, average(delay)]));
  const children: number[][] = parent.map(() => []);
  parent.forEach((cause, hop) => children[cause]?.push(hop));
  const subtreeEnd = parent.map((_, hop) => Math.max(0, sent[hop] ?? 0, received[hop] ?? 0));
  for (let hop = parent.length - 1; hop >= 0; hop--) {
    const cause = parent[hop] ?? -1;
    if (cause >= 0) subtreeEnd[cause] = Math.max(subtreeEnd[cause] ?? 0, subtreeEnd[hop] ?? 0);
  }
  return { sent, received, connecting, parent, children, subtreeEnd, end: Math.max(0, ...subtreeEnd) };
}

/** The mean of a delay over all instances, including instances without it. */
export function average(delay: HopDelay): number {
  return Math.max(0, delay.mean) * (delay.share ?? 1);
}

/**
 * Of the hops that `hop` causes, the one with the subtree that ends last: the one that the path
 * waits for.
 */
export function mainChild(of: Timing, hop: number): number | null {
  let best: number | null = null;
  for (const child of of.children[hop] ?? []) {
    if (best === null || (of.subtreeEnd[child] ?? 0) > (of.subtreeEnd[best] ?? 0)) best = child;
  }
  return best;
}
