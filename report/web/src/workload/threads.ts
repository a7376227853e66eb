// The geometry of threads over time: rows for threads and for processors, and arrows for hand-offs.

import type { Example, Slice, Wake } from "../data/workload";

/** A row with its slices. */
export interface Row {
  name: string;
  /** Whether it is a processor, with slices for the threads that ran on it. */
  isProcessor: boolean;
  slices: Block[];
}

export interface Block {
  from: number;
  to: number;
  /** The activity, by its index among the ways. */
  way: number;
  /** For a thread: the processor, or null. For a processor: the row of the thread. */
  with: number | null;
}

/** The index of computing among the ways. */
const PROCESSOR = 0;

/** A row for each thread, and one for each processor that they ran on. */
export function rows({ lanes }: Pick<Example, "lanes">): Row[] {
  const threads = lanes.map(({ name, slices }): Row => ({
    name,
    isProcessor: false,
    slices: slices.map(([from, to, way, processor]: Slice) => ({ from, to, way, with: processor < 0 ? null : processor })),
  }));
  const processors = new Map<number, Block[]>();
  threads.forEach(({ slices }, row) => {
    for (const { from, to, way, with: processor } of slices) {
      if (way !== PROCESSOR || processor === null) continue;
      const had = processors.get(processor) ?? [];
      had.push({ from, to, way, with: row });
      processors.set(processor, had);
    }
  });
  const had = [...processors].toSorted(([one], [other]) => one - other);
  return [
    ...threads,
    ...had.map(([number, slices]): Row => ({
      name: `processor ${number}`,
      isProcessor: true,
      slices: slices.toSorted((one, other) => one.from - other.from),
    })),
  ];
}

/** The hand-offs that can be drawn: the ones between existing rows. */
export function arrows({ lanes, wakes }: Pick<Example, "lanes" | "wakes">): Wake[] {
  return wakes.filter(([by, , to]) => by !== to && by < lanes.length && to < lanes.length);
}
