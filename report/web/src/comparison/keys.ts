// Keyboard actions of the page of a comparison. Keys in fields and with a modifier are ignored.

import { handleKeys, moveInList } from "../keys";
import { choose, node, query, RANKS, rank, tab, TABS, whole } from "./state";

export const KEYS: [string, string][] = [
  ["1 2 3", "answer, mutations, map"],
  ["/", "search the mutations"],
  ["j k  ↓ ↑", "next and previous mutation"],
  ["m", "the parts of another measure: mean, p50, p95, p99"],
  ["o", "compare with another originator"],
  ["a", "all steps, or only the changed ones"],
  ["r", "rank the mutations by something else"],
  ["t", "light, dark, or the system's setting"],
  ["Esc", "close this help, end the search, leave the mutation or the node"],
  ["?", "this help"],
];

/** Acts on the list of mutations, which exists once it is drawn. */
function onList(act: () => void): void {
  if (tab.value === "mutations") return act();
  tab.value = "mutations";
  requestAnimationFrame(act);
}

function move(key: string): void {
  onList(() => moveInList(key));
}

/** Presses the button after the pressed one in a group of buttons. */
function pressNext(group: string): void {
  const all = [...document.querySelectorAll<HTMLButtonElement>(`${group} button:not(:disabled)`)];
  const pressed = all.findIndex((one) => one.getAttribute("aria-pressed") === "true");
  all[(pressed + 1) % all.length]?.click();
}

function escape(): void {
  if (document.activeElement instanceof HTMLInputElement && !query.value) document.activeElement.blur();
  else if (tab.value === "mutations" && query.value) query.value = "";
  else if (tab.value === "mutations") choose(null);
  else if (tab.value === "map") node.value = null;
}

const ACTIONS: Record<string, () => void> = {
  "/": () => onList(() => document.querySelector<HTMLElement>("#panel input[type=search]")?.focus()),
  j: () => move("ArrowDown"),
  k: () => move("ArrowUp"),
  m: () => pressNext("#measures"),
  o: () => pressNext("#originators"),
  a: () => (whole.value = !whole.value),
  r: () => (rank.value = RANKS[(RANKS.indexOf(rank.value) + 1) % RANKS.length] ?? "contribution"),
};

export function followComparisonKeys(): void {
  handleKeys(ACTIONS, escape, TABS, tab);
}
