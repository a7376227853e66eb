// The shapes of the page's data, as `report/src/page` writes them. Times are in nanoseconds.

export interface Overview {
  source: string;
  /** The start of the trace, in milliseconds since the Unix epoch. */
  begin: number | null;
  span: number;
  /**
   * The length of the part in which the paths of this page may begin: the span, or a part of it.
   */
  window: number;
  messages: number;
  processes: number;
  /** The numbers of requests and steps, if the paths are from spans. */
  requests: number | null;
  steps: number | null;
  /** Other contents of the directory, and how to see them. */
  other: string | null;
  hosts: number;
  pattern_count: number;
  instances: number;
  expected_paths: number;
  total_time: number;
  sort: SortKey;
  /** The selected part of the trace; empty for the whole. */
  filtered: string[];
  /** What could not be seen, and how often. */
  notes: { label: string; count: number }[];
  /** What decided the causes of calls; left out if no service makes calls for requests. */
  evidence?: Evidence;
  /** Messages that were seen at one end only. */
  one_sided: {
    /** The number of these messages. */
    messages: number;
    /** The pairs with the most messages first; the others are left out. */
    between: OneSided[];
  };
  /** Whether there is a batch with the contexts of operations. */
  contexts: boolean;
  /** Whether there is a batch with the costs of requests; left out if not. */
  workload?: boolean;
  /** The number of patterns in a batch of details. */
  group: number;
  patterns: PatternColumns;
  map: SystemMap;
  series: Series;
  /** The operations of the patterns; left out if there are none. */
  operations?: Operations;
  names: string[];
}

/** What decided for which requests services made their calls. */
export interface Evidence {
  /** The kinds of evidence with their numbers of calls, the surest first. */
  decided: [kind: string, calls: number][];
  /** Reasons why calls are inferred. */
  limits: string[];
}

/** Operations, one column each; the ones with the most errors first. Numbers are expected numbers of real calls. */
export interface Operations {
  /** The length of a slice. */
  step: number;
  /** The number of omitted operations. */
  omitted: number;
  /** The operation, by the number of a name. */
  name: number[];
  /** The node that receives the request, by the number of a name. */
  node: number[];
  /** Whether paths begin with the operation. */
  root: boolean[];
  calls: number[];
  /** Calls with a known outcome. */
  answered: number[];
  errors: number[];
  /** Slice, calls, answered calls, failed calls, and so on. */
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
  /** The number of flows of these messages. */
  flows: number;
  bytes: number;
}

export type SortKey = "total" | "count" | "expected" | "confidence" | "evidence" | "mean" | "p99";

/** One column each, by rank. */
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
  /** The number of the pattern that represents all patterns of the same hops. */
  family: number[];
  /** Twice the number of a node's name, plus one if the path continues from the preceding node. */
  nodes: number[][];
  /** Ports, protocols and operations. */
  ports: number[][];
  /** The operation of the root, by the number of a name; left out if no pattern has one. */
  asked?: (number | null)[];
  /** The share of the instances with a failed root; left out if no pattern has a known outcome. */
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
  /** The sums of all delays on the network, and of all times at an untraced node. */
  network_time: number;
  untraced_time: number;
  /** The sum of the times for which connections were made. */
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

/** "connect": the time that the sender waited for a connection. */
export type Part = "node" | "network" | "untraced" | "connect";

/** A delay; `distribution` in `src/pattern/histogram.ts` describes the list of the histogram. */
export interface Delay {
  mean: number;
  p50: number;
  p99: number;
  histogram: number[];
}

export interface HopDelay extends Delay {
  hop: number;
  part: Part;
  /** The share of the instances with such a delay, if not all have it. */
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
    /**
     * The share of failed calls among the responses with a known outcome; left out if there are
     * none.
     */
    errors?: (number | null)[];
  };
  omitted: number;
  critical: { hop: number; part: Part } | null;
  /** Hop, the guide characters before it, the number of calls around it. */
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
  /** The time at which its root was sent, since the start of the trace. */
  at: number;
  duration: number;
  /** By hop, since the sending of the root. */
  sent: (number | null)[];
  received: (number | null)[];
  /** The hops before which the sender waited for a connection, each with the time. */
  connecting?: [number, number][];
}

export type Order = "slowest" | "time" | "likely";

/** Some instances of a pattern in an order, and the number of all of them. */
export interface InstancePage {
  from: number;
  all: number;
  instances: Instance[];
}
