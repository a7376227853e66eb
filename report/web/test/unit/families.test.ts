import { expect, test } from "vitest";
import { folded } from "../../src/patterns/families";
import { overview } from "./made";

/** The sample, with the first and the last pattern in one family. */
function related() {
  const made = overview();
  made.patterns.family = [0, 5, 0];
  return made;
}

test("patterns of one family are a row that opens", () => {
  const rows = (open: number[]) => folded(related(), [0, 1, 2], "total", new Set(open));
  expect(rows([]).map(({ rank, alike }) => [rank, alike])).toEqual([[0, 1], [1, 0]]);
  const opened = rows([2]);
  expect(opened.map(({ rank, isMember }) => [rank, isMember])).toEqual([[0, false], [2, true], [1, false]]);
  expect(opened[0]?.isOpen).toBe(true);
});

test("a row has the sums of its patterns", () => {
  const [row] = folded(related(), [0, 1, 2], "total", new Set());
  expect(row?.values).toEqual({ count: 101, expected: 70.9, total: 450, mean: 450 / 70.9, p99: 8 });
});

test("families are ranked by their sums, and search results are families of their own", () => {
  const made = related();
  made.patterns.total = [100, 150, 60];
  const ranks = (found: number[]) => folded(made, found, "total", new Set()).map(({ rank }) => rank);
  expect(ranks([1, 0, 2])).toEqual([0, 1]);
  expect(ranks([1, 2])).toEqual([1, 2]);
});
