// The shapes of the batch with the contexts of operations, as `report/src/page/contexts` writes it.
// Times are in nanoseconds. A response time is weighted with the probability of its request.

/** The kinds of contexts, the coarsest first. */
export const LEVELS = ["caller", "stack", "trace"] as const;
export type Level = (typeof LEVELS)[number];

export interface Contexts {
  /** The number of profiled requests, and how many of them have lost their root. */
  requests: number;
  torn: number;
  /** The number of their executions of operations, and how many of these have a response time. */
  steps: number;
  timed: number;
  /** The number of operations; the page has the first of them. */
  operation_count: number;
  class_count: number;
  context_counts: Record<Level, number>;
  /** Average standard deviation of an operation, and the share of it that contexts explain. */
  deviation: number;
  decrease: Record<Level, number>;
  /** Whether operations are distinguished by host. */
  by_host: boolean;
  /** Operations in descending order of how much context explains. */
  operations: Operation[];
  /** The most frequent classes of traces that have contexts. */
  classes: TraceClass[];
  /** The names of the operations of classes. */
  names: string[];
  /** Commands that show data that this page has no room for. */
  commands: Commands;
}

export interface Commands {
  /** Shows all contexts. */
  contexts: string;
  /** Shows all instances of patterns; null if the page has them itself. */
  instances: string | null;
  /** Prints the steps of all requests as CSV, with the request's number first. */
  steps: string;
}

/** Executions of an operation. */
export interface Summary {
  count: number;
  timed: number;
  failed?: number;
  /** The number that ended after their caller had ended. */
  outliving?: number;
  /** Missing if no execution has a response time. */
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
  /** Null if there are too few times. */
  modes: number | null;
  /** Weight in each bin of the operation; empty if there are too few times. */
  histogram: number[];
  /** From the slowest to the fastest. */
  examples: Example[];
}

/**
 * A request: its number, the duration of the operation in it, and the numbers of its path pattern
 * and of its path, or -1.
 */
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
  /** The contexts that make it slow, or a statement that none does. */
  sentence: string;
  /** The kind of contexts that the sentence is about; null if no context makes it slow. */
  reason: Level | null;
  contexts: Record<Level, OfLevel>;
}

export interface Explained {
  /** Average standard deviation within the contexts. */
  deviation: number;
  /** The share of the standard deviation that they explain. */
  share: number;
  /** The share that they explain beyond the share that as many contexts explain by chance. */
  beyond_chance: number;
}

/**
 * The contexts of one kind: the ones that make the operation slow, then the ones with the most
 * calls.
 */
export interface OfLevel {
  /** The number of all contexts of this kind, and the number of calls of the omitted ones. */
  all: number;
  left_calls: number;
  shown: Context[];
}

export interface Context extends Summary {
  id: number;
  name: string;
  /** Whether the context makes the operation slow. */
  slow?: boolean;
  /** For a trace-context: the class of traces, and the step in it. */
  class?: number;
  step?: number;
}

/** A class of traces. */
export interface TraceClass {
  number: number;
  requests: number;
  caller: string;
  /**
   * In depth-first order: depth, number of the operation's name, number of equal concurrent calls,
   * and the first step of its group of concurrent steps.
   */
  steps: [depth: number, name: number, times: number, group: number][];
  /** The number of omitted steps. */
  left: number;
}
