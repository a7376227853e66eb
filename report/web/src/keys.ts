// Keyboard actions of the page. Keys in fields and with a modifier are ignored.

import { LEVELS } from "./data/contexts";
import { choose, chooseLevel, chooseOperation, chooseRequest, context, instance, operation, order, query, tab, TABS } from "./state";
import { NEXT, theme } from "./theme";
import { type Signal, signal } from "@preact/signals";

/** Whether the help is shown. */
export const help = signal(false);

export const KEYS: [string, string][] = [
  ["1 2 3 4 5", "patterns, map, over time, clocks and gaps, contexts"],
  ["/", "search the patterns, or operations"],
  ["j k  ↓ ↑", "next and previous pattern, or operation"],
  ["n p", "next and previous instance of the pattern, or context of the operation"],
  ["a", "the pattern on average again"],
  ["o", "another order of the instances"],
  ["r", "rank the patterns, or operations, by something else"],
  ["l", "another kind of contexts"],
  ["t", "light, dark, or the system's setting"],
  ["Esc", "close this help, end the search, leave the pattern"],
  ["?", "this help"],
];

/** The keys of a page with the costs of requests. */
export const KEYS_OF_REQUESTS: [string, string][] = KEYS.map(([key, what]) =>
  key.startsWith("1 ") ? [`${key} 6`, `${what}, requests`] : key === "n p" ? [key, `${what}, or cluster`] : [key, what],
);

/** Keys of every page. */
const SHARED_ACTIONS: Record<string, () => void> = {
  t: () => (theme.value = NEXT[theme.value]),
  "?": () => (help.value = !help.value),
};

/**
 * Handles keys from now on: digits select a tab, Escape leaves the innermost thing that is open,
 * and the others are those of `actions` and of every page.
 */
export function handleKeys<Name extends string>(
  actions: Record<string, () => void>,
  escape: () => void,
  tabs: readonly Name[],
  tab: Signal<Name>,
): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape" && !help.value) return escape();
    if (event.key === "Escape") {
      help.value = false;
      return;
    }
    const target = event.target;
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
    const name = tabs[Number(event.key) - 1];
    // A page need not have all tabs.
    const isThere = name && document.getElementById(`tab-${name}`);
    const action = isThere ? () => (tab.value = name) : (actions[event.key] ?? SHARED_ACTIONS[event.key]);
    if (!action) return;
    event.preventDefault();
    action();
  });
}

/** Passes a key to the list of the page. */
export function moveInList(key: string): void {
  const list = document.querySelector<HTMLElement>("#panel [role=listbox]");
  list?.focus({ preventScroll: true });
  list?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

function press(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.click();
}

function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

/** Whether the tab has a list. */
function hasList(): boolean {
  return tab.value === "patterns" || tab.value === "contexts";
}

/** Opens the next context of the operation, or the one before. */
function moveContext(by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>("[data-context]")];
  const open = all.findIndex((one) => one.getAttribute("aria-expanded") === "true");
  const next = all[open < 0 ? (by > 0 ? 0 : -1) : open + by];
  next?.click();
  next?.scrollIntoView({ block: "nearest" });
}

/** Shows the request of the next cluster, or of the one before. */
function moveCluster(by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>("[data-cluster]")];
  const open = all.findIndex((one) => one.getAttribute("aria-pressed") === "true");
  const next = all[Math.min(Math.max(open + by, 0), all.length - 1)];
  if (next && next !== all[open]) next.click();
  next?.scrollIntoView({ block: "nearest" });
}

function step(by: number): void {
  if (tab.value === "contexts") moveContext(by);
  else if (tab.value === "requests") moveCluster(by);
  else press(`.instances [aria-label="${by > 0 ? "Next" : "Previous"} instance"]`);
}

function move(key: string): void {
  if (!hasList()) {
    tab.value = "patterns";
    // The list exists once it is drawn.
    requestAnimationFrame(() => move(key));
    return;
  }
  moveInList(key);
}

function escape(): void {
  if (tab.value === "contexts") escapeContexts();
  else if (tab.value === "requests") chooseRequest(null);
  else if (document.activeElement instanceof HTMLInputElement && !query.value) document.activeElement.blur();
  else if (query.value) query.value = "";
  else if (instance.value !== null) instance.value = null;
  else choose(null);
}

function escapeContexts(): void {
  const field = document.activeElement;
  // The browser itself clears a search field.
  if (field instanceof HTMLInputElement) {
    if (!field.value) field.blur();
  } else if (context.value !== null) context.value = null;
  else if (operation.value !== null) chooseOperation(null);
}

const ORDERS = ["slowest", "time", "likely"] as const;

const ACTIONS: Record<string, () => void> = {
  "/": () => {
    const field = "#panel input[type=search]";
    if (hasList()) return focus(field);
    tab.value = "patterns";
    // The field exists once it is drawn.
    requestAnimationFrame(() => focus(field));
  },
  j: () => move("ArrowDown"),
  k: () => move("ArrowUp"),
  n: () => step(1),
  p: () => step(-1),
  a: () => (instance.value = null),
  o: () => {
    order.value = ORDERS[(ORDERS.indexOf(order.value) + 1) % ORDERS.length] ?? "slowest";
    if (instance.value !== null) instance.value = 0;
  },
  r: () => {
    const select = document.querySelector<HTMLSelectElement>(".list select");
    if (!select) return;
    select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
    select.dispatchEvent(new Event("change", { bubbles: true }));
  },
  l: () => {
    const shown = document.querySelector<HTMLElement>(".levels [aria-pressed=true]")?.dataset.level;
    const next = LEVELS[(LEVELS.findIndex((one) => one === shown) + 1) % LEVELS.length];
    if (shown && next) chooseLevel(next);
  },
};

export function followKeys(): void {
  handleKeys(ACTIONS, escape, TABS, tab);
}
