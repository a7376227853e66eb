import { expect, test } from "vitest";
import { logTicks } from "../../src/pattern/ticks";
import { distribution, edge } from "../../src/pattern/histogram";
import { ofPattern } from "../../src/time/series";

test("a histogram has no gaps and adds up", () => {
  const found = distribution([80, 1, 82, 3]);
  expect(found?.share).toEqual([0.25, 0, 0.75]);
  expect(found?.cumulative).toEqual([0.25, 0.25, 1]);
  expect(found?.weight).toBe(4);
  expect(found?.edges[0]).toBe(1024);
  expect(found?.edges.length).toBe(4);
  expect(edge(8)).toBe(2);
});

test("nothing has no distribution", () => {
  expect(distribution([])).toBeNull();
  expect(distribution([5, 0])).toBeNull();
});

test("log ticks are round", () => {
  expect(logTicks(900, 9_000_000)).toEqual([1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6]);
  expect(logTicks(1.1e6, 6e6)).toEqual([1.5e6, 2e6, 3e6, 5e6]);
});

test("a pattern's slices are in their places", () => {
  const { throughput, latency } = ofPattern([0, 2, 50, 59, 1, 70], 60e9 - 60);
  expect(throughput[0].length).toBe(60);
  expect(throughput[1]?.[0]).toBeCloseTo(2);
  expect(throughput[1]?.[1]).toBe(0);
  expect([latency[1]?.[0], latency[1]?.[1], latency[1]?.[59]]).toEqual([50, null, 70]);
});
