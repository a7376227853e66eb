import { describe, expect, test } from "vitest";
import { rebinned, steps, together } from "../../src/comparison/two";

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

  test("are drawn as steps", () => {
    expect(steps([0.5, 1, 0], 1)).toBe("M0 0.5H1V0H2V1H3");
  });
});
