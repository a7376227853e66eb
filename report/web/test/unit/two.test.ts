import { describe, expect, test } from "vitest";
import { labelled, rebinned, steps, together } from "../../src/comparison/two";

const sum = (values: number[]) => values.reduce((all, value) => all + value, 0);

describe("two distributions", () => {
  const one = { bounds: [1, 10, 100, 1000], shares: [0.5, 0, 0.5] };
  const other = { bounds: [50, 500, 5000], shares: [0.25, 0.75] };

  test("come into the same buckets, and nothing is lost", () => {
    const made = together([one, other], 48);
    expect(made?.bounds.length).toBe(49);
    expect(made?.bounds[0]).toBeCloseTo(1, 9);
    expect(made?.bounds.at(-1)).toBeCloseTo(5000, 6);
    for (const shares of made?.shares ?? []) expect(sum(shares)).toBeCloseTo(1, 9);
  });

  test("keep their shape: a bucket is divided by the parts of the log axis", () => {
    expect(rebinned({ bounds: [1, 100], shares: [1] }, [1, 10, 100, 1000])).toEqual([expect.closeTo(0.5), expect.closeTo(0.5), expect.closeTo(0)]);
    expect(rebinned(one, one.bounds)).toEqual(one.shares.map((share) => expect.closeTo(share, 9)));
  });

  test("of times that are all the same have an axis nevertheless", () => {
    const made = together([{ bounds: [7, 7], shares: [1] }, { bounds: [], shares: [] }], 48);
    expect(made?.bounds[0]).toBeLessThan(7);
    expect(made?.bounds.at(-1)).toBeGreaterThan(7);
    expect(sum(made?.shares[0] ?? [])).toBeCloseTo(1, 9);
    expect(sum(made?.shares[1] ?? [])).toBe(0);
    expect(together([{ bounds: [], shares: [] }, { bounds: [1, 2], shares: [0] }], 48)).toBeNull();
  });

  test("have round labels all over the axis, none upon another", () => {
    const at = (low: number, high: number) => (time: number) => (600 * Math.log(time / low)) / Math.log(high / low);
    for (const [low, high] of [[5e6, 21e6], [170e3, 2e9], [5e6, 5.2e6], [9.9e5, 1.1e7]] as const) {
      const labels = labelled(low, high, at(low, high), 58);
      expect(labels.length, `${low} ${high}`).toBeGreaterThanOrEqual(4);
      const places = labels.map(at(low, high));
      places.slice(1).forEach((place, which) => expect(place - (places[which] ?? 0)).toBeGreaterThanOrEqual(58));
      expect(places[0]).toBeGreaterThanOrEqual(0);
      expect(places.at(-1)).toBeLessThanOrEqual(600.001);
    }
    expect(labelled(5e6, 21e6, at(5e6, 21e6), 58)).toEqual([5e6, 6e6, 7e6, 10e6, 12e6, 15e6, 20e6]);
  });

  test("are drawn as steps", () => {
    expect(steps([0.5, 1, 0], 1)).toBe("M0 0.5H1V0H2V1H3");
  });
});
