// The batches of data in a page, read and written as report/src/html.rs does.

import { gunzipSync, gzipSync } from "node:zlib";
import type { Comparison, Mutation } from "../../src/data/comparison";
import type { Contexts } from "../../src/data/contexts";
import type { Details, Overview } from "../../src/data/types";
import type { Workload } from "../../src/data/workload";
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

/** The page of a comparison with this number of mutations: its own, repeated. */
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

/** The page of a recording with a first cluster and example that are as long and wide as possible: hostile names, deep steps, many threads that wake each other, and omitted parts. */
export function withMoreCosts(page: string): string {
  const costs = read<Workload>(page, "workload");
  const [cluster, ...clusters] = costs.clusters;
  const [example, ...examples] = costs.examples;
  if (!cluster || !example) throw new Error("the page has no requests");
  const name = "<script>alert(1)</script>-a-service-with-a-very-long-name-of-one-word:65535";
  const time = 1_000_000;
  const steps = Array.from({ length: 30 }, (_, place) => ({
    parent: place === 0 ? null : place - 1,
    name: `${name} ${place}`,
    time: place === 29 ? null : ([place * 10_000, time - place * 10_000] as [number, number]),
    spent: place === 28 ? null : [1, 2, 3, 4, 5, 6, 7, 8].map((part) => part * 100),
  }));
  const lanes = Array.from({ length: 24 }, (_, lane) => ({
    name: `host-${lane} 123456/${lane}`,
    slices: Array.from({ length: 40 }, (_, slice) => [slice * 25_000, slice * 25_000 + 20_000, slice % 7, slice % 7 ? -1 : lane % 3] as [number, number, number, number]),
  }));
  const wakes = Array.from({ length: 23 }, (_, lane) => [lane, lane * 40_000, lane + 1, lane * 40_000 + 9_000] as [number, number, number, number]);
  const more: Workload = {
    ...costs,
    clusters: [{ ...cluster, names: [[name, 3], ["", 2]], more_names: 7, spent: [7, 6, 5, 4, 3, 2, 1].map((part) => part * 1e6), bytes: [1e9, 1e6, 1] }, ...clusters],
    left: [3, 1234],
    unusual: [{ request: cluster.representative, name, what: `${name} of it` }, { request: 99_999, name: "b", what: "more" }],
    unusual_left: 5,
    examples: [{ ...example, request: cluster.representative, name, time, steps, left: 9, lanes, wakes, is_cut: true }, ...examples.filter(({ request }) => request !== cluster.representative)],
  };
  return page.replace(new RegExp(element("workload")), () => piece("workload", more));
}
