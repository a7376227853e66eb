// What the reader is looking at. All of it is in the address, so that a link leads to the same view
// and "back" goes back.

import { batch, signal } from "@preact/signals";
import { keepAddress } from "./address";
import { type Level, LEVELS } from "./data/contexts";
import type { Order, Part, SortKey } from "./data/types";

export const TABS = ["patterns", "map", "time", "clocks", "contexts", "requests"] as const;
export type Tab = (typeof TABS)[number];
const ORDERS = ["slowest", "time", "likely"] as const;

/** Which page of the report. */
export const tab = signal<Tab>("patterns");
/** The number of the pattern that is shown. */
export const pattern = signal<number | null>(null);
/** What the patterns are ranked by; null: as the page was made. */
export const sort = signal<SortKey | null>(null);
/** What is searched for. */
export const query = signal("");
/** The families of patterns that are open, each by the number of the pattern that stands for it. */
export const open = signal<ReadonlySet<number>>(new Set());
/** The delay of which the distribution is shown; null: how long the paths took. */
export const delay = signal<{ hop: number; part: Part } | null>(null);
/** Which instance is shown instead of the average, counted from 0. */
export const instance = signal<number | null>(null);
export const order = signal<Order>("slowest");
/** The number of the operation whose contexts are shown. */
export const operation = signal<number | null>(null);
/** The kind of its contexts that is shown; null: the one that tells most. */
export const level = signal<Level | null>(null);
/** The number of the context whose requests are shown. */
export const context = signal<number | null>(null);
/** The number of the request whose steps and threads are shown; null: the one that stands for the largest cluster. */
export const request = signal<number | null>(null);

/** The place of the operation whose calls and errors are shown over time; null: those of all requests. */
export const asked = signal<number | null>(null);

const SORT_KEYS: SortKey[] = ["total", "count", "expected", "confidence", "evidence", "mean", "p99"];
const PARTS: Part[] = ["node", "network", "untraced", "connect"];

function one<Value extends string>(values: readonly Value[], text: string | null): Value | null {
  return values.find((value) => value === text) ?? null;
}

function whole(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The address for what is looked at, behind its `#`. */
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

/** Looks at what the address says; what it does not know it leaves out. */
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

/** Chooses a pattern, of which nothing was chosen yet. */
export function choose(id: number | null): void {
  batch(() => {
    pattern.value = id;
    delay.value = null;
    instance.value = null;
  });
}

/** Chooses an operation, of which nothing was chosen yet. */
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

/** Chooses the request whose steps and threads are shown. */
export function chooseRequest(id: number | null): void {
  request.value = id;
}

/** What "back" goes back over. */
function step(): string {
  return `${tab.value} ${pattern.value} ${operation.value} ${request.value}`;
}

/** Keeps address and state alike. Another tab, pattern, operation or request is a step that "back" undoes; the rest is not. */
export function followAddress(): void {
  keepAddress({ address, look, step, first: "patterns" });
}
