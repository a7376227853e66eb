// The pieces of data in a page, read and written as report/src/html.rs does.

import { gunzipSync, gzipSync } from "node:zlib";
import type { Comparison, Mutation } from "../../src/data/comparison";
import type { Contexts } from "../../src/data/contexts";
import type { Details, Overview } from "../../src/data/types";
import type { Requests } from "../unit/made_contexts";

export function element(name: string, text = "([^<]*)"): string {
  return `<script type="application/octet-stream" id="${name}">${text}</script>`;
}

export function read<Value>(page: string, name: string): Value {
  const found = new RegExp(element(name)).exec(page)?.[1];
  if (found === undefined) throw new Error(`the page has no ${name}`);
  return JSON.parse(gunzipSync(Buffer.from(found, "base64")).toString());
}

export function piece(name: string, value: unknown): string {
  return element(name, gzipSync(JSON.stringify(value)).toString("base64"));
}

/** The instances of the first patterns of a page: their paths and patterns. */
export function instances(page: string): Requests {
  const details = read<Details[]>(page, "details-0");
  return details.flatMap(({ id, instances }) => instances.map(({ path }): [number, number] => [path, id]));
}

/** The page with these contexts, or none, instead of its own. */
export function withContexts(page: string, contexts: Contexts | null): string {
  const overview = { ...read<Overview>(page, "overview"), contexts: contexts !== null };
  const without = page.replace(new RegExp(element("contexts")), "");
  const pieces = piece("overview", overview) + (contexts ? piece("contexts", contexts) : "");
  return without.replace(new RegExp(element("overview")), () => pieces);
}

/** The page of a comparison with so many mutations: those that it has over and over again. */
export function withMutations(page: string, many: number): string {
  const comparison = read<Comparison>(page, "comparison");
  const mutations = read<Mutation[]>(page, "details-0");
  const again = <Value>(values: Value[], from: number, count: number) =>
    Array.from({ length: count }, (_, number) => values[(from + number) % values.length] as Value);
  const rows = again(comparison.mutations, 0, many).map((row, at) => ({ ...row, operation: `${row.operation} ${at + 1}` }));
  const pieces = [piece("comparison", { ...comparison, mutations: rows })];
  for (let from = 0; from < many; from += comparison.group) {
    pieces.push(piece(`details-${from / comparison.group}`, again(mutations, from, Math.min(comparison.group, many - from))));
  }
  const without = page.replace(new RegExp(element("details-\\d+"), "g"), "");
  return without.replace(new RegExp(element("comparison")), () => pieces.join(""));
}
