// Wording and sums for edges of the map, one or several.

import type { MapEdge } from "../data/types";
import { duration, rate } from "../format";

/** The time of all messages of an edge together. */
export function between(edge: MapEdge): number {
  return edge.network_time + edge.untraced_time;
}

/** Edges between the same two nodes, over whatever ports, as one. */
export function joined(edges: MapEdge[]): { there: number; messages: number; time: number | null } {
  const sum = (of: (edge: MapEdge) => number) => edges.reduce((all, edge) => all + of(edge), 0);
  const messages = sum((edge) => edge.there + edge.back);
  const timed = edges.filter((edge) => (edge.network ?? edge.untraced) !== null);
  const weight = timed.reduce((all, edge) => all + edge.there + edge.back, 0);
  const times = timed.reduce((all, edge) => all + (edge.network ?? edge.untraced ?? 0) * (edge.there + edge.back), 0);
  return { there: sum((edge) => edge.there), messages, time: weight > 0 ? times / weight : null };
}

/** An edge in words. */
export function sentence(edge: MapEdge, names: string[], seconds: number): string {
  const time = edge.network === null ? `${duration(edge.untraced)} untraced` : `${duration(edge.network)} on the network`;
  return `${names[edge.from]} to ${names[edge.to]} ${`${names[edge.port]} ${edge.protocol}`.trim()}: ${rate(edge.there / seconds)} there, ${rate(edge.back / seconds)} back, ${time}`;
}
