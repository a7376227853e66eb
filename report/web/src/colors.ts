// The colour of a node shows its mean time at work, on every view: the darker (in dark mode: the
// brighter), the longer. There are five shades, each for times that are a constant factor longer
// than the times of the preceding shade, so that they cover all nodes. Contexts of an operation are
// coloured in the same way, by their mean response times.

import type { Overview } from "./data/types";

const SHADES = 5;
/** Minimum factor between shades, so that nodes with similar times have a similar shade. */
const LEAST_STEP = 1.6;

/** A shade, and the longest time that it covers, in nanoseconds. */
export interface Shade {
  css: string;
  to: number;
}

let classes = new Map<number, string>();
let shades: Shade[] = [];

/** The class of each of these means, which are more than 0, and the shades, the one of the shortest times first. */
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

/** Assigns colours to the nodes of `overview`. */
export function colorNodes(overview: Overview): void {
  const worked = overview.map.nodes.filter((node) => node.traced && node.mean !== null && node.mean > 0);
  const found = shaded(worked.map((node) => node.mean ?? 0));
  classes = new Map(worked.map((node, place) => [node.name, found.css[place] ?? "c-none"]));
  shades = found.shades;
}

/** The CSS class with the colour of the node of that name. */
export function color(name: number): string {
  return classes.get(name) ?? "c-none";
}

/** The shades of nodes, the one of the shortest times first. */
export function scale(): Shade[] {
  return shades;
}
