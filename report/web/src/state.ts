// The state of the reader's view. All of it is in the address, so that a link leads to the same
// view and "back" goes back.

import { batch, signal } from "@preact/signals";
import { keepAddress } from "./address";
import { type Level, LEVELS } from "./data/contexts";
import type { Order, Part, SortKey } from "./data/types";

export const TABS = ["patterns", "map", "time", "clocks", "contexts", "requests"] as const;
export type Tab = (typeof TABS)[number];
const ORDERS = ["slowest", "time", "likely"] as const;

/** The selected page of the report. */
export const tab = signal<Tab>("patterns");
/** The number of the pattern that is shown. */
export const pattern = signal<number | null>(null);
/** The ranking of the patterns; null: the page's own. */
export const sort = signal<SortKey | null>(null);
/** The search text. */
export const query = signal("");
/** The open families of patterns, each by the number of the pattern that represents it. */
export const open = signal<ReadonlySet<number>>(new Set());
/** The delay with the distribution to show; null: the duration of the paths. */
export const delay = signal<{ hop: number; part: Part } | null>(null);
/** The instance that is shown instead of the average, counted from 0. */
export const instance = signal<number | null>(null);
export const order = signal<Order>("slowest");
/** The number of the operation with the contexts to show. */
export const operation = signal<number | null>(null);
/** The kind of its contexts that is shown; null: the most informative one. */
export const level = signal<Level | null>(null);
/** The number of the context with the requests to show. */
export const context = signal<number | null>(null);
/** The number of the request with the steps and threads to show; null: the representative of the largest cluster. */
export const request = signal<number | null>(null);

/** The index of the operation with the calls and errors to show over time; null: all requests. */
export const asked = signal<number | null>(null);

const SORT_KEYS: SortKey[] = ["total", "count", "expected", "confidence", "evidence", "mean", "p99"];
const PARTS: Part[] = ["node", "network", "untraced", "connect"];

function one<Value extends string>(values: readonly Value[], text: string | null): Value | null {
  return values.find((value) => value === text) ?? null;
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The address of the current view, after its `#`. */
export function address(): string {
  const said = new URLSearchParams();
  if (pattern.value !== null) said.set("pattern", String(pattern.value));
  if (sort.value) said.set("sort", sort.value);
  if (query.value) said.set("search", query.value);
  if (delay.value) said.set("delay", `${delay.value.hop}.${delay.value.part}`);
  if (instance.value !== null) said.set("instance", String(instance.value));
  if (order.value !== "slowest") said.set("order", order.value);
  if (operation.value !== null) said.set("operation", String(operation.value));
  if (level.value) said.set("level", level.value);
  if (context.value !== null) said.set("context", String(context.value));
  if (request.value !== null) said.set("request", String(request.value));
  if (asked.value !== null) said.set("asked", String(asked.value));
  const text = said.toString();
  return tab.value + (text ? `?${text}` : "");
}

/** Shows the view of an address; unknown parts are ignored. */
export function look(text: string): void {
  batch(() => lookAt(text));
}

function lookAt(text: string): void {
  const [name = "", rest = ""] = text.split("?", 2);
  const said = new URLSearchParams(rest);
  tab.value = one(TABS, name) ?? "patterns";
  pattern.value = whole(said.get("pattern"));
  sort.value = one(SORT_KEYS, said.get("sort"));
  query.value = said.get("search") ?? "";
  instance.value = whole(said.get("instance"));
  order.value = one(ORDERS, said.get("order")) ?? "slowest";
  operation.value = whole(said.get("operation"));
  level.value = one(LEVELS, said.get("level"));
  context.value = whole(said.get("context"));
  request.value = whole(said.get("request"));
  asked.value = whole(said.get("asked"));
  const [hop = null, word = null] = said.get("delay")?.split(".") ?? [];
  const [number, part] = [whole(hop), one(PARTS, word)];
  delay.value = number !== null && part ? { hop: number, part } : null;
}

/** Opens the family of that number, or closes it. */
export function toggle(family: number): void {
  const next = new Set(open.value);
  if (!next.delete(family)) next.add(family);
  open.value = next;
}

/** Selects a pattern, without any selection within it. */
export function choose(id: number | null): void {
  batch(() => {
    pattern.value = id;
    delay.value = null;
    instance.value = null;
  });
}

/** Selects an operation, without any selection within it. */
export function chooseOperation(id: number | null): void {
  batch(() => {
    operation.value = id;
    level.value = null;
    context.value = null;
  });
}

/** Shows the contexts of another kind. */
export function chooseLevel(next: Level): void {
  batch(() => {
    level.value = next;
    context.value = null;
  });
}

/** Selects the request with the steps and threads to show. */
export function chooseRequest(id: number | null): void {
  request.value = id;
}

/** The state that "back" returns over. */
function step(): string {
  return `${tab.value} ${pattern.value} ${operation.value} ${request.value}`;
}

/**
 * Keeps address and state in step. Another tab, pattern, operation or request is a step that "back"
 * undoes; the rest is not.
 */
export function followAddress(): void {
  keepAddress({ address, look, step, first: "patterns" });
}
