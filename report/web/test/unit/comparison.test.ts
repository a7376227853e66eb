import { beforeEach, describe, expect, test } from "vitest";
import { drawing, edgeName, state as edgeState } from "../../src/comparison/drawing";
import { listed } from "../../src/comparison/rank";
import * as state from "../../src/comparison/state";
import { both, kindOf, measured, partName, signed, verdict } from "../../src/comparison/words";
import type { Comparison } from "../../src/data/comparison";
import { row } from "./made_comparison";

const comparison = (changed: boolean, is_changed: boolean, mean: [number, number]): Comparison =>
  ({
    periods: [{ requests: 5 }, { requests: 5 }],
    changed,
    response: { mean, quantiles: [[1, 2], null, null], adjusted: 0.01, differs: is_changed, is_changed },
    mean: { total_ns: mean[1] - mean[0], parts: [] },
    quantiles: [{ total_ns: 1, parts: [] }, null, null],
  }) as unknown as Comparison;

describe("words", () => {
  test("two times have one unit where it is the same", () => {
    expect(both([4.12e6, 248e6])).toBe("4.12 → 248 ms");
    expect(both([839e3, 4.1e6])).toBe("839 µs → 4.10 ms");
    expect(both([1.601e6, 1.6e6])).toBe("1.60 ms");
    expect(both([null, 1e6])).toBe("– → 1.00 ms");
    expect([signed(2e6), signed(-2e6), signed(0.02)]).toEqual(["+2.00 ms", "−2.00 ms", "0"]);
  });

  test("a verdict needs more than another mean", () => {
    expect(verdict(comparison(true, true, [1, 2])).word).toBe("Slower");
    expect(verdict(comparison(true, true, [2, 1])).word).toBe("Faster");
    const little = comparison(true, false, [2, 1]);
    expect(verdict({ ...little, response: { ...little.response, differs: true } }).word).toBe("A little faster:");
    expect(verdict(comparison(true, false, [1, 2])).word).toMatch(/^About as fast/);
    expect(verdict(comparison(false, false, [1, 2])).word).toMatch(/^Chance explains/);
  });

  test("measures without requests are not there", () => {
    expect(measured(comparison(true, true, [1, 3]), "mean")).toMatchObject({ values: [1, 3], parts: { total_ns: 2 } });
    expect(measured(comparison(true, true, [1, 3]), "p50")).toMatchObject({ values: [1, 2] });
    expect(measured(comparison(true, true, [1, 3]), "p95")).toBeNull();
  });

  test("parts and mutations are described", () => {
    expect((["hop", "paths", "mix"] as const).map((kind) => partName({ kind, what: "web", ns: 1 }))).toEqual(["web", "web by other paths", "more or fewer web"]);
    expect(kindOf(row("a")).word).toBe("slower");
    expect(kindOf(row("a", { mean_ns: [2, 1] })).css).toBe("better");
    expect(kindOf(row("a", { kind: "structural" })).word).toBe("other path");
  });
});

describe("the list of mutations", () => {
  const rows = [
    row("web", { mean_ns: [10, 12], counts: [5, 70], through: ["web", "stock"] }),
    row("web", { mean_ns: [10, 50], counts: [5, 9], kind: "structural" }),
    row("batch", { mean_ns: [0, 99], counts: [0, 8], through: ["batch", "stock"] }),
  ];
  test("is ranked in the order of the data, or by another value", () => {
    expect(listed(rows, "contribution", "")).toEqual([0, 1, 2]);
    // Without requests before there is no change of the mean.
    expect(listed(rows, "change", "")).toEqual([1, 0, 2]);
    expect(listed(rows, "requests", "")).toEqual([0, 1, 2]);
  });
  test("is searched by all nodes that requests go through", () => {
    expect(listed(rows, "contribution", "STOCK")).toEqual([0, 2]);
    expect(listed(rows, "contribution", "stock batch")).toEqual([2]);
    expect(listed(rows, "contribution", "#2")).toEqual([1]);
    expect(listed(rows, "contribution", "other path")).toEqual([1]);
    expect(listed(rows, "contribution", "nobody")).toEqual([]);
  });
});

describe("the map", () => {
  const edge = { caller: "", node: "web", calls: [1, 1] as [number, number], network_ns: [null, null] as [null, null], changed: null };
  test("marks nodes that changed, and has external callers", () => {
    const drawn = drawing({
      nodes: [{ node: "web", executions: [1, 1], own_ns: [1, 2], changed: "worse" }],
      edges: [edge, { ...edge, caller: "web", node: "stock", calls: [0, 2] }],
    });
    expect(drawn.names).toEqual(["▲ web", "(outside)", "stock"]);
    expect(drawn.map.edges).toEqual([{ from: 1, to: 0, there: 1, back: 0 }, { from: 0, to: 2, there: 2, back: 0 }]);
  });
  test("marks calls that occur in one period only", () => {
    expect([[0, 2], [2, 0], [2, 2]].map((calls) => edgeState({ ...edge, calls: calls as [number, number] }))).toEqual(["new", "gone", ""]);
    expect(edgeName({ ...edge, calls: [1, 0.5], network_ns: [1e6, 2e6], changed: "worse" } as never)).toBe("(outside) calls web: 1.00 → 0.500 times for each request, 1.00 → 2.00 ms on the way: worse");
  });
});

describe("the address", () => {
  beforeEach(() => state.look(""));
  test("is read back unchanged", () => {
    for (const address of ["answer", "answer?measure=p95", "mutations?mutation=3&originator=2&steps=all&rank=change&search=a+b%3F", "map?node=a%2Fb%3Fc"]) {
      state.look(address);
      expect(state.address()).toBe(address);
    }
  });
  test("ignores unknown parts", () => {
    state.look("nowhere?measure=p42&mutation=-1&originator=x&rank=best");
    expect(state.address()).toBe("answer");
  });
  test("another mutation is compared with its first originator", () => {
    state.look("mutations?mutation=1&originator=2");
    state.choose(2);
    expect(state.address()).toBe("mutations?mutation=2");
  });
});
