// What the reader of a comparison is looking at. All of it is in the address.

import { batch, signal } from "@preact/signals";
import { keepAddress } from "../address";

export const TABS = ["answer", "mutations", "map"] as const;
export type Tab = (typeof TABS)[number];
export const MEASURES = ["mean", "p50", "p95", "p99"] as const;
export type Measure = (typeof MEASURES)[number];
export const RANKS = ["contribution", "change", "requests"] as const;
export type Rank = (typeof RANKS)[number];

/** Which page of the comparison. */
export const tab = signal<Tab>("answer");
/** Of what the change is taken apart; null: the one that says most. */
export const measure = signal<Measure | null>(null);
/** The mutation that is shown, counted from 1; null: the first of the list. */
export const mutation = signal<number | null>(null);
/** Beside which of its originators, counted from 1. */
export const originator = signal(1);
/** Whether all steps of it are listed, not those alone that changed. */
export const whole = signal(false);
/** What the mutations are ranked by. */
export const rank = signal<Rank>("contribution");
/** What is searched for. */
export const query = signal("");
/** The node of the map whose lines alone are shown. */
export const node = signal<string | null>(null);

function one<Value extends string>(values: readonly Value[], text: string | null): Value | null {
  return values.find((value) => value === text) ?? null;
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;
}

/** The address for what is looked at, behind its `#`. */
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

/** Looks at what the address says; what it does not know it leaves out. */
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

/** Shows a mutation, of which nothing was chosen yet. */
export function choose(number: number | null): void {
  batch(() => {
    mutation.value = number;
    originator.value = 1;
  });
}

/** Keeps address and state alike. Another tab or mutation is a step that "back" undoes; the rest is not. */
export function followComparison(): void {
  keepAddress({ address, look, step: () => `${tab.value} ${mutation.value}`, first: "answer" });
}
