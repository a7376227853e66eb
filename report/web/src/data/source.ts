// Where the page's data comes from: out of the page itself, or from the server that it was loaded
// from.

import type { Contexts } from "./contexts";
import { embedded } from "./embedded";
import { served } from "./served";
import type { Details, InstancePage, Order, Overview } from "./types";
import type { Workload } from "./workload";

export interface Source {
  /** All there is before a pattern is chosen. */
  overview(): Promise<Overview>;
  /** The details of the pattern at `rank`. */
  details(rank: number): Promise<Details>;
  /** Some instances of the pattern at `rank`, from the one at `from` in that order. */
  instances(rank: number, order: Order, from: number): Promise<InstancePage>;
  /** Which instance of the pattern at `rank`, counted from 0 in that order, the path of that number is; null if it is not there. */
  place(rank: number, order: Order, path: number): Promise<number | null>;
  /** The contexts of operations. */
  contexts(): Promise<Contexts>;
  /** What requests cost. */
  workload(): Promise<Workload>;
}

/** The source that the page says it has. */
export function source(): Source {
  return document.getElementById("app")?.dataset.source === "served" ? served() : embedded();
}

/** Remembers what a function found, and forgets what failed. */
export function remembered<Key, Value>(find: (key: Key) => Promise<Value>): (key: Key) => Promise<Value> {
  const known = new Map<Key, Promise<Value>>();
  return (key) => {
    let value = known.get(key);
    if (!value) {
      value = find(key);
      known.set(key, value);
      value.catch(() => known.delete(key));
    }
    return value;
  };
}
