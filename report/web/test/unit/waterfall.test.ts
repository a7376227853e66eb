import { describe, expect, test } from "vitest";
import { share, stops, waterfall, worth } from "../../src/comparison/waterfall";
import type { Part } from "../../src/data/comparison";

const parts: Part[] = [60, -20, 8, -3, 1].map((ns, at) => ({ kind: "hop", what: `hop ${at}`, ns }));

describe("a waterfall", () => {
  test("leads from before to after, each part where the one before it ends", () => {
    const { bars, rest } = waterfall([100, 146], parts, 99);
    expect(bars.map(({ from, to }) => [from, to])).toEqual([[100, 160], [160, 140], [140, 148], [148, 145], [145, 146]]);
    expect(rest).toBeNull();
  });

  test("has the remainder of the parts that are not shown, so that everything adds up", () => {
    const { bars, rest } = waterfall([100, 146], parts, 2);
    expect(bars.length).toBe(2);
    expect(rest).toEqual({ count: 3, from: 140, to: 146 });
  });

  test("shows the parts that are visible next to the largest one", () => {
    expect(worth(parts, 99)).toBe(5);
    expect(worth(parts, 3)).toBe(3);
    expect(worth([...parts, { kind: "hop", what: "rounding", ns: 0.02 }], 99)).toBe(5);
    expect(worth([], 8)).toBe(0);
  });

  test("has an axis from 0, but for changes that would be too small on it", () => {
    expect(waterfall([100, 146], parts, 99)).toMatchObject({ low: 0, high: 160 });
    const far = waterfall([1000, 1046], parts, 99);
    expect(far.low).toBeGreaterThan(900);
    expect(far.low).toBeLessThan(1000);
    expect(far.high).toBeGreaterThan(1060);
    expect(share(far, far.low)).toBe(0);
    expect(share(far, far.high)).toBe(1);
  });

  test("has round times on its axis, none without a change and none of no requests", () => {
    expect(stops(waterfall([100, 146], parts, 99), 6)).toEqual([0, 50, 100, 150]);
    const none = waterfall([0, 0], [], 99);
    expect(share(none, 0)).toBe(0);
    expect(stops(none, 6).length).toBeLessThan(8);
    const same = waterfall([50, 50], [], 99);
    expect(share(same, 50)).toBeGreaterThanOrEqual(0);
    expect(stops(same, 6)).toEqual([]);
  });
});
