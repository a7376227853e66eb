// The shapes of the piece with what requests cost, as `report/src/page/workload` writes it. Times are
// in nanoseconds.

/** Times by what they were spent on, in the order of `WAYS`; those of a step have that of its calls last. */
export type Spent = number[];

export interface Workload {
  requests: number;
  /** Processor time of the processes that served requests, and the share of it that was charged. */
  processor: number | null;
  charged: number | null;
  /** The error of the model, as shares; null where nothing was demanded. */
  error: { processor: number | null; disk: number | null; network: number | null };
  /** The largest one first. */
  clusters: Cluster[];
  /** How many clusters are left out, and of how many requests. */
  left: [clusters: number, requests: number];
  unusual: Unusual[];
  unusual_left: number;
  /** Requests to look at. */
  examples: Example[];
  /** The command that shows all of it. */
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
  /** The number of the request that stands for it. */
  representative: number;
  /** How far the nearest other cluster is; null where there is none. */
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
  /** How many further steps are left out. */
  left: number;
  lanes: Lane[];
  wakes: Wake[];
  /** Whether threads, slices or hand-offs are left out. */
  is_cut: boolean;
}

export interface Step {
  parent: number | null;
  name: string;
  /** Null where it is not known. */
  time: [from: number, to: number] | null;
  /** Null where it was not recorded. */
  spent: Spent | null;
}

/** A thread. */
export interface Lane {
  name: string;
  slices: Slice[];
}

/** A time in which a thread did one thing, by its place in `WAYS`, on a processor or -1. */
export type Slice = [from: number, to: number, way: number, processor: number];

/** A hand-off between two lanes. */
export type Wake = [by: number, signalled: number, to: number, woken: number];
