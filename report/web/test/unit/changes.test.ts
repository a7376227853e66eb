import { describe, expect, test } from "vitest";
import { align } from "../../src/comparison/align";
import { compared, isEmpty, marksOf } from "../../src/comparison/changes";
import { listed } from "../../src/comparison/listed";
import { mutation, places, SHOP, type Step, tree } from "./made_comparison";

/** The shop when prices answers from its cache, and calls a second stock. */
const OTHER: Step[] = [
  [null, "web", [12, 12]],
  [0, "prices", [20, 20], [4, 4]],
  [0, "stock", [30, 30], [6, 6]],
  [0, "depot", [0, 9], [0, 1]],
  [3, "archive", [0, 5]],
  [0, "mail", [0, 0]],
];

describe("steps of two categories", () => {
  test("are paired as far as they are the same, in order", () => {
    const pairs = align(places(SHOP), places(OTHER));
    expect(pairs).toEqual([
      { before: 0, after: 0 }, { before: 1, after: 1 }, { before: 2, after: null }, { before: 3, after: 2 },
      { before: null, after: 3 }, { before: null, after: 4 }, { before: 4, after: 5 },
    ]);
  });

  test("have each of both sides once, whatever they are", () => {
    const random = (seed: number, length: number) =>
      places(Array.from({ length }, (_, at): Step => [at === 0 ? null : 0, `n${(at * seed) % 5}`, [1, 1]]));
    for (const [one, other] of [[random(3, 40), random(7, 55)], [places([]), random(1, 9)], [random(2, 9), places([])]] as const) {
      const pairs = align(one, other);
      expect(pairs.flatMap(({ before }) => before ?? [])).toEqual(one.map((_, at) => at));
      expect(pairs.flatMap(({ after }) => after ?? [])).toEqual(other.map((_, at) => at));
      for (const { before, after } of pairs) if (before !== null && after !== null) expect(one[before]?.node).toBe(other[after]?.node);
    }
    // Too long for the best pairing: everything between equal beginnings and ends is different.
    const long = (node: string) => places(Array.from({ length: 2500 }, (_, at): Step => [at === 0 ? null : 0, at === 0 ? "web" : `${node}${at % 2}`, [1, 1]]));
    expect(align(long("a"), long("b")).filter(({ before, after }) => before !== null && after !== null)).toEqual([{ before: 0, after: 0 }]);
  });
});

describe("a mutation", () => {
  const originator = { tree: tree(SHOP, [100, 20]), distance: 0.4, parting: [2, 2] as [number, number] };
  const structural = mutation(tree(OTHER, [0, 80]), { kind: "structural", originators: [originator] });

  test("compared with its originator has steps on one side marked, together with the steps below them", () => {
    const of = compared(structural, originator);
    expect(of.marked).toMatchObject([
      { number: 1, what: "lost", before: 2, after: null, below: 0, css: "better", text: "prices → database", ns: 8 },
      { number: 2, what: "added", before: null, after: 3, below: 1, css: "worse", text: "web → depot", ns: 15 },
    ]);
    expect([...marksOf(of, "before").keys()]).toEqual([2]);
    expect([...marksOf(of, "after").keys()]).toEqual([3, 4]);
    expect(isEmpty(of.before)).toBe(false);
  });

  test("without an originator is compared with itself, or with nothing", () => {
    expect(isEmpty(compared(structural, null).before)).toBe(true);
    const slower = mutation(tree(SHOP), {
      hops: [
        { place: 3, what: "own", mean_ns: [30, 90], adjusted: 0.001 },
        { place: 3, what: "network", mean_ns: [6, 2], adjusted: 0.01 },
      ],
    });
    const of = compared(slower, null);
    expect(of.marked).toMatchObject([
      { number: 1, what: "own", before: 3, after: 3, css: "worse", text: "stock itself", times: [30, 90] },
      { number: 2, what: "network", css: "better", text: "on the way between web and stock" },
    ]);
    expect(marksOf(of, "after").get(3)?.length).toBe(2);
  });

  test("lists the steps that changed and their callers, or all", () => {
    const of = compared(mutation(tree(SHOP)), null);
    expect(listed(of, true).length).toBe(5);
    // web and stock; no other one has a different time.
    expect(listed(of, false).map(({ after }) => after)).toEqual([0, 3]);
    expect(listed(compared(structural, originator), false).map(({ before, after }) => before ?? `+${after}`)).toEqual([0, 1, 2, "+3", "+4"]);
  });
});
