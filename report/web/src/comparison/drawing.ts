// The drawn part of a comparison's map: its nodes with their marks, and its edges.

import type { Comparison, MapEdge } from "../data/comparison";
import { duration } from "../format";
import type { Drawn } from "../map/layout";
import { both, MARK } from "./words";

/** The name of the external caller. */
export const OUTSIDE = "(outside)";
export interface DrawnMap extends Drawn {
  /** The nodes as the comparison names them. */
  keys: string[];
}

export function drawing({ nodes, edges }: Comparison["map"]): DrawnMap {
  const known = new Map(nodes.map((node) => [node.node, node]));
  const keys = [...new Set([...nodes.map(({ node }) => node), ...edges.flatMap(({ caller, node }) => [caller, node])])];
  const number = new Map(keys.map((key, at) => [key, at]));
  const names = keys.map((key) => {
    const changed = known.get(key)?.changed;
    return `${changed ? `${MARK[changed]} ` : ""}${key || OUTSIDE}`;
  });
  const drawn = edges.map(({ caller, node, calls }) => ({
    from: number.get(caller) ?? 0,
    to: number.get(node) ?? 0,
    there: Math.max(...calls),
    back: 0,
  }));
  return { keys, names, map: { nodes: keys.map((_, name) => ({ name })), edges: drawn } };
}

/** "new" or "gone" if the calls occur in one period only, otherwise empty. */
export function state({ calls: [before, after] }: MapEdge): "new" | "gone" | "" {
  if (before > 0 === after > 0) return "";
  return after > 0 ? "new" : "gone";
}

/** The times on the network, as far as they were seen. */
export function edgeTimes({ network_ns: [before, after] }: MapEdge): [string, string] | [] {
  return before === null && after === null ? [] : [duration(before), duration(after)];
}

/** An edge in words. */
export function edgeName(edge: MapEdge): string {
  const calls = edge.calls.map((calls) => calls.toPrecision(3)).join(" → ");
  const times = edgeTimes(edge).length > 0 ? `, ${both(edge.network_ns)} on the way` : "";
  return `${edge.caller || OUTSIDE} calls ${edge.node || "?"}: ${calls} times for each request${times}${edge.changed ? `: ${edge.changed}` : ""}`;
}
