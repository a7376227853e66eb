// The ways to spend time, each with a colour that all drawings share.

export interface Way {
  /** The class with its colour. */
  css: string;
  /** Its name. */
  name: string;
  /** Its meaning. */
  means: string;
}

/** All ways, in the order of the data. Calls occur in steps only. */
export const WAYS: Way[] = [
  { css: "w-processor", name: "processor", means: "A thread that works for it computes" },
  { css: "w-runnable", name: "runnable", means: "It could run, but another thread has the processor" },
  { css: "w-disk", name: "disk", means: "It reads, writes or syncs a file" },
  { css: "w-lock", name: "lock", means: "It waits for a lock or for another thread" },
  { css: "w-peer", name: "peer", means: "It waits for another program" },
  { css: "w-asleep", name: "asleep", means: "It sleeps by its own choice" },
  { css: "w-unknown", name: "unknown", means: "The reason is not known" },
  { css: "w-calls", name: "calls", means: "It waits for what it has called" },
];

/** A part of a time: the way it was spent, and its duration. */
export interface Part {
  way: Way;
  time: number;
}

/** The non-zero parts of a time, in the order of `WAYS`. */
export function parts(spent: number[]): Part[] {
  return WAYS.flatMap((way, place) => {
    const time = spent[place] ?? 0;
    return time > 0 ? [{ way, time }] : [];
  });
}

/** The ways that occur in some of these times. */
export function occurring(all: number[][]): Way[] {
  return WAYS.filter((_, place) => all.some((spent) => (spent[place] ?? 0) > 0));
}
