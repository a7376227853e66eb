// Hand-written contexts: of a shop with a store that is slow for one of its callers, and of a cache
// with times that do not depend on context.

import type { Bins, Context, Contexts, Example, Explained, Level, OfLevel, Operation, Times } from "../../src/data/contexts";
import { numbers } from "../browser/systems";

const BINS: Bins = { first: 1e6, ratio: 100 ** (1 / 32), count: 32 };

/** The source of the examples: numbers of paths and of their patterns. */
export type Requests = [path: number, pattern: number][];

/** The number of the request of a path. */
export const requestOf = (path: number) => path + 1000;

/** Random times around `mean` milliseconds. */
function around(mean: number, spread: number, calls: number, seed: number): number[] {
  const next = numbers(seed);
  return Array.from({ length: calls }, () => mean * 1e6 * (1 + spread * (next() + next() + next() - 1.5)));
}

/** The figures of times. */
function figures(times: number[], requests: Requests, few = 5): Times {
  const sorted = times.toSorted((one, other) => one - other).map(Math.round);
  const mean = sorted.reduce((sum, time) => sum + time, 0) / sorted.length;
  const at = (part: number) => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
  const histogram = new Array<number>(BINS.count).fill(0);
  for (const time of sorted) {
    const bin = Math.min(31, Math.max(0, Math.floor(Math.log(time / BINS.first) / Math.log(BINS.ratio))));
    histogram[bin] = (histogram[bin] ?? 0) + 1;
  }
  const examples = requests.slice(0, 5).map(([path, pattern], place): Example => [requestOf(path), at(1 - place / 4), pattern, path]);
  return {
    weight: sorted.length, mean, deviation: Math.sqrt(sorted.reduce((sum, time) => sum + (time - mean) ** 2, 0) / sorted.length),
    min: at(0), q1: at(0.25), median: at(0.5), q3: at(0.75), max: at(1), modes: sorted.length < 20 ? null : 1,
    histogram: sorted.length < few ? [] : histogram, examples,
  };
}

interface Made {
  name: string;
  times: number[];
  slow?: boolean;
  class?: number;
  step?: number;
}

/** The contexts of a kind, and the share that they explain. */
function ofLevel(made: Made[], all: Times, requests: Requests, next: () => number, left = 0): [OfLevel, Explained] {
  const shown = made.map(({ times, ...named }, place): Context => ({
    id: next(), ...named, count: times.length, timed: times.length, times: figures(times, requests.slice(place * 5)),
  }));
  const within = shown.reduce((sum, { times }) => sum + (times?.weight ?? 0) * (times?.deviation ?? 0), 0) / all.weight;
  const share = 1 - within / all.deviation;
  return [{ all: shown.length + left, left_calls: left * 2, shown }, { deviation: within, share, beyond_chance: share * 0.9 - 0.01 }];
}

function operation(id: number, name: string, said: string, reason: Level | null, by: Record<Level, Made[]>, requests: Requests, left = 0): Operation {
  const all = figures(by.trace.flatMap(({ times }) => times), requests);
  let number = id;
  const next = () => ++number;
  const [caller, stack, trace] = [ofLevel(by.caller, all, requests, next), ofLevel(by.stack, all, requests, next), ofLevel(by.trace, all, requests, next, left)];
  return {
    id, name, count: all.weight, timed: all.weight, times: { ...all, modes: reason ? 2 : 1 }, bins: BINS, sentence: said, reason,
    explained: { caller: caller[1], stack: stack[1], trace: trace[1] },
    contexts: { caller: caller[0], stack: stack[0], trace: trace[0] },
  };
}

/** `requests` are the requests of examples, by their paths. */
export function contexts(requests: Requests = [[8, 0], [9, 0], [10, 0], [11, 5], [12, 5], [13, -1]]): Contexts {
  const [slow, quick, other] = [around(30, 0.4, 60, 1), around(3, 0.5, 300, 2), around(4, 0.4, 40, 3)];
  const store = operation(100, "store GET /items", "store GET /items is slow only when checkout calls it: mean 30.0 ms in 60 of 400 calls, 3.11 ms otherwise; caller-context explains 86% of its standard deviation", "caller", {
    caller: [
      { name: "checkout POST /order", times: slow, slow: true },
      { name: "web GET /", times: quick },
      { name: "batch", times: other },
    ],
    stack: [
      { name: "$ > web POST /order > checkout POST /order", times: slow, slow: true },
      { name: "$ > web GET /", times: quick },
      { name: "$ > batch", times: other },
    ],
    trace: [
      { name: "class 2 step 3", class: 2, step: 3, times: slow, slow: true },
      { name: "class 0 step 1", class: 0, step: 1, times: quick.slice(0, 200) },
      { name: "class 0 step 2", class: 0, step: 2, times: quick.slice(200) },
      { name: "class 1 step 0", class: 1, step: 0, times: other.slice(0, 37) },
      { name: "class 3 step 70", class: 3, step: 70, times: other.slice(37) },
    ],
  }, requests, 7);
  const even = around(5, 0.6, 500, 4);
  const halves: Made[] = [{ name: "web GET /", times: even.slice(0, 250) }, { name: "batch", times: even.slice(250) }];
  const cache = operation(200, "cache", "no context makes cache slow: mean 5.01 ms and standard deviation 1.49 ms in 500 calls", null, {
    caller: halves, stack: halves, trace: halves,
  }, requests);
  const asked: Operation = {
    id: 300, name: "log <script>alert(1)</script>", count: 12, timed: 0, bins: null, sentence: "log has no response time in any of its 12 calls", reason: null,
    explained: { caller: NOTHING, stack: NOTHING, trace: NOTHING }, contexts: { caller: untimed(301), stack: untimed(302), trace: untimed(303) },
  };
  return {
    requests: 400, torn: 3, steps: 1512, timed: 1500, operation_count: 5, class_count: 4, context_counts: { caller: 6, stack: 6, trace: 15 },
    deviation: 9e6, decrease: { caller: 0.11, stack: 0.12, trace: 0.73 }, by_host: false,
    operations: [store, cache, asked],
    classes: [
      { number: 0, requests: 200, caller: "$", left: 0, steps: [[0, 0, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]] },
      { number: 1, requests: 37, caller: "batch", left: 0, steps: [[0, 1, 1, 0]] },
      { number: 2, requests: 60, caller: "$", left: 0, steps: [[0, 0, 1, 0], [1, 2, 1, 1], [2, 3, 3, 2], [2, 1, 1, 3]] },
      { number: 3, requests: 3, caller: "$", left: 71, steps: [[0, 0, 1, 0]] },
    ],
    names: ["web GET /", "store GET /items", "checkout POST /order", "cache"],
    commands: { contexts: "sockcap contexts -d shop", instances: "sockcap view -d shop", steps: "sockcap export steps -d shop" },
  };
}

const NOTHING: Explained = { deviation: 0, share: 0, beyond_chance: 0 };
const untimed = (id: number): OfLevel => ({ all: 1, left_calls: 0, shown: [{ id, name: "web GET /", count: 12, timed: 0 }] });
