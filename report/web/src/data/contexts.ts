// The shapes of the piece with the contexts of operations, as `report/src/page/contexts` writes it.
// Times are in nanoseconds. A response time counts as often as its request is expected to be real.

/** The kinds of contexts, the coarsest first. */
export const LEVELS = ["caller", "stack", "trace"] as const;
export type Level = (typeof LEVELS)[number];

export interface Contexts {
  /** How many requests were profiled, and how many of them have lost their root. */
  requests: number;
  torn: number;
  /** How many executions of operations they have, and how many of those have a response time. */
  steps: number;
  timed: number;
  /** How many operations there are; the page has the first of them. */
  operation_count: number;
  class_count: number;
  context_counts: Record<Level, number>;
  /** Average standard deviation of an operation, and the share of it that is gone within contexts. */
  deviation: number;
  decrease: Record<Level, number>;
  /** Whether hosts tell operations apart. */
  by_host: boolean;
  /** Those first of which context explains most. */
  operations: Operation[];
  /** Classes of traces that contexts are of, the most frequent ones. */
  classes: TraceClass[];
  /** The names of the operations of classes. */
  names: string[];
  /** Commands that show what this page has no room for. */
  commands: Commands;
}

export interface Commands {
  /** Shows all contexts. */
  contexts: string;
  /** Shows all instances of patterns; null where the page has them itself. */
  instances: string | null;
  /** Prints the steps of all requests as CSV, with the request's number first. */
  steps: string;
}

/** Executions of an operation. */
export interface Summary {
  count: number;
  timed: number;
  failed?: number;
  /** How many went on after their caller had ended. */
  outliving?: number;
  /** None where no execution has a response time. */
  times?: Times;
}

export interface Times {
  weight: number;
  mean: number;
  deviation: number;
  min: number;
  q1: number;
  median: number;
  q3: number;
  max: number;
  /** Null where there are too few to tell. */
  modes: number | null;
  /** Weight in each bin of the operation; empty where there are too few. */
  histogram: number[];
  /** From the slowest to the fastest. */
  examples: Example[];
}

/** A request: its number, how long the operation took in it, and the numbers of its path pattern and of its path, or -1. */
export type Example = [request: number, time: number, pattern: number, path: number];

/** Bins: bin `b` begins at `first` times `ratio` to the power of `b`. */
export interface Bins {
  first: number;
  ratio: number;
  count: number;
}

export interface Operation extends Summary {
  id: number;
  name: string;
  bins: Bins | null;
  explained: Record<Level, Explained>;
  /** Which contexts make it slow, or that none does. */
  sentence: string;
  /** The kind of contexts that the sentence is about; null where no context makes it slow. */
  reason: Level | null;
  contexts: Record<Level, OfLevel>;
}

export interface Explained {
  /** Average standard deviation within the contexts. */
  deviation: number;
  /** The share of the standard deviation that is gone within them. */
  share: number;
  /** The same beyond what as many contexts take away by chance. */
  beyond_chance: number;
}

/** The contexts of one kind: those that make the operation slow, then those with the most calls. */
export interface OfLevel {
  /** How many there are in all, and how many calls those have that are left out. */
  all: number;
  left_calls: number;
  shown: Context[];
}

export interface Context extends Summary {
  id: number;
  name: string;
  /** Whether it makes the operation slow. */
  slow?: boolean;
  /** Of a trace-context: the class of traces, and the step in it. */
  class?: number;
  step?: number;
}

/** A class of traces. */
export interface TraceClass {
  number: number;
  requests: number;
  caller: string;
  /** In depth-first order: depth, number of the operation's name, how many equal concurrent calls it
   * stands for, and the first step of those that it is concurrent with. */
  steps: [depth: number, name: number, times: number, group: number][];
  /** How many further steps are left out. */
  left: number;
}
