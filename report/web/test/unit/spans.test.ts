import { describe, expect, test } from "vitest";
import { spans } from "../../src/comparison/spans";
import { places, SHOP } from "./made_comparison";

describe("a timeline of mean times", () => {
  const made = spans(places(SHOP), 0);
  const of = (place: number) => made.spans[place] ?? (() => { throw new Error("no span"); })();

  test("is as long as all times together", () => {
    expect(made.total).toBe(80);
    expect(spans(places(SHOP), 1).total).toBe(136);
  });

  test("places a step behind the one before it, its own time spread evenly between its calls", () => {
    // web: 4 ms, prices (32 with all below), 4 ms, stock (36), 4 ms.
    expect([of(0).from, of(0).to]).toEqual([0, 80]);
    expect(of(0).work).toEqual([[0, 4], [36, 40], [76, 80]]);
    expect([of(1).sent, of(1).from, of(1).to, of(1).answered]).toEqual([4, 6, 34, 36]);
    expect(of(1).work).toEqual([[6, 16], [24, 34]]);
    expect([of(2).sent, of(2).from, of(2).to, of(2).answered]).toEqual([16, 17, 23, 24]);
    expect(of(2).work).toEqual([[17, 23]]);
    expect([of(3).sent, of(3).from, of(3).to, of(3).answered]).toEqual([40, 43, 73, 76]);
  });

  test("gives no room to steps that nothing waits for", () => {
    expect(of(4).answered - of(4).sent).toBe(0);
    expect(of(4).work).toEqual([]);
  });

  test("works of a step are as long as it is at work, however deep the tree", () => {
    const deep = places(Array.from({ length: 3000 }, (_, at) => [at === 0 ? null : at - 1, `n${at}`, [1 + (at % 3), 1], [at % 2, 0]]));
    const all = spans(deep, 0);
    for (const { place, work } of all.spans) {
      expect(work.reduce((sum, [from, to]) => sum + to - from, 0)).toBeCloseTo(deep[place]?.own_ns[0] ?? -1, 6);
    }
    expect(all.total).toBeCloseTo(deep.reduce((sum, { own_ns, network_ns }) => sum + own_ns[0] + network_ns[0], 0), 6);
  });

  test("is empty without requests", () => {
    expect(spans([], 0)).toEqual({ spans: [], total: 0 });
  });
});
