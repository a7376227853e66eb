// The shapes of the data of a comparison, as `report/src/page/comparison.rs` and
// `crates/compare/src/output` write them, and their source in a page. Times are in nanoseconds;
// pairs of values are before and after.

import { piece } from "./embedded";
import { memoize } from "./memoize";

export type Pair = [before: number, after: number];

/** Response times of both periods in the same buckets. */
export interface Distribution {
  /** One more than the number of buckets. */
  bounds_ns: number[];
  shares: [number[], number[]];
}

export interface Period {
  name: string;
  requests: number;
  expected: number;
  torn: number;
  first: number | null;
  last: number | null;
}

/** A part of a change: a different time of a hop, other paths, or another mix of requests. */
export interface Part {
  kind: "hop" | "paths" | "mix";
  what: string;
  ns: number;
}

export interface Parts {
  total_ns: number;
  parts: Part[];
}

export interface Evidence {
  what: string;
  caller: string;
  node: string;
  operation: string;
  weight: number;
  /** Whether chance does not explain it. */
  is_sure: boolean;
  sentence: string;
}

export interface Suspect {
  node: string;
  weight: number;
  share: number;
  evidence: Evidence[];
}

export type Change = "worse" | "better" | "other";

export interface MapNode {
  node: string;
  executions: Pair;
  own_ns: Pair;
  changed: Change | null;
}

export interface MapEdge {
  /** Empty if it is not known. */
  caller: string;
  node: string;
  calls: Pair;
  network_ns: [number | null, number | null];
  changed: Change | null;
}

/** A mutation as shown in the list. */
export interface MutationRow {
  kind: "response_time" | "structural";
  contribution_ns: number;
  /** For a structural mutation: its shares of the requests of its kind. */
  shares?: Pair;
  node: string;
  operation: string;
  steps: number;
  counts: Pair;
  mean_ns: Pair;
  through: string[];
}

/** A step of the requests of a category. */
export interface Place {
  parent: number | null;
  depth: number;
  node: string;
  operation: string;
  failed: boolean;
  repeated: boolean;
  /** Whether it runs at the same time as the sibling before it. */
  concurrent: boolean;
  /** Mean times on the critical path: they add up to the mean response time over all places. */
  own_ns: Pair;
  network_ns: Pair;
}

export interface Tree {
  category: string;
  caller: string;
  counts: Pair;
  mean_ns: Pair;
  squared_variation: [number | null, number | null];
  distribution: Distribution;
  places: Place[];
}

export interface Hop {
  place: number;
  what: "own" | "network";
  mean_ns: Pair;
  adjusted: number;
}

export interface Originator {
  tree: Tree;
  distance: number;
  parting: Pair;
}

export interface Mutation {
  kind: MutationRow["kind"];
  contribution_ns: number;
  adjusted: number;
  shares?: Pair;
  tree: Tree;
  hops: Hop[];
  originators: Originator[];
  /**
   * The differences between its requests and the requests of the first originator, or its own
   * before.
   */
  explanation?: { requests: Pair; sentences: { text: string; shares: Pair }[] };
}

export interface Comparison {
  periods: [Period, Period];
  /** The reasons not to rely on the comparison, in words. */
  doubts: string[];
  changed: boolean;
  response: { mean: Pair; quantiles: [Pair | null, Pair | null, Pair | null]; adjusted: number; differs: boolean; is_changed: boolean };
  distribution: Distribution;
  map: { nodes: MapNode[]; edges: MapEdge[] };
  mean: Parts;
  quantiles: [Parts | null, Parts | null, Parts | null];
  suspects: Suspect[];
  faster: Suspect[];
  categories: number;
  large: [Pair, Pair];
  /** The number of mutations in a batch of details. */
  group: number;
  mutations: MutationRow[];
}

export interface ComparisonSource {
  comparison(): Promise<Comparison>;
  /** The mutation of that rank, counted from 0. */
  mutation(rank: number): Promise<Mutation>;
}

/** The data embedded in the page. */
export function embeddedComparison(): ComparisonSource {
  const comparison = memoize((_: 0) => piece<Comparison>("comparison"));
  const group = memoize((number: number) => piece<Mutation[]>(`details-${number}`));
  return {
    comparison: () => comparison(0),
    async mutation(rank) {
      const size = (await comparison(0)).group;
      const found = (await group(Math.floor(rank / size)))[rank % size];
      if (!found) throw new Error(`this page has no mutation at rank ${rank + 1}`);
      return found;
    },
  };
}
