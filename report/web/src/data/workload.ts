// The shapes of the batch with the costs of requests, as `report/src/page/workload` writes it.
// Times are in nanoseconds.

/** Times by resource, in the order of `WAYS`; for a step, the time of its calls comes last. */
export type Spent = number[];

export interface Workload {
  requests: number;
  /** Processor time of the processes that served requests, and the share of it that was charged. */
  processor: number | null;
  charged: number | null;
  /** The error of the model, as shares; null if there was no demand. */
  error: { processor: number | null; disk: number | null; network: number | null };
  /** The clusters, the largest first. */
  clusters: Cluster[];
  /** The number of omitted clusters, and of their requests. */
  left: [clusters: number, requests: number];
  unusual: Unusual[];
  unusual_left: number;
  /** Example requests. */
  examples: Example[];
  /** The command that shows all costs. */
  command: string;
}

export interface Cluster {
  requests: number;
  share: number;
  names: [name: string, requests: number][];
  more_names: number;
  /** Mean duration, and the shortest and longest. */
  time: number;
  range: [number, number];
  spent: Spent;
  /** Mean bytes read from and written to files, sent, and received. */
  bytes: [files: number, sent: number, received: number];
  /** The number of the representative request. */
  representative: number;
  /** The distance to the nearest other cluster; null if there is none. */
  separation: number | null;
}

export interface Unusual {
  request: number;
  name: string;
  what: string;
}

/** A request; times are from its begin. */
export interface Example {
  request: number;
  name: string;
  time: number;
  /** In depth-first order. */
  steps: Step[];
  /** The number of omitted steps. */
  left: number;
  lanes: Lane[];
  wakes: Wake[];
  /** Whether threads, slices or hand-offs are omitted. */
  is_cut: boolean;
}

export interface Step {
  parent: number | null;
  name: string;
  /** The begin and the end of the step; null if they are not known. */
  time: [from: number, to: number] | null;
  /** Times by resource; null if they were not recorded. */
  spent: Spent | null;
}

/** A thread. */
export interface Lane {
  name: string;
  slices: Slice[];
}

/** A period in which a thread had one activity, by its index in `WAYS`, on a processor or -1. */
export type Slice = [from: number, to: number, way: number, processor: number];

/** A hand-off between two lanes. */
export type Wake = [by: number, signalled: number, to: number, woken: number];
