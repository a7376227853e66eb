// What the keyboard does wherever the reader is, and where it does nothing: in fields, and with a
// modifier.

import { choose, instance, order, query, sort, tab, TABS } from "./state";
import { NEXT, theme } from "./theme";
import { signal } from "@preact/signals";

/** Whether the help is shown. */
export const help = signal(false);

export const KEYS: [string, string][] = [
  ["1 2 3 4", "patterns, map, over time, clocks and holes"],
  ["/", "search the patterns"],
  ["j k  ↓ ↑", "next and previous pattern"],
  ["n p", "next and previous instance of the pattern"],
  ["a", "the pattern on average again"],
  ["o", "another order of the instances"],
  ["r", "rank the patterns by something else"],
  ["t", "light, dark, or as the system has it"],
  ["Esc", "close this help, end the search, leave the pattern"],
  ["?", "this help"],
];

function press(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.click();
}

function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}

function move(key: string): void {
  if (tab.value !== "patterns") {
    tab.value = "patterns";
    // The list is there once it is drawn.
    requestAnimationFrame(() => move(key));
    return;
  }
  const list = document.querySelector<HTMLElement>("#patterns");
  list?.focus({ preventScroll: true });
  list?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

function escape(): void {
  if (help.value) help.value = false;
  else if (document.activeElement instanceof HTMLInputElement && !query.value) document.activeElement.blur();
  else if (query.value) query.value = "";
  else if (instance.value !== null) instance.value = null;
  else choose(null);
}

const ORDERS = ["slowest", "time", "likely"] as const;

const ACTIONS: Record<string, () => void> = {
  "/": () => {
    tab.value = "patterns";
    focus("#search");
    // On another tab the field is there once it is drawn.
    if (document.activeElement?.id !== "search") requestAnimationFrame(() => focus("#search"));
  },
  j: () => move("ArrowDown"),
  k: () => move("ArrowUp"),
  n: () => press('.instances [aria-label="Next instance"]'),
  p: () => press('.instances [aria-label="Previous instance"]'),
  a: () => (instance.value = null),
  o: () => {
    order.value = ORDERS[(ORDERS.indexOf(order.value) + 1) % ORDERS.length] ?? "slowest";
    if (instance.value !== null) instance.value = 0;
  },
  r: () => {
    const select = document.querySelector<HTMLSelectElement>("#sort");
    if (!select) return;
    const next = select.options[(select.selectedIndex + 1) % select.options.length];
    if (next) sort.value = next.value as typeof sort.value;
  },
  t: () => (theme.value = NEXT[theme.value]),
  "?": () => (help.value = !help.value),
};

export function followKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape") return escape();
    const target = event.target;
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) return;
    const number = TABS[Number(event.key) - 1];
    const action = number ? () => (tab.value = number) : ACTIONS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
