// Interface to the page's data, wherever it is stored.

import type { Contexts } from "./contexts";
import type { Details, InstancePage, Order, Overview } from "./types";
import type { Workload } from "./workload";

export interface Source {
  /** The data that is shown before a pattern is selected. */
  overview(): Promise<Overview>;
  /** The details of the pattern at `rank`. */
  details(rank: number): Promise<Details>;
  /** Some instances of the pattern at `rank`, from the one at `from` in that order. */
  instances(rank: number, order: Order, from: number): Promise<InstancePage>;
  /**
   * The index of the path among the instances of the pattern at `rank`, counted from 0 in that
   * order; null if it is not among them.
   */
  place(rank: number, order: Order, path: number): Promise<number | null>;
  /** The contexts of operations. */
  contexts(): Promise<Contexts>;
  /** The costs of requests. */
  workload(): Promise<Workload>;
}
