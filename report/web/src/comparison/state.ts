// The state of the reader's view of a comparison. All of it is in the address.

import { batch, signal } from "@preact/signals";
import { keepAddress } from "../address";

export const TABS = ["answer", "mutations", "map"] as const;
export type Tab = (typeof TABS)[number];
export const MEASURES = ["mean", "p50", "p95", "p99"] as const;
export type Measure = (typeof MEASURES)[number];
export const RANKS = ["contribution", "change", "requests"] as const;
export type Rank = (typeof RANKS)[number];

/** The selected page of the comparison. */
export const tab = signal<Tab>("answer");
/** The measure of the change that is shown; null: the most informative one. */
export const measure = signal<Measure | null>(null);
/** The selected mutation, counted from 1; null: the first of the list. */
export const mutation = signal<number | null>(null);
/** The originator that the mutation is compared with, counted from 1. */
export const originator = signal(1);
/** Whether all steps of the mutation are listed, not only the changed ones. */
export const whole = signal(false);
/** The ranking of the mutations. */
export const rank = signal<Rank>("contribution");
/** The search text. */
export const query = signal("");
/** The selected node of the map, whose lines alone are bright; null: none. */
export const node = signal<string | null>(null);

function one<Value extends string>(values: readonly Value[], text: string | null): Value | null {
  return values.find((value) => value === text) ?? null;
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;
}

/** The address of the current view, after its `#`. */
export function address(): string {
  const said = new URLSearchParams();
  if (measure.value) said.set("measure", measure.value);
  if (mutation.value !== null) said.set("mutation", String(mutation.value));
  if (originator.value > 1) said.set("originator", String(originator.value));
  if (whole.value) said.set("steps", "all");
  if (rank.value !== "contribution") said.set("rank", rank.value);
  if (query.value) said.set("search", query.value);
  if (node.value !== null) said.set("node", node.value);
  const text = said.toString();
  return tab.value + (text ? `?${text}` : "");
}

/** Shows the view of an address; unknown parts are ignored. */
export function look(text: string): void {
  const at = text.indexOf("?");
  const [name, rest] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
  const said = new URLSearchParams(rest);
  batch(() => {
    tab.value = one(TABS, name) ?? "answer";
    measure.value = one(MEASURES, said.get("measure"));
    mutation.value = wholeNumber(said.get("mutation"));
    originator.value = wholeNumber(said.get("originator")) ?? 1;
    whole.value = said.get("steps") === "all";
    rank.value = one(RANKS, said.get("rank")) ?? "contribution";
    query.value = said.get("search") ?? "";
    node.value = said.get("node");
  });
}

/** Shows a mutation, without any selection within it. */
export function choose(number: number | null): void {
  batch(() => {
    mutation.value = number;
    originator.value = 1;
  });
}

/**
 * Keeps address and state in step. Another tab or mutation is a step that "back" undoes; the rest
 * is not.
 */
export function followComparison(): void {
  keepAddress({ address, look, step: () => `${tab.value} ${mutation.value}`, first: "answer" });
}
