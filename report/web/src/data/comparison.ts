// The shapes of the data of a comparison, as `report/src/page/comparison.rs` and
// `crates/compare/src/output` write them, and where a page has it. Times are in nanoseconds; two values are
// those before and after.

import { piece } from "./embedded";
import { memoize } from "./memoize";

export type Pair = [before: number, after: number];

/** Response times of both periods in the same buckets. */
export interface Distribution {
  /** One more than there are buckets. */
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

/** A part of a change: another time of a hop, other paths, or another mix of requests. */
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
  /** Empty where it is not known. */
  caller: string;
  node: string;
  calls: Pair;
  network_ns: [number | null, number | null];
  changed: Change | null;
}

/** A mutation as the list has it. */
export interface MutationRow {
  kind: "response_time" | "structural";
  contribution_ns: number;
  /** Of a structural mutation: its shares of its kind's requests. */
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
  /** Mean times on the critical path: those of all places together are the mean response time. */
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
  /** What tells its requests from those of the first originator, or from its own before. */
  explanation?: { requests: Pair; sentences: { text: string; shares: Pair }[] };
}

export interface Comparison {
  periods: [Period, Period];
  /** What makes the comparison say little, in words. */
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
  /** How many mutations a piece of details has. */
  group: number;
  mutations: MutationRow[];
}

export interface ComparisonSource {
  comparison(): Promise<Comparison>;
  /** The mutation of that rank, counted from 0. */
  mutation(rank: number): Promise<Mutation>;
}

/** The data that the page has with it. */
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
