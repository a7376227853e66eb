// Each node has its colour everywhere: those that take most time differ, the others are grey.

import type { Overview } from "./data/types";

const COLORS = 10;
let classes = new Map<number, string>();

/** Gives the colours to the nodes of `overview`. */
export function colorNodes(overview: Overview): void {
  const nodes = overview.map.nodes.toSorted((one, other) => other.time - one.time || one.name - other.name);
  classes = new Map(nodes.slice(0, COLORS).map((node, place) => [node.name, `c${place}`]));
}

/** The class that has the colour of the node of that name. */
export function color(name: number): string {
  return classes.get(name) ?? "c-none";
}
