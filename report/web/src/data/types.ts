// The shapes of the page's data, as `report/src/page` writes them. Times are in nanoseconds.

export interface Overview {
  source: string;
  /** When the trace begins, in milliseconds since the Unix epoch. */
  begin: number | null;
  span: number;
  /** How long it is in which the paths of this page may begin: the span, or a part of it. */
  window: number;
  messages: number;
  processes: number;
  /** How many requests and steps there are, where the paths are those of spans. */
  requests: number | null;
  steps: number | null;
  /** What else the directory has, and how to see it. */
  other: string | null;
  hosts: number;
  pattern_count: number;
  instances: number;
  expected_paths: number;
  total_time: number;
  sort: SortKey;
  /** Which part of the trace this is; empty where it is all of it. */
  filtered: string[];
  /** What could not be seen, and how often. */
  notes: { label: string; count: number }[];
  /** Whose messages were seen at one end only. */
  one_sided: {
    /** How many there are in all. */
    messages: number;
    /** Those with the most first; the others are left out. */
    between: OneSided[];
  };
  /** Whether there is a piece with the contexts of operations. */
  contexts: boolean;
  /** Whether it has what requests cost; left out where it has not. */
  workload?: boolean;
  /** How many patterns a piece of details has. */
  group: number;
  patterns: PatternColumns;
  map: SystemMap;
  series: Series;
  /** What the patterns ask for; left out where none says so. */
  operations?: Operations;
  names: string[];
}

/** What is asked for, a column each; those with the most errors first. Numbers are of calls that are expected to be real. */
export interface Operations {
  /** How long a slice is. */
  step: number;
  /** How many more there are. */
  omitted: number;
  /** What is asked for, by the number of a name. */
  name: number[];
  /** Who is asked, likewise. */
  node: number[];
  /** Whether paths begin with it. */
  root: boolean[];
  calls: number[];
  /** Calls whose answers say how they ended. */
  answered: number[];
  errors: number[];
  /** Slice, calls, those that were answered, those that failed, and so on. */
  series: number[][];
}

/** Messages between two nodes that were seen at one end only. */
export interface OneSided {
  from: string;
  to: string;
  protocol: string;
  /** The end that was not seen. */
  missing: "sending" | "receipt";
  /** Whether the node at that end was traced. */
  traced: boolean;
  messages: number;
  /** On how many flows. */
  flows: number;
  bytes: number;
}

export type SortKey = "total" | "count" | "expected" | "confidence" | "evidence" | "mean" | "p99";

/** A column each, by rank. */
export interface PatternColumns {
  id: number[];
  count: number[];
  expected: number[];
  max_probability: number[];
  mean: number[];
  p50: number[];
  p99: number[];
  total: number[];
  hops: number[];
  /** The number of the pattern that stands for all of the same hops. */
  family: number[];
  /** Twice the number of a node's name, plus one where the path goes on from the node before. */
  nodes: number[][];
  /** Ports and protocols, and what is asked for. */
  ports: number[][];
  /** What the root asks for, by the number of a name; left out where no pattern says so. */
  asked?: (number | null)[];
  /** The share of the instances whose root failed; left out where no pattern says so. */
  errors?: (number | null)[];
}

export interface SystemMap {
  nodes: { name: number; traced: boolean; expected: number; mean: number | null; time: number }[];
  edges: MapEdge[];
}

export interface MapEdge {
  from: number;
  to: number;
  port: number;
  protocol: string;
  there: number;
  back: number;
  network: number | null;
  untraced: number | null;
  /** The sums of all such delays. */
  network_time: number;
  untraced_time: number;
  /** The time for which its connections were made. */
  connect_time: number;
  bytes: number;
}

/** The whole trace, slice by slice. */
export interface Series {
  step: number;
  expected: number[];
  mean: (number | null)[];
  p50: (number | null)[];
  p99: (number | null)[];
}

/** Of "connect": how long the sender waited for a connection. */
export type Part = "node" | "network" | "untraced" | "connect";

/** A delay; the histogram is bin, weight, bin, weight: bin `b` goes from 2^(b/8) to 2^((b+1)/8). */
export interface Delay {
  mean: number;
  p50: number;
  p99: number;
  histogram: number[];
}

export interface HopDelay extends Delay {
  hop: number;
  part: Part;
  /** In which part of the instances there is such a delay, where that is not all. */
  share?: number;
}

export interface Details {
  id: number;
  hops: {
    parent: number[];
    src: number[];
    dst: number[];
    port: number[];
    /** 1 for a traced sender, 2 for a traced receiver. */
    traced: number[];
    bytes: number[];
    sent: number[];
    received: number[];
    /** The share of the calls that failed, of answers that say so; left out where none does. */
    errors?: (number | null)[];
  };
  omitted: number;
  critical: { hop: number; part: Part } | null;
  /** Hop, what is drawn before it, how many calls it lies within. */
  tree: [number, string, number][];
  duration: Delay;
  delays: HopDelay[];
  /** Slice, expected paths, mean duration, and so on. */
  series: number[];
  instances: Instance[];
}

export interface Instance {
  path: number;
  probability: number;
  /** When its root was sent, since the trace began. */
  at: number;
  duration: number;
  /** By hop, since the sending of the root. */
  sent: (number | null)[];
  received: (number | null)[];
  /** The hops of which the sender waited for a connection, each with how long. */
  connecting?: [number, number][];
}

export type Order = "slowest" | "time" | "likely";

/** Some instances of a pattern in an order, and how many there are to step through. */
export interface InstancePage {
  from: number;
  all: number;
  instances: Instance[];
}
