// Wording that the page of a comparison uses everywhere.

import type { Comparison, MutationRow, Pair, Part, Parts } from "../data/comparison";
import { count, duration, expected } from "../format";
import type { Measure } from "./state";
import { MEASURES } from "./state";

/** The sign before a change, for readers who do not see its colour. */
export const MARK = { worse: "▲", better: "▼", other: "◆" };

/** A change with its sign. */
export function signed(nanoseconds: number): string {
  // Less than half a nanosecond is a rounding error.
  if (Math.abs(nanoseconds) < 0.5) return "0";
  return `${nanoseconds > 0 ? "+" : ""}${duration(nanoseconds)}`;
}

/** Two times, with one unit if both have the same; only one if both read the same. */
export function both([before, after]: readonly [number | null, number | null]): string {
  const [one, other] = [duration(before), duration(after)];
  if (one === other) return one;
  const [number = "", unit] = one.split(" ");
  return unit !== undefined && unit === other.split(" ")[1] ? `${number} → ${other}` : `${one} → ${other}`;
}

/** A number of requests, as an integer if all are certain. */
export function requests(number: number): string {
  return Math.abs(number - Math.round(number)) < 0.05 ? count(number) : expected(number);
}

/** A node with its operation, unless its name already contains it. */
export function operation({ node, operation }: { node: string; operation: string }): string {
  if (!operation || operation === node) return node || "?";
  return node ? `${node} ${operation}` : operation;
}

export function partName({ kind, what }: Part): string {
  if (kind === "paths") return `${what} by other paths`;
  return kind === "mix" ? `more or fewer ${what}` : what;
}

/** A measure in both periods, and the parts of its change; null if there were no requests. */
export interface Measured {
  values: Pair;
  parts: Parts;
}

export function measured({ response, mean, quantiles }: Comparison, of: Measure): Measured | null {
  if (of === "mean") return { values: response.mean, parts: mean };
  const which = MEASURES.indexOf(of) - 1;
  const [values, parts] = [response.quantiles[which], quantiles[which]];
  return values && parts ? { values, parts } : null;
}

/** Whether all requests together became slower. */
export function verdict({ response, changed, periods }: Comparison): { word: string; css: string } {
  if (periods.some(({ requests }) => requests === 0)) return { word: "Nothing to compare", css: "" };
  const [before, after] = response.mean;
  if (response.is_changed || response.differs) {
    const [word, css] = after > before ? ["slower", "worse"] : ["faster", "better"];
    return { word: response.is_changed ? `${word[0]?.toUpperCase()}${word.slice(1)}` : `A little ${word}:`, css };
  }
  return { word: changed ? "About as fast on the whole" : "Chance explains all changes", css: "" };
}

/** The kind of a mutation, with its mark and colour. */
export function kindOf(row: { kind: MutationRow["kind"]; mean_ns: Pair }): { word: string; css: "worse" | "better" | "other" } {
  if (row.kind === "structural") return { word: "other path", css: "other" };
  const [before, after] = row.mean_ns;
  return after >= before ? { word: "slower", css: "worse" } : { word: "faster", css: "better" };
}
