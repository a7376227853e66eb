// The colour of a node says how long it takes, on every view: the darker (in the dark: the
// brighter), the longer its mean time at work. There are five shades, each for times so many times
// as long as those of the shade before that all nodes fit in. Contexts of an operation have theirs
// likewise, by their mean response times.

import type { Overview } from "./data/types";

const SHADES = 5;
/** Nodes that take about as long as each other have about the same shade. */
const LEAST_STEP = 1.6;

/** A shade, and the time up to which it is for, in nanoseconds. */
export interface Shade {
  css: string;
  to: number;
}

let classes = new Map<number, string>();
let shades: Shade[] = [];

/** The class of each of these means, which are more than 0, and the shades that they have, that of the quickest first. */
export function shaded(means: number[]): { css: string[]; shades: Shade[] } {
  const [longest, shortest] = [Math.max(0, ...means), Math.min(...means)];
  const step = Math.max(LEAST_STEP, (longest / shortest) ** (1 / SHADES));
  const shadeOf = (mean: number) => Math.max(0, SHADES - 1 - Math.floor(Math.log(longest / mean) / Math.log(step)));
  const css = means.map((mean) => `heat-${shadeOf(mean)}`);
  const shades = Array.from({ length: SHADES }, (_, shade) => ({
    css: `heat-${shade}`,
    to: longest / step ** (SHADES - 1 - shade),
  })).filter((shade) => css.includes(shade.css));
  return { css, shades };
}

/** Gives the colours to the nodes of `overview`. */
export function colorNodes(overview: Overview): void {
  const worked = overview.map.nodes.filter((node) => node.traced && node.mean !== null && node.mean > 0);
  const found = shaded(worked.map((node) => node.mean ?? 0));
  classes = new Map(worked.map((node, place) => [node.name, found.css[place] ?? "c-none"]));
  shades = found.shades;
}

/** The class that has the colour of the node of that name. */
export function color(name: number): string {
  return classes.get(name) ?? "c-none";
}

/** The shades that nodes have, that of the quickest first. */
export function scale(): Shade[] {
  return shades;
}
