// The geometry of a WAP5 timeline (section 6.1, Figures 10 and 12 to 14) in nanoseconds and rows.
// Time and causality go from left to right. A chain stays on its row; where a path forks, the
// branch that ends last continues on the row and each other one gets a row of its own below, so
// that the uppermost row is what the path waits for.

import type { Details, Part } from "../data/types";
import { mainChild, type Timing } from "./timing";

/** The meaning of an element, which decides its shape. */
export type Kind = "source" | "node" | "connect" | "network" | "untraced" | "sink";

export interface Element {
  kind: Kind;
  hop: number;
  /** The name of the node that it shows; for a message, of its sender. */
  name: number;
  traced: boolean;
  row: number;
  from: number;
  to: number;
  critical: boolean;
}

/** The point where a branch leaves the row of its fork. */
export interface Fork {
  at: number;
  fromRow: number;
  toRow: number;
}

export interface Timeline {
  elements: Element[];
  forks: Fork[];
  rows: number;
  span: number;
}

/** The delay that an element shows. */
export function part(kind: Kind): Part | null {
  return kind === "source" || kind === "sink" ? null : kind;
}

export function timeline(details: Details, times: Timing): Timeline {
  const { hops, critical } = details;
  const untraced = new Set(details.delays.filter((delay) => delay.part === "untraced").map((delay) => delay.hop));
  const made: Timeline = { elements: [], forks: [], rows: 0, span: times.end };
  const rowOf = new Map<number, number>();

  const sentAt = (hop: number) => times.sent[hop] ?? times.received[hop] ?? 0;
  const receivedAt = (hop: number) => Math.max(sentAt(hop), times.received[hop] ?? 0);
  /** The time at which the work that leads to a child of `parent` begins. */
  const start = (hop: number, parent: number) => (untraced.has(hop) ? sentAt(parent) : receivedAt(parent));

  const place = (hop: number, parent: number | null, row: number) => {
    const traced = hops.traced[hop] ?? 0;
    const add = (kind: Kind, from: number, to: number) => {
      const isSink = kind === "sink";
      made.elements.push({
        kind,
        hop,
        name: (isSink ? hops.dst[hop] : hops.src[hop]) ?? 0,
        traced: (traced & (isSink ? 2 : 1)) !== 0,
        row,
        from,
        // A slightly inaccurate clock must not reverse time.
        to: Math.max(from, to),
        critical: critical?.hop === hop && critical.part === kind,
      });
    };
    if (parent === null) add("source", sentAt(hop), sentAt(hop));
    else if (untraced.has(hop)) add("untraced", sentAt(parent), receivedAt(hop));
    else if (traced & 1) {
      // A node is assumed to connect at the end of its work.
      const connected = Math.max(receivedAt(parent), sentAt(hop) - (times.connecting.get(hop) ?? 0));
      add("node", receivedAt(parent), connected);
      if (connected < sentAt(hop)) add("connect", connected, sentAt(hop));
    } else add("untraced", receivedAt(parent), sentAt(hop));
    if ((traced & 3) === 3) add("network", sentAt(hop), receivedAt(hop));
    if (!times.children[hop]?.length) add("sink", receivedAt(hop), receivedAt(hop));
  };

  // Elements still to be placed: a hop, the hop that caused it, and whether it continues on that
  // hop's row.
  const waiting: [number, number | null, boolean][] = [];
  times.parent.forEach((parent, hop) => parent < 0 && waiting.unshift([hop, null, false]));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [hop, parent, goesOn] = next;
    const row = parent !== null && goesOn ? (rowOf.get(parent) ?? 0) : made.rows++;
    rowOf.set(hop, row);
    place(hop, parent, row);
    if (parent !== null && !goesOn) {
      made.forks.push({ at: start(hop, parent), fromRow: rowOf.get(parent) ?? 0, toRow: row });
    }
    // The main branch is placed first, hence pushed last: rows of later forks come above those of
    // earlier ones, and no fork's line crosses another branch.
    const main = mainChild(times, hop);
    for (const child of [...(times.children[hop] ?? [])].reverse()) {
      if (child !== main) waiting.push([child, hop, false]);
    }
    if (main !== null) waiting.push([main, hop, true]);
  }
  return made;
}

/** Round times from 0 to `span`, at most eight. */
export function ticks(span: number): number[] {
  if (!(span > 0)) return [0];
  const power = 10 ** Math.floor(Math.log10(span / 7));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= span / 7) ?? 10);
  const made: number[] = [];
  for (let index = 0; index <= 8 && index * step <= span * 1.0001; index++) made.push(index * step);
  return made;
}
