// Source of the page's data: what is asked of it, wherever the data is.

import type { Contexts } from "./contexts";
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
