import { expect, test } from "vitest";
import { apart } from "../../src/format";
import { distribution } from "../../src/pattern/histogram";
import { logTicks, step } from "../../src/pattern/ticks";
import { FEW, ofPattern } from "../../src/time/series";

test("a histogram has no gaps and adds up", () => {
  const found = distribution([8, 80, 1, 82, 3]);
  expect(found?.share).toEqual([0.25, 0, 0.75]);
  expect(found?.cumulative).toEqual([0.25, 0.25, 1]);
  expect(found?.weight).toBe(4);
  expect(found?.edges[0]).toBe(1024);
  expect(found?.edges.length).toBe(4);
});

/** Values at bins of the finest kind, one of each. */
const fine = (first: number, last: number, by = 1) => {
  const made = [256];
  for (let bin = first; bin <= last; bin += by) made.push(bin, 1);
  return made;
};

test("bars fit a narrow distribution, and a wide one", () => {
  // 2% around a millisecond: within one bin of eight per doubling.
  const narrow = distribution(fine(5100, 5107, 0.1).map((value, place) => (place % 2 === 1 ? Math.floor(value) : value)));
  expect(narrow?.share.filter((share) => share > 0).length).toBeGreaterThanOrEqual(5);
  for (const bins of [40, 400, 4000]) {
    const found = distribution(fine(2560, 2560 + bins));
    expect(found?.share.length).toBeGreaterThanOrEqual(8);
    expect(found?.share.length).toBeLessThanOrEqual(62);
    expect(found?.share.reduce((sum, one) => sum + one, 0)).toBeCloseTo(1);
  }
  // Most values close together, and a few far away: the many are not all in one bar.
  const tailed = distribution([256, ...Array.from({ length: 60 }, (_, bin) => [4000 + bin, 10]).flat(), 5000, 1]);
  expect(Math.max(...(tailed?.share ?? []))).toBeLessThan(0.4);
});

test("bars are no finer than the times", () => {
  // Around 20 ns.
  const found = distribution(fine(1100, 1130));
  const widths = (found?.edges ?? []).slice(1).map((edge, place) => edge - (found?.edges[place] ?? 0));
  expect(Math.min(...widths)).toBeGreaterThan(0.95);
});

test("an empty histogram has no distribution", () => {
  expect(distribution([])).toBeNull();
  expect(distribution([8, 5, 0])).toBeNull();
});

test("log ticks are round, and there are some of a narrow range", () => {
  expect(logTicks(900, 9_000_000)).toEqual([1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6]);
  expect(logTicks(1.1e6, 9e6)).toEqual([2e6, 3e6, 5e6, 7e6]);
  const narrow = logTicks(5.95e6, 6.31e6);
  expect(narrow).toEqual([6e6, 6.1e6, 6.2e6, 6.3e6]);
  expect(narrow.map((at) => apart(at, step(narrow)))).toEqual(["6 ms", "6.1 ms", "6.2 ms", "6.3 ms"]);
  expect(apart(21_050, 50)).toBe("21.05 µs");
});

test("a pattern's slices are in their places", () => {
  const { throughput, latency, step } = ofPattern([0, 20, 50, 59, 10, 70], 60e9 - 60);
  expect(step).toBe(1e9);
  expect(throughput[0].length).toBe(60);
  expect(throughput[1]?.[0]).toBeCloseTo(20);
  expect(throughput[1]?.[1]).toBe(0);
  expect([latency[1]?.[0], latency[1]?.[1], latency[1]?.[59]]).toEqual([50, null, 70]);
});

test("slices are long enough for enough paths, and slices with few are not part of a line", () => {
  // One path in each of 60 slices.
  const sparse = Array.from({ length: 60 }, (_, slice) => [slice, 1, 100 + slice]).flat();
  const found = ofPattern(sparse, 60e9 - 60);
  expect(found.step).toBe(10e9);
  const column = (of: typeof found, which: number) => Array.from((of.latency[which] ?? []) as (number | null)[]);
  expect(column(found, 1).every((mean) => mean !== null)).toBe(true);
  // The weighted mean of the values in it.
  expect(ofPattern([0, 3, 10, 1, 9, 50], 60e9 - 60).latency[1]?.[0]).toBe(40);
  const two = ofPattern([0, 2, 10, 30, 2, 50], 60e9 - 60);
  expect(column(two, 1).every((mean) => mean === null)).toBe(true);
  expect(column(two, 2).filter((mean) => mean !== null)).toEqual([10, 50]);
  expect(FEW).toBe(5);
});
